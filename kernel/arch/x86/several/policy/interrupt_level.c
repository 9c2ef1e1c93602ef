/*
 * interrupt.level: where a processor keeps its interrupt level while it asks others for a flush or answers them.
 *
 * flag: nowhere. Interrupts are off in the whole kernel. apic: in the task priority of its local APIC too, as OpenBSD's
 * kernel for an i386 did (lapic.c, apicvec.s, mutex.S of 2007), which also waited for the arrival of each message.
 * Forms: several/apic.c.
 */
#include <policy.h>

#include "../several.h"

static int interrupt_level_apply(const struct policy_setting *to)
{
	level_bind(to->choice);
	return 0;
}

POLICY(interrupt_level, "interrupt.level", CHOICES("flag", "apic"), POLICY_BOOT, interrupt_level_apply, "accesses",
       &level_accesses);
