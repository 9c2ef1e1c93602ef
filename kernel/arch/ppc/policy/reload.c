/*
 * reload: which code reloads a missing translation.
 *
 * c: the exception saves everything, enables translation and calls C. asm: handlers with translation off, in the 603's
 * swapped registers, or on a 604 in a few saved ones. Their reloads are counted while /proc/tlbmiss counts.
 */
#include <arch/reload.h>
#include <policy.h>

static int reload_apply(const struct policy_setting *to)
{
	reload_bind(to->choice == 1);
	return 0;
}

POLICY(reload, "reload", CHOICES("c", "asm"), POLICY_QUIESCED, reload_apply, "asm_reloads", &reloads_assembly);
