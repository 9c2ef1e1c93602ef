/*
 * preload: whether data is asked for ahead of use (section 10.2's question).
 *
 * off: a switch and an entry meet their misses one by one. on: dcbt asks for the lines of the next task's stack while
 * the scheduler still does its accounts, and an exception for the lines of its frame. switch: the former only.
 * Both ask every 32 bytes: a processor with shorter lines has off only.
 */
#include <arch.h>
#include <arch/entry.h>
#include <errno.h>
#include <policy.h>

#define PRELOAD_LINE 32u        /* how far apart the assembly asks */

u64 switch_preloads;            /* counted by switch.S, the low word */

static int preload_apply(const struct policy_setting *to)
{
	if (to->choice && arch_cpu.dcache_line < PRELOAD_LINE)
		return -ENODEV;
	switch_preload_bind(to->choice != 0);
	entry_preload(to->choice == 1);
	return 0;
}

POLICY(preload, "preload", CHOICES("off", "on", "switch"), POLICY_ANY, preload_apply, "switches", &switch_preloads);
