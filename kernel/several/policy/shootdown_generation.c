/*
 * shootdown=generation: nobody waits for a processor to forget pages that are unmapped.
 *
 * Each address space counts its flushes, as Linux does since 4.14 (arch/x86/mm/tlb.c). A processor that is one flush
 * behind makes that one. A processor that is further behind flushes everything. It checks when it enters the kernel and
 * when it loads an address space, at the latest with its next tick.
 *
 * munmap() and madvise() only begin a generation. Until all have passed it, the frames keep a reference (held.c),
 * and a fault on one of the pages makes all pass it first. So no frame and no page is used again while an old
 * translation is, as LATR does it (ASPLOS 2018). mprotect, mremap and fork interrupt and wait, because no old
 * translation may be in use when they return. So do a new context, and the end of a mapping of the kernel's own. Dozing
 * processors flush when they wake.
 */
#include <arch.h>
#include <cpu.h>
#include <lib.h>

#include "../shootdown.h"

static u32 newest_flush;        /* the number of the last request, of whatever address space; 0: there was none */
u32 shootdowns_deferred;

static bool cpu_is_behind(const struct cpu *cpu)
{
	return *(const volatile u32 *)&cpu->flushes.due != *(const volatile u32 *)&cpu->flushes.passed;
}

u32 generation_newest(void)
{
	return newest_flush;
}

bool generation_passed(u32 number)
{
	for_each_cpu(cpu)
		if (cpu_is_behind(cpu) && (s32)(number - cpu->flushes.passed) > 0)
			return false;
	arch_acquired();
	return true;
}

/* Flushes what this processor's address space has asked for since the last time. */
static void catch_up(struct cpu *cpu)
{
	struct mm *mm = cpu->mm;
	struct flush_request request;
	u32 generation;

	if (!mm)
		return;
	generation = *(volatile u32 *)&mm->flushes.generation;
	if (generation == cpu->flushes.generation)
		return;
	arch_acquired();
	request = (struct flush_request){ mm, mm->flushes.start, mm->flushes.end, mm->flushes.all, mm->flush_reason };
	arch_acquired();
	/*
	 * A further request raises the generation before it writes its pages. So a generation that has not changed
	 * shows that all pages belong to one request.
	 */
	if (cpu->flushes.generation + 1 != generation || *(volatile u32 *)&mm->flushes.generation != generation)
		request.all = true;
	shootdown_do(&request);
	cpu->flushes.generation = generation;
}

static void generation_answer(void)
{
	struct cpu *cpu = this_cpu();
	u32 due = *(volatile u32 *)&cpu->flushes.due;

	if (due == cpu->flushes.passed)
		return;
	arch_acquired();
	catch_up(cpu);
	arch_memory_barrier();
	*(volatile u32 *)&cpu->flushes.passed = due;
}

static void interrupt_and_wait(u32 targets)
{
	arch_memory_barrier();
	shootdown_send(targets);
	for_each_cpu(cpu)
		if (targets & 1u << cpu->number)
			while (cpu_is_behind(cpu)) {
				cpu_stop_if_panic();
				arch_pause();
			}
	arch_acquired();
}

void generation_settle(void)
{
	u32 targets = 0;

	for_each_cpu(cpu)
		if (cpu_is_behind(cpu))
			targets |= 1u << cpu->number;
	if (targets)
		interrupt_and_wait(targets);
}

static void flush_now(void *argument)
{
	shootdown_do(argument);
}

static void generation_flush(u32 targets, const struct flush_request *request)
{
	struct flush_request kernel = *request;
	struct mm_flushes *flushes;

	if (!request->mm) {
		shootdown_call(targets, flush_now, &kernel);
		return;
	}
	flushes = &request->mm->flushes;

	*(volatile u32 *)&flushes->generation = flushes->generation + 1;
	arch_memory_barrier();
	flushes->start = request->start;
	flushes->end = request->end;
	flushes->all = request->all;
	arch_memory_barrier();
	if (!++newest_flush)
		newest_flush = 1;
	for_each_cpu(cpu)
		if (targets & 1u << cpu->number)
			*(volatile u32 *)&cpu->flushes.due = newest_flush;
	/* The caller has flushed here. */
	if (this_cpu()->mm == request->mm)
		this_cpu()->flushes.generation = flushes->generation;
	if (request->why != SHOOTDOWN_MUNMAP && request->why != SHOOTDOWN_MADVISE) {
		interrupt_and_wait(targets);
		return;
	}
	frames_held_look();
	if (!flushes->unseen || generation_passed(flushes->unseen)) {
		flushes->unseen_start = request->start;
		flushes->unseen_end = request->end;
	} else {
		flushes->unseen_start = MIN(flushes->unseen_start, request->start);
		flushes->unseen_end = MAX(flushes->unseen_end, request->end);
	}
	flushes->unseen = newest_flush;
	shootdowns_deferred++;
}

static void unseen_forget(struct mm *mm)
{
	mm->flushes.unseen = 0;
}

static void generation_leave(void)
{
	generation_settle();
	mm_for_each(unseen_forget);
	frames_held_look();
}

const struct shootdown_form shootdown_generation = {
	.name = "generation",
	.asked = shootdown_awake,
	.asked_of_pages = shootdown_asked,
	.flush = generation_flush,
	.answer = generation_answer,
	.leave = generation_leave,
};
