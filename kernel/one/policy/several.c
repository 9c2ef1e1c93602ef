/* Policies of several processors: one processor has their names, and their first choice alone. */
#include <errno.h>
#include <policy.h>

static const u64 nothing_counted;

static int for_several(const struct policy_setting *to)
{
	return to->choice ? -EOPNOTSUPP : 0;
}

POLICY(kernel_lock, "kernel.lock", CHOICES("big", "fine"), POLICY_BOOT, for_several, "faults_outside",
       &nothing_counted);
POLICY(shootdown, "shootdown", CHOICES("queue", "short", "lazy", "generation", "broadcast", "queue+own", "short+all"),
       POLICY_ANY, for_several, "shootdowns", &nothing_counted);
POLICY(shootdown_cutoff, "shootdown.cutoff", CHOICES("32", "off", "<pages>"), POLICY_ANY, for_several, "shootdowns",
       &nothing_counted);
