/* A policy of several processors, of which one processor has the name (one/policy/several.c). */
#include <errno.h>
#include <policy.h>

static const u64 nothing_counted;

static int for_several(const struct policy_setting *to)
{
	return to->choice ? -EOPNOTSUPP : 0;
}

POLICY(interrupt_level, "interrupt.level", CHOICES("flag", "apic"), POLICY_BOOT, for_several, "accesses",
       &nothing_counted);
