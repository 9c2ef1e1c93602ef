/* Flushes of ranges: page by page, or a new context for the whole address space above the cutoff (flush.h). */
#include <context.h>
#include <flush.h>
#include <frame.h>
#include <lib.h>
#include <mmu.h>
#include <pagetable.h>
#include <window.h>

const struct flush_operations *flush;
u32 flush_cutoff = ~0u;
bool flush_absent;
u64 flush_pages, flush_pages_absent, flush_cutoffs;
u32 flush_sizes[FLUSH_SIZES];

NOINLINE CAUSE(flush) static void flush_each(struct mm *mm, uaddr_t start, uaddr_t stop)
{
	for (; start < stop; start += PAGE_SIZE) {
		interrupt_window_at(page_number(start));
		mmu->page_flush(mm, start);
		flush_pages++;
	}
}

/* Scans the table where entries have notes: a page whose entry has no note was never cached. */
NOINLINE CAUSE(flush) static void flush_noted(struct mm *mm, uaddr_t start, uaddr_t stop, const struct pte *entry)
{
	for (; start < stop; start += PAGE_SIZE, entry++) {
		interrupt_window_at(page_number(start));
		if (!pte_noted(entry))
			continue;
		mmu->page_flush(mm, start);
		flush_pages++;
	}
}

CAUSE(flush) bool flush_range_whole(struct mm *mm, uaddr_t start, uaddr_t end)
{
	interrupt_window();
	if (!context_live(mm))
		return true;
	flush_sizes[MIN((end - start) >> PAGE_SHIFT, FLUSH_SIZES - 1)]++;
	if ((end - start) >> PAGE_SHIFT <= flush_cutoff)
		return false;
	flush_cutoffs++;
	context_renew(mm);
	return true;
}

CAUSE(flush) void flush_range_searching(struct mm *mm, uaddr_t start, uaddr_t end)
{
	if (!flush_range_whole(mm, start, end))
		flush_range_found(mm, start, end);
}

CAUSE(flush) void flush_range_found(struct mm *mm, uaddr_t start, uaddr_t end)
{
	while (start < end) {
		uaddr_t stop = MIN(pagetable_next(start), end);
		const struct pte *entry = pagetable_find(mm->root, start);

		/* A table that does not exist cannot have cached entries. */
		if (entry && pagetable_notes && !pagetable_direct) {
			flush_noted(mm, start, stop, entry);
		} else if (entry || flush_absent) {
			flush_each(mm, start, stop);
			flush_pages_absent += entry ? 0 : page_count(stop - start);
		}
		start = stop;
	}
}
