/* Flushing both caches, for the policies that do what kernels of 1996 did (cache_flush.S). */
#ifndef ARCH_CACHES_H
#define ARCH_CACHES_H

/* Before the first flush. 0; -ENODEV: the caches are not controlled by HID0; -ENOMEM: no room for the buffer. */
int caches_flush_prepare(void);
/*
 * Flushes both and switches them off; and on again. For data caches of at most CACHES_OFF_MOST, which are flushed
 * wholly.
 */
#define CACHES_OFF_MOST 0x4000u
void caches_off(void);
void caches_on(void);

#endif
