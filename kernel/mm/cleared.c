/*
 * The list of free frames that the idle task has cleared. The idle task puts frames in with interrupts on and no
 * lock: the reservation of lwarx is lost when an interrupt comes in between. Everybody else runs with interrupts
 * off, and the idle task never takes frames out, so that a frame cannot leave and return under its hands.
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
	u32 number = frame_number(frame), next;

	do {
		__asm__ volatile("lwarx %0, 0, %1" : "=r"(next) : "r"(&first) : "memory");
		frame->mapped = next;
		__asm__ goto("stwcx. %0, 0, %1; bne- %l2" : : "r"(number), "r"(&first) : "cr0", "memory" : again);
		break;
again:;
	} while (true);
	do {
		__asm__ volatile("lwarx %0, 0, %1" : "=r"(next) : "r"(&frames_cleared) : "memory");
		next++;
		__asm__ goto("stwcx. %0, 0, %1; bne- %l2" : : "r"(next), "r"(&frames_cleared) : "cr0", "memory" : late);
		break;
late:;
	} while (true);
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
