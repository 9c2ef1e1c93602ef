/*
 * hash.preload: when a page gets its hash-table entry after a fault (not in the 1999 paper).
 *
 * off: when the access is repeated, misses again, and is reloaded. fault: in the fault itself, which saves the second
 * search and exception. around:<n>: also inserts the other mapped pages of the aligned n-page window (n a power of
 * two, 2 to 1024). A 603 has off only: its misses go to software in any case.
 * Forms: hash32/backend.c, hash32/table.c, hash64/backend.c, hash64/table.c.
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
	if (backend->hash)
		backend->hash->preload(to->choice, to->value);
	else
		hash_preload(HASH_PRELOAD_OFF, 0);
	return 0;
}

POLICY(hash_preload, "hash.preload", CHOICES("off", "fault", "around:<neighbours>"), POLICY_ANY, hash_preload_apply,
       "preloads", &hash_preloads);
