/*
 * switch.time: what a switch of tasks, and the times of tasks, take as the time.
 *
 * read: the 8254's counter, whose three accesses take longer than the rest of a switch on an i486. last: what was read
 * last, at the latest at the last tick, as kernels of the time did, which counted a task's time in ticks. A processor
 * with a counter of cycles reads that. Forms: clock.c, gate.S.
 */
#include <policy.h>

#include "../internal.h"

static int switch_time_apply(const struct policy_setting *to)
{
	return clock_take_last(to->choice == 1);
}

POLICY(switch_time, "switch.time", CHOICES("read", "last"), POLICY_ANY, switch_time_apply, "times", &clock_switches);
