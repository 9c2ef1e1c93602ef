/*
 * tlb.flush: how an address space's cached translations are flushed.
 *
 * search: every page of a range is looked up and removed, also when a process forks, execs or ends.
 * lazy: to flush the whole address space, it gets a new context; the translations of the old one become zombies, which
 * match nothing.
 */
#include <context.h>
#include <flush.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <policy.h>
#include <shootdown.h>
#include <window.h>

#include "../internal.h"

CAUSE(flush) static void flush_one_page(struct mm *mm, uaddr_t address)
{
	if (!context_live(mm))
		return;
	mmu->page_flush(mm, address);
	flush_pages++;
}

CAUSE(flush) static void whole_searching(struct mm *mm)
{
	for (struct vma *vma = mm_first(mm); vma; vma = mm_next(vma))
		flush_range_searching(mm, vma->start, vma->end);
}

/* The address space has ended: other tasks may run during the flush. */
static void last_searching(struct mm *mm)
{
	shootdown_leave(mm);
	if (flush_at_update && flushes_at_update()) {
		mm->unflushed = true;
		return;
	}
	for (struct vma *vma = mm_first(mm); vma; vma = mm_next(vma)) {
		uaddr_t stop;

		if (flush_range_whole(mm, vma->start, vma->end))
			continue;
		for (uaddr_t at = vma->start; at < vma->end && context_live(mm); at = stop) {
			stop = part_end(mm, at, vma->end);
			flush_range_found(mm, at, stop);
			preemption_point();
		}
	}
}

CAUSE(flush) static void whole_lazy(struct mm *mm)
{
	if (context_live(mm))
		context_renew(mm);
}

/* The context is never used again: entries that carry it are zombies. */
static void last_lazy(struct mm *mm)
{
	shootdown_leave(mm);
	context_forget(mm);
}

/*
 * With several processors, others may load a translation again until the tree has changed, so callers change it first;
 * with one, shootdown() and range_hide() are nothing.
 */
CAUSE(flush) static void flush_page(struct mm *mm, uaddr_t address)
{
	flush_one_page(mm, address);
	mm->flush_reason = SHOOTDOWN_COPY;
	if (context_live(mm))
		shootdown(mm, address, address + PAGE_SIZE);
}

CAUSE(flush) static void flush_range_everywhere(struct mm *mm, uaddr_t start, uaddr_t end)
{
	if (flush_range_whole(mm, start, end))
		return;
	flush_range_found(mm, start, end);
	shootdown(mm, start, end);
}

CAUSE(flush) static void flush_whole(struct mm *mm)
{
	whole_searching(mm);
	if (context_live(mm))
		shootdown(mm, 0, USER_END);
}

#define FLUSH_RANGE (SEVERAL ? flush_range_everywhere : flush_range_searching)

static const struct flush_operations flush_forms[] = {
	{ flush_page, FLUSH_RANGE, flush_whole, last_searching, range_hide, false },
	{ flush_page, FLUSH_RANGE, whole_lazy, last_lazy, range_hide, true },
};

static int tlb_flush_apply(const struct policy_setting *to)
{
	flush = &flush_forms[to->choice];
	return 0;
}

POLICY(tlb_flush, "tlb.flush", CHOICES("search", "lazy"), POLICY_QUIESCED, tlb_flush_apply, "contexts_renewed",
       &contexts_renewed);
