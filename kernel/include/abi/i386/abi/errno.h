/* Error numbers: those of every Linux. */
#ifndef ABI_ERRNO_H
#define ABI_ERRNO_H
#include <abi/errno_base.h>

#define EDEADLOCK 35

#endif
