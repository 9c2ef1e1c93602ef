/* A queue of bytes in page frames. */
#include <err.h>
#include <frame.h>
#include <kernel_buffer.h>
#include <kmalloc.h>
#include <lib.h>
#include <window.h>

#include "ring.h"

void ring_init(struct ring *ring, u32 size)
{
	memset(ring, 0, sizeof(*ring));
	ring->size = size;
	ring->page = ring->few;
}

u32 ring_pages(const struct ring *ring)
{
	u32 pages = 0;

	for (u32 i = 0; i < ring->size / PAGE_SIZE; i++)
		pages += ring->page[i] != NULL;
	return pages;
}

_Static_assert(RING_PAGES_FEW <= BUFFER_PAGES, "a ring's first pages are one buffer");

static char *page_map(struct ring *ring, u32 number, struct frame *frame)
{
	if (!ring->buffered || number >= RING_PAGES_FEW)
		return frame_kva(frame);
	return kernel_buffers->map(&ring->place, number, frame);
}

/* Ends the mapping of the pages: they have their addresses in the mapping of all RAM. */
static void pages_unmap(struct ring *ring)
{
	if (!ring->place)
		return;
	for (u32 i = 0; i < MIN(ring->size / PAGE_SIZE, RING_PAGES_FEW); i++)
		if (ring->page[i])
			ring->page[i] = buffer_linear(ring->page[i]);
	kernel_buffers->unmap(&ring->place, SHOOTDOWN_PIPE);
}

static void drop_pages(struct ring *ring)
{
	pages_unmap(ring);
	for (u32 i = 0; i < ring->size / PAGE_SIZE; i++)
		if (ring->page[i]) {
			frame_put(kva_frame(ring->page[i]));
			ring->page[i] = NULL;
		}
	if (ring->page != ring->few)
		kfree(ring->page);
	ring->page = ring->few;
	/* What `few` holds: a ring may be freed twice. */
	ring->size = MIN(ring->size, RING_PAGES_FEW * PAGE_SIZE);
}

void ring_free(struct ring *ring)
{
	ring->gone = ring->busy != 0;
	if (!ring->gone)
		drop_pages(ring);
	ring->head = ring->tail = 0;
}

/*
 * Writers take turns, and `head` counts only bytes that were copied, so a reader sees no unwritten byte. The page is
 * zeroed all the same: an error in that count must not show old memory to a program.
 */
NOINLINE static char *ring_page_new(struct ring *ring, u32 number)
{
	struct frame *frame = frame_alloc_zeroed(FRAME_KERNEL);

	ring->page[number] = frame ? page_map(ring, number, frame) : NULL;
	return ring->page[number];
}

/* The address of byte number `count` of the queue; *part: how many of n bytes are contiguous there. */
static inline char *ring_place(struct ring *ring, u32 count, size_t n, size_t *part)
{
	u32 at = count & (ring->size - 1), offset = at & (PAGE_SIZE - 1);
	char *page = ring->page[at >> PAGE_SHIFT];

	*part = MIN(n, (size_t)(PAGE_SIZE - offset));
	if (!page)
		page = ring_page_new(ring, at >> PAGE_SHIFT);
	return page ? page + offset : NULL;
}

/* Copies between a place in the ring and the program's memory. */
static inline long ring_copy(struct ring *ring, struct iter *it, char *at, size_t n, bool in)
{
	long moved;

	if (!at)
		return -ENOMEM;
	ring->busy++;
	moved = in ? iter_read_apart(it, at, n) : iter_write_apart(it, at, n);
	ring->busy--;
	if (!ring->gone)
		return moved;
	if (!ring->busy)
		drop_pages(ring);
	return -EPIPE;
}

/* Between two pages of a long copy: lets other tasks run. False: the ring's owner has freed it meanwhile. */
static bool ring_pause(struct ring *ring, struct iter *it)
{
	ring->busy++;
	preemption_point();
	it->unwindowed = 0;
	ring->busy--;
	if (ring->gone && !ring->busy)
		drop_pages(ring);
	return !ring->gone;
}

/* Whether n bytes are a short message: at least one byte, all in one page of the ring. */
static inline bool in_one_page(u32 count, size_t n)
{
	return n - 1 < PAGE_SIZE - (count & (PAGE_SIZE - 1));
}

/*
 * A copy met memory that the program may not use, after `done` bytes. As in Linux's pipes, whole pages of the call
 * count: returns how many bytes, and the iterator goes back to their end; or -EFAULT.
 */
NOINLINE static long ring_fault(struct iter *it, size_t done)
{
	iter_rewind(it, done % PAGE_SIZE);
	done -= done % PAGE_SIZE;
	return done ? (long)done : -EFAULT;
}

