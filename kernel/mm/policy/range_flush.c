/*
 * range.flush: which pages of a range are flushed one by one.
 *
 * every: each page of the range, also where no page table was ever made, as Linux/PPC up to 2.1.130 did
 * (arch/ppc/mm/init.c, flush_tlb_range and local_flush_tlb_range). tables: those whose page table exists, because only
 * these can have been cached. Form: genarch/flush.c.
 */
#include <flush.h>
#include <policy.h>

static int range_flush_apply(const struct policy_setting *to)
{
	flush_absent = to->choice == 0;
	return 0;
}

POLICY_BUT(range_flush, "range.flush", CHOICES("every", "tables"), 1, POLICY_ANY, range_flush_apply, "pages_absent",
	   &flush_pages_absent);
