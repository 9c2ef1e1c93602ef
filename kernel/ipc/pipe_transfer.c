/* How a long write reaches a reader that waits: policy pipe.transfer binds pipe_transfer to one of these. */
#include "pipe_transfer.h"

#include <arch.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <sched.h>

u64 pipe_transfers;

static long nothing(struct pipe *p, struct iter *it)
{
	(void)p;
	(void)it;
	return 0;
}

/*
 * Page by page, and the reader gets the processor after each: it empties the page while that is in the cache, and
 * the next one is written to the same place. After the last one too: it then waits again when the next write comes.
 */
static long by_page(struct pipe *p, struct iter *it)
{
	u32 rest = PAGE_SIZE - (p->ring.head & (PAGE_SIZE - 1));
	long n = ring_write(&p->ring, it, rest);

	if (n > 0) {
		pipe_transfers++;
		wake_up(&p->readable);
		yield();
	}
	return n;
}

/*
 * One page's part of the reader's memory. Faults may sleep: if the reader has left meanwhile, the bytes count as not
 * read. 0: there is nothing to deliver to any more.
 */
static long deliver_part(struct pipe *p, struct iter *it, size_t most)
{
	struct pipe_sink *sink = p->sink;
	struct iter before = *it;
	u32 number = p->sinks;
	size_t part;
	uaddr_t address = (uaddr_t)iter_place(sink->to, &part), offset = address % PAGE_SIZE;
	struct mm *mm = mm_get(sink->mm);
	struct frame *frame;
	long moved = 0;

	if (address < USER_END && mm_frame(mm, address, MM_WRITE, &frame) == 0) {
		part = MIN(MIN(part, most), (size_t)(PAGE_SIZE - offset));
		moved = iter_read(it, (char *)frame_kva(frame) + offset, part);
		if (p->sink != sink || p->sinks != number) {
			*it = before;
			moved = 0;
		} else if (moved > 0) {
			iter_advance(sink->to, (size_t)moved);
			sink->done += moved;
		}
		frame_put(frame);
	} else if (p->sink == sink && p->sinks == number) {
		p->sink = NULL;         /* a bad address, as the reader will find out */
	}
	mm_put(mm);
	return moved;
}

/* The same, from the writer's memory straight to the reader's. */
static long to_reader(struct pipe *p, struct iter *it)
{
	long done = 0, n;

	while (p->sink && !ring_used(&p->ring) && p->sink->to->left && it->left && done < (long)PAGE_SIZE) {
		n = deliver_part(p, it, PAGE_SIZE - (size_t)done);
		if (n <= 0) {
			if (!done && n < 0)
				return n;
			break;
		}
		done += n;
	}
	if (done) {
		pipe_transfers++;
		wake_up(&p->readable);
		yield();                /* to come back with its next place */
	}
	return done;
}

const struct pipe_transfer pipe_copy = { .long_write = nothing };
const struct pipe_transfer pipe_page = { .long_write = by_page };
const struct pipe_transfer pipe_direct = { .long_write = to_reader, .sinks = true };

const struct pipe_transfer *pipe_transfer = &pipe_copy;
