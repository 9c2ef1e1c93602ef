/* The auxiliary vector (uapi linux/auxvec.h, powerpc asm/auxvec.h, asm/cputable.h). */
#ifndef ABI_AUXV_H
#define ABI_AUXV_H
#include <abi/auxv_base.h>

/* AT_HWCAP (powerpc asm/cputable.h). */
#define PPC_FEATURE_32      0x80000000u
#define PPC_FEATURE_HAS_FPU 0x08000000u
#define PPC_FEATURE_HAS_4xxMAC 0x02000000u

#endif
