/* The forms of a long write to a waiting reader; policy pipe.transfer binds pipe_transfer to one. */
#include <arch.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <sched.h>

#include "pipe_transfer.h"

u64 pipe_transfers;

static long use_buffer(struct pipe *pipe, struct iter *it)
{
	(void)pipe;
	(void)it;
	return 0;
}

/*
 * Writes page by page, and yields to the reader after each. The reader empties the page while it is in the cache, and
 * the next one is written to the same place. It yields after the last page too, so that the reader waits again before
 * the next write.
 */
static long by_page(struct pipe *pipe, struct iter *it)
{
	size_t rest = PAGE_SIZE - (pipe->ring.head & (PAGE_SIZE - 1));
	long n = ring_write(&pipe->ring, it, MIN(rest, it->left));

	if (n > 0) {
		pipe_transfers++;
		wake_up(&pipe->readable);
		yield();
	}
	return n;
}

/*
 * Copies to one page of the reader's memory. A fault may sleep; if the reader leaves meanwhile, the bytes count as not
 * written. 0: the reader is gone.
 */
static long deliver_part(struct pipe *pipe, struct iter *it, size_t most)
{
	struct pipe_sink *sink = pipe->sink;
	struct iter before = *it;
	u32 number = pipe->sinks;
	size_t part;
	uaddr_t address = (uaddr_t)iter_place(sink->to, &part), offset = address % PAGE_SIZE;
	struct mm *mm = mm_get(sink->mm);
	struct frame_note note;
	struct frame *frame;
	long moved = 0;

	if (address < USER_END && mm_frame(mm, address, MM_WRITE, &frame) == 0) {
		part = MIN(MIN(part, most), (size_t)(PAGE_SIZE - offset));
		frame_note_begin(&note, frame);
		moved = iter_read(it, (char *)frame_kva(frame) + offset, part);
		frame_note_end(&note);
		if (pipe->sink != sink || pipe->sinks != number) {
			*it = before;
			moved = 0;
		} else if (moved > 0) {
			iter_advance(sink->to, (size_t)moved);
			sink->done += moved;
		}
		frame_put(frame);
	} else if (pipe->sink == sink && pipe->sinks == number) {
		pipe->sink = NULL;         /* a bad address: the reader gets the error */
	}
	mm_put(mm);
	return moved;
}

/* Copies directly from the memory of the writer to the memory of the reader. */
static long to_reader(struct pipe *pipe, struct iter *it)
{
	long done = 0, n;

	while (pipe->sink && !ring_used(&pipe->ring) && pipe->sink->to->left && it->left && done < (long)PAGE_SIZE) {
		n = deliver_part(pipe, it, PAGE_SIZE - (size_t)done);
		if (n <= 0) {
			if (!done && n < 0)
				return n;
			break;
		}
		done += n;
	}
	if (done) {
		pipe_transfers++;
		wake_up(&pipe->readable);
		yield();                /* lets the reader announce its next buffer */
	}
	return done;
}

const struct pipe_transfer pipe_copy = { .long_write = use_buffer };
const struct pipe_transfer pipe_page = { .long_write = by_page };
const struct pipe_transfer pipe_direct = { .long_write = to_reader, .sinks = true };

const struct pipe_transfer *pipe_transfer = &pipe_copy;
