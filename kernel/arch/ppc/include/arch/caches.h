/* Flushing both caches, for the policies that do what kernels of 1996 did (cache_flush.S). */
#ifndef ARCH_CACHES_H
#define ARCH_CACHES_H

/* Before the first flush. 0; -ENODEV: the caches are not controlled by HID0; -ENOMEM: no room for the buffer. */
int caches_flush_prepare(void);
void caches_flush(void);

#endif
