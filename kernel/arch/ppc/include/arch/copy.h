/* Block copies (arch/ppc/copy.S), for the policy that chooses among them. */
#ifndef ARCH_COPY_H
#define ARCH_COPY_H

#include <types.h>

#define COPY_LINE  32u          /* bytes of a cache line for copy_by_lines() */
#define COPY_FIRST 0x54a0e13fu  /* srwi. r0, r5, 4: user_copy()'s first instruction */

extern u32 copy_first[];
/* Copies; returns the bytes left, as user_copy() does. */
u32 copy_by_lines(void *to, const void *from, size_t n);

#endif
