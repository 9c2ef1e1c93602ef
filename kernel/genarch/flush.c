#include <arch/mmu.h>
#include <context.h>
#include <flush.h>
#include <frame.h>
#include <lib.h>

const struct flush_operations *flush;
u32 flush_cutoff = ~0u;
u64 flush_pages, flush_cutoffs;
u32 flush_sizes[FLUSH_SIZES];

CAUSE(flush) void flush_range_searching(struct mm *mm, u32 start, u32 end)
{
	if (!context_live(mm))
		return;
	flush_sizes[MIN((end - start) >> PAGE_SHIFT, FLUSH_SIZES - 1)]++;
	if ((end - start) >> PAGE_SHIFT > flush_cutoff) {
		flush_cutoffs++;
		context_renew(mm);
		return;
	}
	for (; start != end; start += PAGE_SIZE) {
		mmu->page_flush(mm, context_vsid(mm, start), start);
		flush_pages++;
	}
}
