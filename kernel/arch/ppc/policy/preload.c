/*
 * preload: whether data is prefetched (the question of section 10.2).
 *
 * off: a switch and an entry take their misses one by one. on: dcbt prefetches the lines of the next task's stack
 * while the scheduler still does its accounts, and an exception prefetches the lines of its frame. switch: the former
 * only. Prefetches are 32 bytes apart, so a processor with shorter lines has off only.
 * Forms: switch.S, entry.S, entry_bind.c.
 */
#include <arch.h>
#include <arch/entry.h>
#include <arch/message.h>
#include <errno.h>
#include <policy.h>

#define PRELOAD_LINE 32u        /* distance of the assembly's prefetches */

u64 switch_preloads;            /* counted by switch.S, the low word */

static int preload_apply(const struct policy_setting *to)
{
	if (to->choice && arch_cpu.dcache_line < PRELOAD_LINE)
		return -ENODEV;
	switch_preload_bind(to->choice != 0);
	entry_preload(to->choice == 1);
	message_allow(MESSAGE_PRELOAD, !to->choice);
	return 0;
}

POLICY(preload, "preload", CHOICES("off", "on", "switch"), POLICY_ANY, preload_apply, "switches", &switch_preloads);
