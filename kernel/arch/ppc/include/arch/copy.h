/* Block copies (arch/ppc/copy.S), for the policies that choose among them. */
#ifndef ARCH_COPY_H
#define ARCH_COPY_H
#include <types.h>

#define COPY_FIRST 0x54a0e13fu  /* srwi. r0, r5, 4: the first instruction of user_copy() and memcpy() */

extern u32 copy_first[];
/*
 * Copy by cache lines of 32 bytes, prefetching the next source line or the one after it, and by lines of 16 bytes;
 * return the bytes left, as user_copy() does.
 */
u32 copy_by_lines(void *to, const void *from, u32 n);
u32 copy_by_lines_ahead(void *to, const void *from, u32 n);
u32 copy_by_short_lines(void *to, const void *from, u32 n);
/*
 * Copies by doublewords, on a processor with registers of 64 bits (hash64/copy.S); whole pages by six lines together.
 */
u32 user_copy64(void *to, const void *from, u32 n);
u32 user_copy64_six(void *to, const void *from, u32 n);
void *memcpy64(void *to, const void *from, size_t n);
void *memcpy64_six(void *to, const void *from, size_t n);
/* user_copy() and memcpy() without what policies put before them. */
u32 user_copy_plainly(void *to, const void *from, u32 n);
void *memcpy_plainly(void *to, const void *from, size_t n);

/* What user_copy() and memcpy() do; copy.count counts whichever form it is. */
void copy_bind(u32 (*user)(void *to, const void *from, u32 n), void *(*kernel)(void *to, const void *from, size_t n));
/* Makes /proc/copies. */
void copy_proc_init(void);

#endif
