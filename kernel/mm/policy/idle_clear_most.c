/*
 * idle.clear.most: how many cleared frames the list of a processor holds before its idle task clears no more. The 1999
 * paper says nothing of a limit (section 9). Forms: idle_clear.c.
 */
#include <errno.h>
#include <policy.h>

#include "../internal.h"

static u64 limits_set;

static int idle_clear_most_apply(const struct policy_setting *to)
{
	if (to->choice && !to->value)
		return -EINVAL;
	idle_clear_most = to->choice ? to->value : IDLE_CLEAR_MOST;
	limits_set += to->choice;
	return 0;
}

POLICY(idle_clear_most, "idle.clear.most", CHOICES("256", "<frames>"), POLICY_ANY, idle_clear_most_apply, "set",
       &limits_set);
