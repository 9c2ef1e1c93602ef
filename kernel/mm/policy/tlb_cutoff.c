/*
 * tlb.cutoff: a range flush of more pages than this gives the address space a new context instead.
 * Forms: genarch/flush.c.
 */
#include <flush.h>
#include <policy.h>

static int tlb_cutoff_apply(const struct policy_setting *to)
{
	flush_cutoff = to->choice ? to->value : ~0u;
	return 0;
}

POLICY(tlb_cutoff, "tlb.cutoff", CHOICES("off", "<pages>"), POLICY_ANY, tlb_cutoff_apply, "ranges_cut", &flush_cutoffs);
