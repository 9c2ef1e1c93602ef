/*
 * shootdown=queue: as OpenBSD did before May 2007 (pmap.c 1.99).
 *
 * Each processor has a queue of 16 jobs, a page of an address space each, with a lock. The initiator puts a job for
 * each page into the queue of each target; a full queue becomes "everything". Then it interrupts the targets, and waits
 * until each has cleared its bit. A target takes its queue's lock, does the jobs one by one, and clears its bit.
 *
 * The original queues for the initiator too, and skips pages that were not accessed; here the initiator has flushed its
 * own already, and the tree does not say what was accessed.
 */
#include <arch.h>
#include <cpu.h>
#include <lib.h>
#include <smp.h>

#include "../shootdown.h"

static u32 queue_unanswered;          /* targets that have not flushed yet */

/* Of the locks. */
static const char *const queue_names[] = {
	"queue-0", "queue-1", "queue-2", "queue-3", "queue-4", "queue-5", "queue-6", "queue-7",
};
_Static_assert(ARRAY_SIZE(queue_names) == CPUS, "a name for each processor");

/* The original's mutexes raise the level while they are held. */
static u32 queue_lock(struct cpu *cpu)
{
	u32 level = arch_level_raise(ARCH_LEVEL_IPI);

	spin_lock(&cpu->flushes.lock);
	return level;
}

static void queue_unlock(struct cpu *cpu, u32 level)
{
	spin_unlock(&cpu->flushes.lock);
	arch_level_set(level);
}

static void queue_put(struct cpu *cpu, struct mm *mm, uaddr_t page)
{
	u32 before = arch_level_raise(ARCH_LEVEL_IPI), level = queue_lock(cpu);

	if (cpu->flushes.count < ARRAY_SIZE(cpu->flushes.pages)) {
		cpu->flushes.pages[cpu->flushes.count].mm = mm;
		cpu->flushes.pages[cpu->flushes.count++].page = page;
	} else {
		cpu->flushes.all = true;
	}
	queue_unlock(cpu, level);
	arch_level_set(before);
}

static void queue_flush(u32 targets, const struct flush_request *request)
{
	u32 level;

	for_each_cpu(cpu) {
		if (!(targets & 1u << cpu->number))
			continue;
		cpu->flushes.lock.name = queue_names[cpu_index(cpu)];
		if (request->all)
			cpu->flushes.all = true;
		for (uaddr_t page = request->start; page < request->end && !cpu->flushes.all; page += PAGE_SIZE)
			queue_put(cpu, request->mm, page);
	}
	level = arch_level_raise(ARCH_LEVEL_IPI);
	arch_memory_barrier();
	arch_add(&queue_unanswered, targets);
	arch_level_set(level);
	shootdown_send(targets);
	while (*(volatile u32 *)&queue_unanswered) {
		cpu_stop_if_panic();
		arch_pause();
	}
	arch_acquired();
}

static void queue_answer(void)
{
	struct cpu *cpu = this_cpu();
	u32 bit = 1u << cpu->number, level;

	if (!(*(volatile u32 *)&queue_unanswered & bit))
		return;
	level = queue_lock(cpu);
	if (cpu->flushes.all)
		arch_tlb_flush_all();
	for (u32 i = 0; i < cpu->flushes.count && !cpu->flushes.all; i++)
		if (!cpu->flushes.pages[i].mm || cpu->flushes.pages[i].mm == cpu->mm)
			arch_tlb_flush_page(cpu->flushes.pages[i].page);
	cpu->flushes.count = 0;
	cpu->flushes.all = false;
	arch_memory_barrier();
	arch_add(&queue_unanswered, -bit);
	queue_unlock(cpu, level);
}

const struct shootdown_form shootdown_queue = { "queue", shootdown_all, queue_flush, queue_answer, false, NULL };
