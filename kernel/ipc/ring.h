/* A queue of bytes in page frames: what pipes and stream sockets hold. */
#ifndef RING_H
#define RING_H

#include <file.h>

#define RING_PAGES_FEW 16u
#define RING_PAGES_MAX 256u	/* 1 MB */

struct ring {
	u32 size;	/* bytes; a power of two, at least a page */
	u32 head, tail;	/* bytes written and read so far; both start again when the ring runs empty */
	u32 busy;	/* copies that are under way: they may sleep, and their pages stay */
	bool gone;	/* freed while a copy was under way: the last of them frees the pages */
	struct frame **page;	/* allocated at first use */
	struct frame *few[RING_PAGES_FEW];	/* what `page` is while the ring is small */
};

static inline u32 ring_used(const struct ring *r) { return r->head - r->tail; }
static inline u32 ring_room(const struct ring *r) { return r->size - (r->head - r->tail); }

u32 ring_pages(const struct ring *);	/* that it holds */
void ring_init(struct ring *, u32 size);
void ring_free(struct ring *);
/*
 * Bytes moved: as many as fit or are there; a negative errno if none could be. The copy may sleep: of those who write,
 * and of those who read, the caller lets in one at a time.
 */
long ring_write(struct ring *, struct iter *, size_t n);
long ring_read(struct ring *, struct iter *, size_t n);
/* Reads without taking, `skip` bytes in. */
long ring_peek(struct ring *, struct iter *, size_t skip, size_t n);
/* Takes n bytes, which are there. */
void ring_skip(struct ring *, u32 n);
/* Sizes other than a power of two are rounded up; -EBUSY if what is queued would not fit; -ENOMEM; -EPERM if too large. */
long ring_resize(struct ring *, u32 size);

#endif