/* A reader sees a page of the call once all of it is there, since a fault takes it back. */
NOINLINE static long write_pages(struct ring *ring, struct iter *it, size_t n)
{
	size_t done = 0, shown = 0;

	while (done < n) {
		size_t part, rest;
		char *to = ring_place(ring, ring->head + (u32)(done - shown), n - done, &part);
		long moved = ring_copy(ring, it, to, part, true);

		if (moved < 0 && moved != -EFAULT)
			return shown ? (long)shown : moved;
		done += moved > 0 ? (size_t)moved : 0;
		rest = done == n ? 0 : done % PAGE_SIZE;
		ring->head += (u32)(done - rest - shown);
		shown = done - rest;
		if (moved < (long)part)
			return ring_fault(it, done);
		if (!ring_pause(ring, it))
			break;
	}
	return (long)shown;
}

long ring_write(struct ring *ring, struct iter *it, size_t n)
{
	size_t part;
	long moved;

	n = MIN(n, (size_t)ring_room(ring));
	if (!in_one_page(ring->head, n))
		return write_pages(ring, it, n);
	moved = ring_copy(ring, it, ring_place(ring, ring->head, n, &part), n, true);
	if (moved == (long)n)
		ring->head += (u32)n;
	else if (moved > 0)
		return ring_fault(it, (size_t)moved);
	return moved;
}

NOINLINE static long peek_pages(struct ring *ring, struct iter *it, u32 from, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t part;
		char *data = ring_place(ring, from, n - done, &part);
		long moved = ring_copy(ring, it, data, part, false);

		if (moved < 0 && moved != -EFAULT)
			return done ? (long)done : moved;
		from += moved > 0 ? (u32)moved : 0;
		done += moved > 0 ? (size_t)moved : 0;
		if (moved < (long)part)
			return ring_fault(it, done);
		if (!ring_pause(ring, it))
			break;
	}
	return (long)done;
}

static inline __attribute__((always_inline)) long ring_peek_from(struct ring *ring, struct iter *it, u32 from, size_t n)
{
	size_t part;
	long moved;

	n = MIN(n, (size_t)(ring->head - from));
	if (!in_one_page(from, n))
		return peek_pages(ring, it, from, n);
	moved = ring_copy(ring, it, ring_place(ring, from, n, &part), n, false);
	return moved >= (long)n || moved < 0 ? moved : ring_fault(it, (size_t)moved);
}

long ring_peek(struct ring *ring, struct iter *it, size_t skip, size_t n)
{
	return ring_peek_from(ring, it, ring->tail + (u32)skip, n);
}

void ring_skip(struct ring *ring, u32 n)
{
	ring->tail += n;
	if (ring->tail == ring->head && !ring->busy)
		ring->head = ring->tail = 0;    /* short messages then keep to the first page */
}

long ring_read(struct ring *ring, struct iter *it, size_t n)
{
	long done = ring_peek_from(ring, it, ring->tail, n);

	/* splice may have removed bytes during the copy. */
	if (done > 0)
		ring_skip(ring, MIN((u32)done, ring_used(ring)));
	return done;
}

long ring_resize(struct ring *ring, u32 wanted)
{
	char *few[RING_PAGES_FEW] = { NULL }, **moved = few;
	u32 size = PAGE_SIZE, used = ring_used(ring), first, last;

	if (wanted > RING_PAGES_MAX * PAGE_SIZE)
		return -EPERM;
	while (size < wanted)
		size *= 2;
	if (used > size || ring->busy)
		return -EBUSY;
	/* Pages move whole: the data keeps its offset within a page. */
	first = ring->tail >> PAGE_SHIFT;
	last = (ring->head + PAGE_SIZE - 1) >> PAGE_SHIFT;
	if (used && last - first > size / PAGE_SIZE)
		return -EBUSY;
	if (size > RING_PAGES_FEW * PAGE_SIZE) {
		moved = kzalloc(size / PAGE_SIZE * sizeof(*moved));
		if (!moved)
			return -ENOMEM;
	}
	pages_unmap(ring);
	for (u32 page = first; used && page < last; page++) {
		char **from = &ring->page[page & (ring->size / PAGE_SIZE - 1)];

		moved[page - first] = *from;
		*from = NULL;
	}
	drop_pages(ring);
	if (moved == few)
		memcpy(ring->few, few, sizeof(few));
	else
		ring->page = moved;
	ring->tail -= first << PAGE_SHIFT;
	ring->head -= first << PAGE_SHIFT;
	if (!used)
		ring->head = ring->tail = 0;
	ring->size = size;
	for (u32 page = 0; page < MIN(size / PAGE_SIZE, RING_PAGES_FEW); page++)
		if (ring->page[page])
			ring->page[page] = page_map(ring, page, kva_frame(ring->page[page]));
	return (long)size;
}
