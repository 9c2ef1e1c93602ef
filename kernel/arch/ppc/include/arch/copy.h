/* Block copies (arch/ppc/copy.S), for the policies that choose among them. */
#ifndef ARCH_COPY_H
#define ARCH_COPY_H

#include <types.h>

#define COPY_LINE  32u          /* bytes of a cache line for copy_by_lines() */
#define COPY_FIRST 0x54a0e13fu  /* srwi. r0, r5, 4: the first instruction of user_copy() and memcpy() */

extern u32 copy_first[];
/* Copies; returns the bytes left, as user_copy() does. */
u32 copy_by_lines(void *to, const void *from, size_t n);
/* user_copy() and memcpy() without what policies put before them. */
u32 user_copy_plainly(void *to, const void *from, u32 n);
void *memcpy_plainly(void *to, const void *from, size_t n);

/* Whether user_copy() copies by lines; copy.count counts either form. */
void copy_bind_lines(bool lines);
/* Makes /proc/copies. */
void copy_proc_init(void);

#endif
