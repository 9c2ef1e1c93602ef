/*
 * reload: which code reloads a missing translation.
 *
 * c: the exception saves everything, enables translation and calls C. c-insert, on a 603 with a hash table: assembly
 * searches the table, and C inserts what is missing there, as in Linux/PPC 2.0.4 (arch/ppc/kernel/head.S, from
 * DataLoadTLBMiss on). A 604's hardware searches, so its c is that form. asm: handlers with translation off, in the
 * 603's swapped registers, or on a 604 in a few saved ones. The misses that assembly takes are counted while
 * /proc/tlbmiss counts.
 * Forms: reload.c, hash32/reload.S, hash32/insert.h, hash64/reload.S, soft6xx/reload.S, soft8xx/reload.S,
 * soft405/reload.S, hash64/insert.h.
 */
#include <arch/mmu.h>
#include <arch/reload.h>
#include <errno.h>
#include <policy.h>

static int reload_apply(const struct policy_setting *to)
{
	if (to->choice == RELOAD_C_INSERTS && !(backend->software_reload && backend->hash))
		return -ENODEV;
	reload_bind(to->choice);
	return 0;
}

POLICY(reload, "reload", CHOICES("c", "c-insert", "asm"), POLICY_QUIESCED, reload_apply, "asm_reloads",
       &reloads_assembly);
