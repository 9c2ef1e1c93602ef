/*
 * htab: where a 603's reload looks for a translation.
 *
 * emulate: in a hash table filled from the tree, as the 604's hardware does. bypass: directly in the tree; these
 * reloads are counted while /proc/tlbmiss counts.
 * Forms: soft6xx/backend.c, soft6xx/reload.S.
 */
#include <arch/mmu.h>
#include <arch/reload.h>
#include <arch/soft6xx.h>
#include <errno.h>
#include <pagetable.h>
#include <policy.h>

static int htab_apply(const struct policy_setting *to)
{
	if (to->choice && !(backend->software_reload && backend->hash))
		return -ENODEV;
	soft_lookup = to->choice ? &soft_lookup_bypass : &soft_lookup_emulate;
	pagetable_direct = to->choice;
	reload_rebind();
	return 0;
}

POLICY(htab, "htab", CHOICES("emulate", "bypass"), POLICY_QUIESCED, htab_apply, "tree_reloads",
       &reloads_bypass);
