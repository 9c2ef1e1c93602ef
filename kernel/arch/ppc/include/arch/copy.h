/* Block copies (arch/ppc/copy.S), for the policy that chooses among them. */
#ifndef ARCH_COPY_H
#define ARCH_COPY_H

#include <types.h>

#define COPY_LINE  32u          /* bytes of the cache lines that copy_by_lines() makes */
#define COPY_FIRST 0x54a0e13fu  /* srwi. r0, r5, 4: user_copy()'s first instruction */

extern u32 copy_first[];
/* Bytes that could not be copied, as user_copy() says. */
u32 copy_by_lines(void *to, const void *from, size_t n);

#endif
