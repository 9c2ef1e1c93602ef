/*
 * Sampling at each tick: processor time for /proc/stat, and the kernel's own profile. /proc/profile counts how often a
 * tick interrupted each 16 bytes of kernel code; writing 1 starts it, 0 stops it, "clear" resets the counts.
 */
#include "proc_internal.h"

#include <arch.h>
#include <cpu.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <stat_tick.h>
#include <task.h>

#include "tick.h"

#define BYTES_SHIFT 4u

extern const char kernel_start[], text_end[];

static u32 *tick_counts;	/* by 16 bytes of kernel code; NULL until first switched on */
static u32 profile_user, profile_idle, profile_other;
static bool profile_on;

static u32 profile_slots(void)
{
	return (u32)(text_end - kernel_start) >> BYTES_SHIFT;
}

static void profile_sample(const struct regs *regs, bool idle)
{
	u32 slot = (regs_pc(regs) - (vaddr_t)kernel_start) >> BYTES_SHIFT;

	if (regs_user(regs))
		profile_user++;
	else if (idle)
		profile_idle++;
	else if (slot < profile_slots())
		tick_counts[slot]++;
	else
		profile_other++;
}

void stat_tick(const struct regs *regs, bool user)
{
	bool idle = current->pid == 0;

	if (user)
		this_cpu()->ticks_user++;
	else if (!idle)
		this_cpu()->ticks_system++;
	if (profile_on)
		profile_sample(regs, idle);
}

void profile_show(struct text *text)
{
	text_printf(text, "profiling %s\nuser %u\nidle %u\nother %u\n", profile_on ? "on" : "off", profile_user,
		    profile_idle,
		    profile_other);
	for (u32 i = 0; tick_counts && i < profile_slots(); i++)
		if (tick_counts[i])
			text_printf(text, "%08x %u\n", (vaddr_t)kernel_start + (i << BYTES_SHIFT), tick_counts[i]);
}

static bool word_is(const char *words, size_t size, const char *word)
{
	while (size && (words[size - 1] == '\n' || words[size - 1] == ' '))
		size--;
	return strlen(word) == size && !memcmp(words, word, size);
}

int profile_store(const char *words, size_t size)
{
	if (word_is(words, size, "0")) {
		profile_on = false;
	} else if (word_is(words, size, "1")) {
		if (!tick_counts)
			tick_counts = kzalloc(profile_slots() * sizeof(*tick_counts));
		if (!tick_counts)
			return -ENOMEM;
		profile_on = true;
	} else if (word_is(words, size, "clear")) {
		if (tick_counts)
			memset(tick_counts, 0, profile_slots() * sizeof(*tick_counts));
		profile_user = profile_idle = profile_other = 0;
	} else {
		return -EINVAL;
	}
	return 0;
}
