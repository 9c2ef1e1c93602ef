/*
 * switch.flush: what a switch to another address space empties.
 *
 * tlb: the TLB, by a tlbie for each of its classes, as Linux/PPC 1.3.99 did (arch/ppc/kernel/head.S, _switch), and as
 * an i486 does, whose TLB has no number of the address space (Liedtke 1993, 5.5.2). none: VSIDs tell address spaces
 * apart, so nothing has to go; so it is in Linux/PPC 2.1.16.
 * Forms: activate.c.
 */
#include <arch/mmu.h>
#include <errno.h>
#include <policy.h>

static u64 switches_flushed;

static void flush_tlb(void)
{
	tlb_invalidate_all();
	switches_flushed++;
}

static int switch_flush_apply(const struct policy_setting *to)
{
	if (to->choice == 0 && !backend->segments)
		return -ENODEV;
	activate_set_flush(to->choice == 0 ? flush_tlb : NULL);
	return 0;
}

POLICY_BUT(switch_flush, "switch.flush", CHOICES("tlb", "none"), 1, POLICY_ANY, switch_flush_apply, "flushed",
	   &switches_flushed);
