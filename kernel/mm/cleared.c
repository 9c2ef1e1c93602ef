/*
 * The list of free frames that the idle task has cleared. The idle task puts frames in with interrupts on and no
 * lock, by compare and exchange. Everybody else runs with interrupts off, and only the idle task puts frames in, so
 * that a frame cannot leave and return between its load and its store.
 */
#include <arch.h>
#include <frame.h>
#include <lib.h>

u32 frames_cleared;
u64 frames_cleared_used;

/* Number of the first frame, 0: none (frame 0 is the vectors'). A frame in the list has the next one in `mapped`. */
static u32 first;

void frame_list_cleared(struct frame *frame)
{
	u32 number = frame_number(frame), next = first;

	do {
		frame->mapped = next;
	} while (!__atomic_compare_exchange_n(&first, &next, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	__atomic_add_fetch(&frames_cleared, 1, __ATOMIC_RELAXED);
}

static struct frame *pop(void)
{
	struct frame *frame;

	if (!first)
		return NULL;
	frame = &frames[first];
	first = frame->mapped;
	frame->mapped = 0;
	frames_cleared--;
	return frame;
}

struct frame *frame_alloc_cleared(enum frame_use use)
{
	struct frame *frame = pop();

	if (!frame)
		return frame_alloc_zeroed_now(use);
	frames_cleared_used++;
	return frame_account(frame, use);
}

bool frames_return_cleared(void)
{
	struct frame *frame;
	bool any = first != 0;

	while ((frame = pop()))
		frame_return(frame);
	return any;
}
