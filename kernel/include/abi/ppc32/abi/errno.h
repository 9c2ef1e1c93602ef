/* Error numbers: those of every Linux, and one of PowerPC's own (uapi powerpc asm/errno.h). */
#ifndef ABI_ERRNO_H
#define ABI_ERRNO_H
#include <abi/errno_base.h>

#define EDEADLOCK 58

#endif
