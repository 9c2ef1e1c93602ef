/* shootdown.cutoff: a range of more pages than this is flushed as everything. Forms: several/shootdown.c. */
#include <policy.h>

extern u32 shootdown_cutoff;
extern u64 shootdowns;

static int shootdown_cutoff_apply(const struct policy_setting *to)
{
	shootdown_cutoff = to->choice == 0 ? 32 : to->choice == 1 ? ~0u : to->value;
	return 0;
}

POLICY(shootdown_cutoff, "shootdown.cutoff", CHOICES("32", "off", "<pages>"), POLICY_ANY, shootdown_cutoff_apply,
       "shootdowns", &shootdowns);
