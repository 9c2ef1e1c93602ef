/*
 * shootdown=queue+own: as OpenBSD before May 2007, which also queued each change for the processor that made it
 * (pmap.c 1.99).
 *
 * pmap_tlb_shootdown() put a job into the queue of every processor that had the address space loaded, its own included,
 * and pmap_tlb_shootnow() ran the own queue before it asked others. pmap_enter() did both for each page that it
 * entered, also for the first entry of a page, which no TLB can hold; pmap_exec_account() did both again for a page
 * that may be executed. So did pmap_remove() and pmap_write_protect() for pages of the current address space, one run
 * of the queue for all pages of a call. Mapping a page of the kernel's own asked all processors.
 *
 * Three things differ. A page that other processors use goes the way of shootdown=queue. The own TLB has been flushed
 * when a change of an entry is queued, so that its job flushes the page once more. And fork copies entries here, so
 * that a child has fewer first entries.
 */
#include <arch.h>
#include <cpu.h>
#include <lib.h>
#include <pagetable.h>
#include <smp.h>

#include "../../mm/internal.h"
#include "../shootdown.h"
#include "shootdown_queue.h"

#define NUMBERS 32u     /* of processors, as interrupt controllers have them */

static u64 own_jobs[NUMBERS];   /* of each processor: pages that it queued for itself alone */
/* Who has yet to flush for each processor: the original's word, a bit for each target. A flush clears it in all. */
static u32 own_unanswered[NUMBERS];

u64 shootdowns_own(void)
{
	u64 sum = 0;

	for (u32 n = 0; n < NUMBERS; n++)
		sum += own_jobs[n];
	return sum;
}

CAUSE(flush) static inline void own_put(struct cpu *own, struct mm *mm, vaddr_t page)
{
	u32 level = arch_level_raise(ARCH_LEVEL_IPI);

	if (!own->flushes.lock.name)
		queue_name(own);
	queue_put(own, mm, page);
	own_jobs[own->number]++;
	arch_level_set(level);
}

/* The queue may hold jobs of others, too: a fault can be served without the kernel lock. */
CAUSE(flush) static void own_run(struct cpu *own)
{
	u32 bit = 1u << own->number, level = arch_level_raise(ARCH_LEVEL_IPI), lock_level;

	own_unanswered[own->number] = bit;
	lock_level = lock_at_level(&own->flushes.lock);
	if (own->flushes.all)
		arch_tlb_flush_all();
	else
		for (const struct flush_job *job = own->flushes.jobs; job; job = job->next)
			if (!job->mm || job->mm == own->mm)
				arch_tlb_flush_page(job->page);
	queue_empty(own);
	own->flushes.all = false;
	for (u32 n = 0; n < cpu_count; n++)
		arch_add(&own_unanswered[n], own_unanswered[n] & bit ? -bit : 0);
	unlock_at_level(&own->flushes.lock, lock_level);
	arch_level_set(level);
}

CAUSE(flush) static void own_page(struct mm *mm, vaddr_t page)
{
	struct cpu *own = this_cpu();

	own_put(own, mm, page);
	own_run(own);
}

/* An executable page twice, as pmap_exec_account() did. */
CAUSE(flush) static void own_first(struct mm *mm, vaddr_t address)
{
	vaddr_t page = address & PAGE_MASK;
	const struct vma *vma = area_last(mm, address);

	if (mm != this_cpu()->mm)
		return;
	if (!vma)
		vma = mm_find(mm, address);
	own_page(mm, page);
	if (vma && vma->flags & VM_EXEC)
		own_page(mm, page);
}

/* Queues the entries of a range; returns whether there were any. */
CAUSE(flush) static bool own_put_range(struct cpu *own, struct mm *mm, uaddr_t start, uaddr_t end)
{
	bool any = false;

	while (start < end) {
		uaddr_t stop = MIN(pagetable_next(start), end);
		const struct pte *entry = pagetable_find(mm->root, start);

		for (; entry && start < stop; start += PAGE_SIZE, entry++)
			if (!pte_none(pte_get(entry))) {
				own_put(own, mm, start);
				any = true;
			}
		start = stop;
	}
	return any;
}

/* For a fork, which makes only private writable areas read-only. */
CAUSE(flush) static bool own_put_forked(struct cpu *own, struct mm *mm, uaddr_t start, uaddr_t end)
{
	bool any = false;

	for (struct vma *vma = mm_find(mm, start); vma && vma->start < end; vma = mm_next(vma))
		if ((vma->flags & (VM_SHARED | VM_WRITE)) == VM_WRITE)
			any |= own_put_range(own, mm, MAX(vma->start, start), MIN(vma->end, end));
	return any;
}

/* A range that others use, too, has its own jobs in queue_flush(). */
CAUSE(flush) static u32 own_asked(u32 targets, const struct flush_request *request)
{
	struct cpu *own = this_cpu();
	bool any;

	if (targets || request->mm != own->mm)
		return targets;
	if (request->why == SHOOTDOWN_FORK)
		any = own_put_forked(own, request->mm, request->start, request->end);
	else
		any = own_put_range(own, request->mm, request->start, request->end);
	if (any)
		own_run(own);
	return 0;
}

const struct shootdown_form shootdown_queue_own = {
	.name = "queue+own",
	.asked = shootdown_all,
	.asked_of_pages = own_asked,
	.flush = queue_flush,
	.answer = queue_answer,
	.first = own_first,
	.at_map = true,
};
