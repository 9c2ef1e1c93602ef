/*
 * hash.preload: when a page that a fault has brought in gets its hash-table entry (beyond the 1999 paper).
 *
 * off: when the access that faulted comes again, misses again, and is reloaded. fault: by the fault itself, which
 * saves the second search and exception. around:<neighbours>: and with it the entries of the pages around that are in
 * the tree, of an aligned window of so many (a power of two, 2 to 1024). A 603's miss goes to software in any case: off
 * only.
 */
#include <arch/hash.h>
#include <arch/mmu.h>
#include <errno.h>
#include <pagetable.h>
#include <policy.h>

static int hash_preload_apply(const struct policy_setting *to)
{
	if (to->choice && backend->software_reload)
		return -ENODEV;
	if (to->choice == HASH_PRELOAD_AROUND &&
	    (to->value < 2 || to->value > PTE_PER_TABLE || to->value & (to->value - 1)))
		return -EINVAL;
	hash_preload(to->choice, to->value);
	return 0;
}

POLICY(hash_preload, "hash.preload", CHOICES("off", "fault", "around:<neighbours>"), POLICY_ANY, hash_preload_apply,
       "preloads", &hash_preloads);
