/* A queue of bytes in page frames: what pipes and stream sockets hold. */
#ifndef RING_H
#define RING_H
#include <file.h>

#define RING_PAGES_FEW 16u
#define RING_PAGES_MAX 256u     /* 1 MB */

struct ring {
	u32 size;       /* bytes; a power of two, at least a page */
	u32 head, tail; /* bytes written and read so far; both start again when the ring runs empty */
	u32 busy;       /* copies that are under way: they may sleep, and their pages stay */
	bool buffered;  /* its first pages are a buffer of the kernel (kernel_buffer.h) */
	bool gone;      /* freed while copies were under way: the last copy frees the pages */
	vaddr_t place;  /* of that buffer, for policy kernel.buffers */
	char **page;    /* allocated at first use */
	char *few[RING_PAGES_FEW];      /* `page` points here while the ring is small */
};

static inline u32 ring_used(const struct ring *r) { return r->head - r->tail; }
static inline u32 ring_room(const struct ring *r) { return r->size - (r->head - r->tail); }

u32 ring_pages(const struct ring *);    /* frames that the ring holds */
void ring_init(struct ring *, u32 size);
void ring_free(struct ring *);
/*
 * Return the bytes moved: as many as fit, or as are queued; a negative errno if there are none. The copy may sleep, so
 * the caller lets in one writer and one reader at a time.
 */
long ring_write(struct ring *, struct iter *, size_t n);
long ring_read(struct ring *, struct iter *, size_t n);
/* Reads without removing, from `skip` bytes on. */
long ring_peek(struct ring *, struct iter *, size_t skip, size_t n);
/* Removes n bytes; at least n are queued. */
void ring_skip(struct ring *, u32 n);
/* Rounds the size up to a power of two and returns it. -EBUSY: queued bytes do not fit; -EPERM: too large; -ENOMEM. */
long ring_resize(struct ring *, u32 size);

#endif
