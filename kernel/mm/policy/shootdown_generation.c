/*
 * shootdown=generation: as Linux since 4.14 (arch/x86/mm/tlb.c).
 *
 * Each address space counts its flushes. A processor notes the number up to which it has flushed. A target that is one behind
 * flushes what the request names; one that is further behind flushes everything, and has then served all requests; one that is
 * not behind does nothing. Dozing processors are not interrupted: they flush when they wake.
 */
#include <arch.h>
#include <cpu.h>

#include "../shootdown.h"

static struct flush_request shared;
static u32 newest;              /* the request's number in its address space */
static u32 generation_unanswered;

static void generation_flush(u32 targets, const struct flush_request *request)
{
	shared = *request;
	newest = ++request->mm->flushes;
	arch_memory_barrier();
	*(volatile u32 *)&generation_unanswered = targets;
	shootdown_send(targets);
	while (*(volatile u32 *)&generation_unanswered)
		arch_pause();
	arch_acquired();
}

static void generation_answer(void)
{
	struct cpu *cpu = this_cpu();
	u32 bit = 1u << cpu->number;

	if (!(*(volatile u32 *)&generation_unanswered & bit))
		return;
	arch_acquired();
	if (cpu->flushes.mm == shared.mm && cpu->flushes.seen + 1 == newest)
		shootdown_do(&shared);
	else
		arch_tlb_flush_all();
	cpu->flushes.mm = shared.mm;
	cpu->flushes.seen = newest;
	arch_memory_barrier();
	arch_add(&generation_unanswered, -bit);
}

const struct shootdown_form shootdown_generation = { shootdown_awake, generation_flush, generation_answer, false };
