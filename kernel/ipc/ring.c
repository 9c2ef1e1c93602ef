/* A queue of bytes in page frames. */
#include "ring.h"

#include <err.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>

void ring_init(struct ring *r, u32 size)
{
	memset(r, 0, sizeof *r);
	r->size = size;
	r->page = r->few;
}

u32 ring_pages(const struct ring *r)
{
	u32 pages = 0;

	for (u32 i = 0; i < r->size / PAGE_SIZE; i++)
		pages += r->page[i] != NULL;
	return pages;
}

static void drop_pages(struct ring *r)
{
	for (u32 i = 0; i < r->size / PAGE_SIZE; i++)
		if (r->page[i]) {
			frame_put(r->page[i]);
			r->page[i] = NULL;
		}
	if (r->page != r->few)
		kfree(r->page);
	r->page = r->few;
}

void ring_free(struct ring *r)
{
	r->gone = r->busy != 0;
	if (!r->gone)
		drop_pages(r);
	r->head = r->tail = 0;
}

/* Zeroed: of two writers, one may leave a part of it. */
NOINLINE static struct frame *ring_page_new(struct frame **page)
{
	*page = frame_alloc_zeroed(FRAME_KERNEL);
	return *page;
}

/* The contiguous place at a count of bytes: its address, and how much of n lies there. */
static inline char *place(struct ring *r, u32 count, size_t n, size_t *part)
{
	u32 at = count & (r->size - 1), offset = at & (PAGE_SIZE - 1);
	struct frame **page = &r->page[at >> PAGE_SHIFT];

	*part = MIN(n, (size_t)(PAGE_SIZE - offset));
	return *page || ring_page_new(page) ? (char *)frame_kva(*page) + offset : NULL;
}

/* Between a place in the ring and the program. */
static inline long copy(struct ring *r, struct iter *it, char *at, size_t n, bool in)
{
	long moved;

	if (!at)
		return -ENOMEM;
	r->busy++;
	moved = in ? iter_read(it, at, n) : iter_write(it, at, n);
	r->busy--;
	if (!r->gone)
		return moved;
	if (!r->busy)
		drop_pages(r);
	return -EPIPE;
}

long ring_write(struct ring *r, struct iter *it, size_t n)
{
	size_t done = 0;

	n = MIN(n, (size_t)ring_room(r));
	while (done < n) {
		size_t part;
		char *to = place(r, r->head, n - done, &part);
		long moved = copy(r, it, to, part, true);

		if (moved < 0)
			return done ? (long)done : moved;
		r->head += (u32)moved;
		done += (size_t)moved;
		if ((size_t)moved < part)
			break;
	}
	return (long)done;
}

long ring_peek(struct ring *r, struct iter *it, size_t skip, size_t n)
{
	u32 from = r->tail + (u32)skip;
	size_t done = 0;

	n = MIN(n, (size_t)(r->head - from));
	while (done < n) {
		size_t part;
		char *data = place(r, from, n - done, &part);
		long moved = copy(r, it, data, part, false);

		if (moved < 0)
			return done ? (long)done : moved;
		from += (u32)moved;
		done += (size_t)moved;
		if ((size_t)moved < part)
			break;
	}
	return (long)done;
}

void ring_skip(struct ring *r, u32 n)
{
	r->tail += n;
	if (r->tail == r->head && !r->busy)
		r->head = r->tail = 0;	/* short messages then keep to the first page */
}

long ring_read(struct ring *r, struct iter *it, size_t n)
{
	long done = ring_peek(r, it, 0, n);

	if (done > 0)
		ring_skip(r, MIN((u32)done, ring_used(r)));     /* splice takes without waiting for its turn */
	return done;
}

long ring_resize(struct ring *r, u32 wanted)
{
	struct frame *few[RING_PAGES_FEW] = { NULL }, **moved = few;
	u32 size = PAGE_SIZE, used = ring_used(r), first, last;

	if (wanted > RING_PAGES_MAX * PAGE_SIZE)
		return -EPERM;
	while (size < wanted)
		size *= 2;
	if (used > size || r->busy)
		return -EBUSY;
	/* Pages move whole: the data keeps its offset within a page. */
	first = r->tail >> PAGE_SHIFT;
	last = (r->head + PAGE_SIZE - 1) >> PAGE_SHIFT;
	if (used && last - first > size / PAGE_SIZE)
		return -EBUSY;
	if (size > RING_PAGES_FEW * PAGE_SIZE) {
		moved = kzalloc(size / PAGE_SIZE * sizeof *moved);
		if (!moved)
			return -ENOMEM;
	}
	for (u32 page = first; used && page < last; page++) {
		struct frame **from = &r->page[page & (r->size / PAGE_SIZE - 1)];

		moved[page - first] = *from;
		*from = NULL;
	}
	drop_pages(r);
	if (moved == few)
		memcpy(r->few, few, sizeof few);
	else
		r->page = moved;
	r->tail -= first << PAGE_SHIFT;
	r->head -= first << PAGE_SHIFT;
	if (!used)
		r->head = r->tail = 0;
	r->size = size;
	return (long)size;
}
