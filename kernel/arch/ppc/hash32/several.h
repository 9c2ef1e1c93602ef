/* The backend's forms for several processors. */
#ifndef HASH32_SEVERAL_H
#define HASH32_SEVERAL_H

#include <arch/mmu.h>

extern const struct ppc_several hash32_several;

#endif
