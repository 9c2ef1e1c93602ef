/*
 * hash.preload: when a page that a fault has brought in gets its hash-table entry (beyond the 1999 paper).
 *
 * off: when the access that faulted comes again, misses again, and is reloaded. fault: by the fault itself, which
 * saves the second search and exception. A 603's miss goes to software in any case: off only.
 */
#include <arch/hash.h>
#include <arch/mmu.h>
#include <errno.h>
#include <policy.h>

static int apply(const struct policy_setting *to)
{
	if (to->choice && mmu->software_reload)
		return -ENODEV;
	hash_preload(to->choice == 1);
	return 0;
}

POLICY(hash_preload, "hash.preload", CHOICES("off", "fault"), POLICY_ANY, apply, "preloads", &hash_preloads);
