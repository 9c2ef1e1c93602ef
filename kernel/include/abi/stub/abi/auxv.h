/* The auxiliary vector: the numbers of every Linux. */
#ifndef ABI_AUXV_H
#define ABI_AUXV_H
#include <abi/auxv_base.h>

#endif
