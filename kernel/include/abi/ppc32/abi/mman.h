/* Bits of mmap and mlockall with PowerPC's numbers (uapi powerpc asm/mman.h). */
#ifndef ABI_MMAN_H
#define ABI_MMAN_H
#include <abi/mman_base.h>

#define MAP_NORESERVE       0x40
#define MAP_32BIT           0   /* no such flag */
#define MAP_LOCKED          0x80

#define MCL_CURRENT 0x2000u
#define MCL_FUTURE  0x4000u
#define MCL_ONFAULT 0x8000u

#endif
