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
#include <lib.h>

#include "internal.h"

u64 frames_cleared_used;

REPLACED void frame_list_cleared(struct frame *frame)
{
	struct cpu *cpu = this_cpu();
	u32 number = frame_number(frame), next = cpu->first_cleared;

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

REPLACED struct frame *frame_alloc_cleared(enum frame_use use)
{
	struct frame *frame = cleared_pop(this_cpu());

	if (!frame)
		return frame_alloc_zeroed_now(use);
	frames_cleared_used++;
	return frame_account(frame, use);
}

REPLACED bool frames_return_cleared(void)
{
	struct frame *frame;
	bool any = false;

	for_each_cpu(cpu)
		while ((frame = cleared_pop(cpu))) {
			frame_return(frame);
			any = true;
		}
	return any;
}

static void list_cleared_locked(struct frame *frame)
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

static struct frame *alloc_cleared_locked(enum frame_use use)
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

static bool return_cleared_locked(void)
{
	struct frame *frame;
	bool any = false;

	for_each_cpu(cpu)
		do {
			frames_lock_take();
			frame = cleared_pop(cpu);
			frames_lock_give();
			if (frame)
				frame_return(frame);
			any |= frame != NULL;
		} while (frame);
	return any;
}

void frames_cleared_bind_outside(void)
{
	arch_replace((const void *)frame_list_cleared, (const void *)list_cleared_locked);
	arch_replace((const void *)frame_alloc_cleared, (const void *)alloc_cleared_locked);
	arch_replace((const void *)frames_return_cleared, (const void *)return_cleared_locked);
}
