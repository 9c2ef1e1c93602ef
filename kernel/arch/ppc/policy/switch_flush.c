/*
 * switch.flush: what a switch to another address space empties.
 *
 * tlb+caches: the TLB, by a tlbie for each of its classes, then both caches, as Linux/PPC 2.0.4 did
 * (arch/ppc/kernel/head.S, _switch). tlb: the TLB only, as 1.3.99 did, and as an i486 does, whose TLB has no number of
 * the address space (Liedtke 1993, 5.5.2). none: VSIDs tell address spaces apart, so nothing has to go; so it is in
 * Linux/PPC 2.1.16.
 * Forms: activate.c, cache_flush.S.
 */
#include <arch/caches.h>
#include <arch/mmu.h>
#include <errno.h>
#include <policy.h>

static u64 switches_flushed;

static void flush_tlb(void)
{
	tlb_invalidate_all();
	switches_flushed++;
}

static void flush_both(void)
{
	flush_tlb();
	caches_flush();
}

static int switch_flush_apply(const struct policy_setting *to)
{
	int error = to->choice == 0 ? caches_flush_prepare() : 0;

	if (error)
		return error;
	if (to->choice == 1 && !backend->segments)
		return -ENODEV;
	activate_set_flush(to->choice == 0 ? flush_both : to->choice == 1 ? flush_tlb : NULL);
	return 0;
}

POLICY_BUT(switch_flush, "switch.flush", CHOICES("tlb+caches", "tlb", "none"), 2, POLICY_ANY, switch_flush_apply,
	   "flushed", &switches_flushed);
