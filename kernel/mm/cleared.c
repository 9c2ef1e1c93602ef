/*
 * The list of free frames that the idle task has cleared. The idle task puts frames in with interrupts on and no
 * lock, by compare and exchange. Everybody else runs with interrupts off, and only the idle task puts frames in, so
 * that a frame cannot leave and return between its load and its store. A frame in the list has the next one in
 * `refs`. Each processor has a list of its own. Where code runs outside of the kernel lock, the allocator's lock
 * protects them.
 */
#include <arch.h>
#include <cpu.h>
#include <frame.h>
#include <outside.h>

#include "internal.h"

u64 frames_cleared_used;

static void list_locked(struct frame *frame)
{
	u32 state = irq_save();
	struct cpu *cpu = this_cpu();

	frames_lock_take();
	frame->refs = cpu->first_cleared;
	cpu->first_cleared = frame_number(frame);
	cpu->cleared_count++;
	frames_lock_give();
	irq_restore(state);
}

void frame_list_cleared(struct frame *frame)
{
	struct cpu *cpu = this_cpu();
	u32 number = frame_number(frame), next = cpu->first_cleared;

	if (outside_bound()) {
		list_locked(frame);
		return;
	}
	do {
		frame->refs = next;
	} while (!__atomic_compare_exchange_n(&cpu->first_cleared, &next, number, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	__atomic_add_fetch(&cpu->cleared_count, 1, __ATOMIC_RELAXED);
}

static struct frame *cleared_pop(struct cpu *cpu)
{
	struct frame *frame;

	if (!cpu->first_cleared)
		return NULL;
	frame = &frames[cpu->first_cleared];
	cpu->first_cleared = frame->refs;
	frame->refs = 0;
	cpu->cleared_count--;
	return frame;
}

struct frame *frame_alloc_cleared(enum frame_use use)
{
	struct frame *frame;
	bool listed;

	frames_lock_take();
	frame = cleared_pop(this_cpu());
	listed = frame != NULL;
	if (listed) {
		frames_cleared_used++;
		frame = frame_account(frame, use);
	}
	frames_lock_give();
	return listed ? frame : frame_alloc_zeroed_now(use);
}

void frames_return_cleared(void)
{
	struct frame *frame;

	for_each_cpu(cpu)
		do {
			frames_lock_take();
			frame = cleared_pop(cpu);
			frames_lock_give();
			if (frame)
				frame_return(frame);
		} while (frame);
}
