/*
 * shootdown=queue: as OpenBSD did before May 2007 (pmap.c 1.99).
 *
 * Each processor has a queue of up to 16 jobs, a page of an address space each, with a lock. Jobs come from one list,
 * which has a lock of its own. The initiator puts a job for each page into the queue of each target and into its own; a
 * full queue becomes "everything". It empties its own queue, interrupts the targets, and waits until each has cleared
 * its bit. A target takes its queue's lock, does the jobs one by one, gives each back, and clears its bit.
 *
 * Three things differ from the original. The initiator has flushed its own TLB before, so that it only gives the jobs
 * of its own queue back. Pages that were not accessed are not skipped, because the tree does not say which were. And a
 * change that no other processor has to know of puts no job into any queue; with queue+own it does.
 */
#include <arch.h>
#include <cpu.h>
#include <lib.h>
#include <smp.h>

#include "../shootdown.h"
#include "shootdown_queue.h"

static u32 queue_unanswered;            /* targets that have not flushed yet */

struct queue_jobs queue_jobs = { .lock = { .name = "jobs", .last = true } };

/* The names of the locks, one lock for each processor's queue. */
static const char *const queue_names[] = {
	"queue-0", "queue-1", "queue-2", "queue-3", "queue-4", "queue-5", "queue-6", "queue-7",
};
_Static_assert(ARRAY_SIZE(queue_names) == CPUS, "a name for each processor");

void queue_name(struct cpu *cpu)
{
	cpu->flushes.lock.name = queue_names[cpu_index(cpu)];
}

/* False: a further page would change nothing, because each of the queues is "everything". */
static bool queue_put_page(u32 targets, struct mm *mm, uaddr_t page)
{
	u32 level = arch_level_raise(ARCH_LEVEL_IPI);
	bool has_room = false;

	for_each_cpu(cpu)
		if (targets & 1u << cpu->number) {
			queue_put(cpu, mm, page);
			has_room |= !cpu->flushes.all;
		}
	arch_level_set(level);
	return has_room;
}

void queue_flush(u32 targets, const struct flush_request *request)
{
	struct cpu *own = this_cpu();
	u32 level, lock_level;

	for_each_cpu(cpu) {
		queue_name(cpu);
		if (request->all && targets & 1u << cpu->number)
			cpu->flushes.all = true;
	}
	if (!request->all)
		for (uaddr_t page = request->start; page < request->end; page += PAGE_SIZE)
			if (!queue_put_page(targets | 1u << own->number, request->mm, page))
				break;
	level = arch_level_raise(ARCH_LEVEL_IPI);
	arch_memory_barrier();
	arch_add(&queue_unanswered, targets);
	lock_level = lock_at_level(&own->flushes.lock);
	queue_empty(own);
	own->flushes.all = false;
	unlock_at_level(&own->flushes.lock, lock_level);
	arch_level_set(level);
	shootdown_send(targets);
	while (*(volatile u32 *)&queue_unanswered) {
		cpu_stop_if_panic();
		arch_pause();
	}
	arch_acquired();
}

void queue_answer(void)
{
	struct cpu *cpu = this_cpu();
	u32 bit = 1u << cpu->number, level;

	if (!(*(volatile u32 *)&queue_unanswered & bit))
		return;
	level = lock_at_level(&cpu->flushes.lock);
	if (cpu->flushes.all)
		arch_tlb_flush_all();
	for (const struct flush_job *job = cpu->flushes.jobs; job && !cpu->flushes.all; job = job->next)
		if (!job->mm || job->mm == cpu->mm)
			arch_tlb_flush_page(job->page);
	queue_empty(cpu);
	cpu->flushes.all = false;
	arch_memory_barrier();
	arch_add(&queue_unanswered, -bit);
	unlock_at_level(&cpu->flushes.lock, level);
}

const struct shootdown_form shootdown_queue = {
	.name = "queue",
	.asked = shootdown_all,
	.asked_of_pages = shootdown_asked,
	.flush = queue_flush,
	.answer = queue_answer,
};
