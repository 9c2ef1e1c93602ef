/* Bits of mmap and mlockall with the numbers of asm-generic/mman.h. */
#ifndef ABI_MMAN_H
#define ABI_MMAN_H
#include <abi/mman_base.h>

#define MAP_NORESERVE       0x4000
#define MAP_32BIT           0x40
#define MAP_LOCKED          0x2000

#define MCL_CURRENT 1u
#define MCL_FUTURE  2u
#define MCL_ONFAULT 4u

#endif
