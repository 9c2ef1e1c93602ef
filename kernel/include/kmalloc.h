/* Kernel objects of any size up to 4 MB. Aligned to 8 bytes, to 32 from 32 bytes up. Never sleeps. */
#ifndef KMALLOC_H
#define KMALLOC_H
#include <types.h>

void *kmalloc(size_t size) __attribute__((malloc, alloc_size(1)));    /* NULL: no memory; size 0: NULL */
void *kzalloc(size_t size) __attribute__((malloc, alloc_size(1)));    /* zeroed */
/* A copy of the text with a final NUL; NULL: no memory. */
char *kmalloc_text(const char *text, size_t length) __attribute__((malloc));
void kfree(const void *object);                                       /* NULL is harmless */
extern size_t kmalloc_plain;            /* larger sizes call failalloc_hit() */
size_t kmalloc_bytes(void);             /* bytes in use, for leak checks */
u32 kmalloc_objects(void);

#endif
