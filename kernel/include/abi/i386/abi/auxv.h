/* The auxiliary vector (uapi linux/auxvec.h). AT_HWCAP is what CPUID returns in EDX (x86 asm/elf.h). */
#ifndef ABI_AUXV_H
#define ABI_AUXV_H
#include <abi/auxv_base.h>

#endif
