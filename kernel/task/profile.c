/*
 * Sampling: processor time for /proc/stat at each tick, and the kernel's own profile. /proc/profile counts samples for
 * each 16 bytes of kernel code, and sums them by cost category. Writing 1 takes one at each tick; a larger number takes
 * one every so many cycles (arch_sample). The kernel runs with interrupts off, so a tick finds only the places where it
 * lets them in; a sample by cycles finds all code. 0 stops, "clear" resets the counts.
 */
#include <arch.h>
#include <cpu.h>
#include <kmalloc.h>
#include <lib.h>
#include <stat_tick.h>
#include <task.h>
#include <text.h>

#define BYTES_SHIFT 4u
/*
 * The handler takes some hundred cycles, so even with misses the least period leaves the processor to programs. The
 * most is what fits a counter of 31 bits with room to wait.
 */
#define CYCLES_LEAST 5000u
#define CYCLES_MOST  1000000000u

extern const char kernel_start[], text_end[];

/* The cost categories of code, by number (docs/interfaces.md, section 3), and where their code is (kernel.lds). */
static const char *const cause_names[] = {
	[3] = "reload", [4] = "flush", [5] = "entry", [6] = "switch", [7] = "copy", [8] = "clear", [9] = "fault",
	[12] = "coherence",
};
extern const struct cause_part {
	u32 cause, start, end;
} cause_parts[], cause_parts_end[];

static u32 *profile_counts;     /* by 16 bytes of kernel code; NULL until first switched on */
static u32 profile_user, profile_idle, profile_kernel, profile_other, profile_lost;
static bool profile_ticks;
static u32 profile_cycles;      /* between two samples; 0: none are taken by cycles */

static u32 profile_slots(void)
{
	return ((u32)(text_end - kernel_start) >> BYTES_SHIFT) + 1;
}

/* False: the address is not in the kernel's code. */
static bool profile_count(vaddr_t address)
{
	u32 slot = (address - (vaddr_t)kernel_start) >> BYTES_SHIFT;

	if (slot >= profile_slots())
		return false;
	profile_counts[slot]++;
	profile_kernel++;
	return true;
}

static void profile_tick(const struct regs *regs)
{
	if (regs_user(regs))
		profile_user++;
	else if (current->pid == 0)
		profile_idle++;
	else if (!profile_count(regs_pc(regs)))
		profile_other++;
}

void stat_tick(const struct regs *regs, bool user)
{
	if (user)
		this_cpu()->ticks_user++;
	else if (current->pid)
		this_cpu()->ticks_system++;
	if (profile_ticks)
		profile_tick(regs);
}

/* All code of the kernel is in its text, so an address outside is a program's code. */
void stat_sample(vaddr_t address, bool idle, u32 lost)
{
	profile_lost += lost;
	if (idle)
		profile_idle++;
	else if (!profile_count(address))
		profile_user++;
}

static u32 cause_sum(u32 cause)
{
	u32 sum = 0;

	for (const struct cause_part *part = cause_parts; part < cause_parts_end; part++)
		for (u32 at = part->start; part->cause == cause && at < part->end; at += 1u << BYTES_SHIFT)
			sum += profile_counts[(at - (vaddr_t)kernel_start) >> BYTES_SHIFT];
	return sum;
}

void profile_show(struct text *text)
{
	text_printf(text, profile_cycles ? "profiling each %u cycles\n" : profile_ticks ? "profiling on\n" :
			  "profiling off\n", profile_cycles);
	text_printf(text, "user %u\nidle %u\nkernel %u\nother %u\nlost %u\n", profile_user, profile_idle,
		    profile_kernel, profile_other, profile_lost);
	if (!profile_counts)
		return;
	for (u32 cause = 0; cause < ARRAY_SIZE(cause_names); cause++)
		if (cause_names[cause])
			text_printf(text, "cause.%s %u\n", cause_names[cause], cause_sum(cause));
	for (u32 i = 0; i < profile_slots(); i++)
		if (profile_counts[i])
			text_printf(text, ADDRESS_HEX " %u\n", (vaddr_t)kernel_start + (i << BYTES_SHIFT),
				    profile_counts[i]);
}

/* Samples at each tick (1), every so many cycles, or not at all (0). */
static int profile_set(u64 number)
{
	u32 cycles = number > 1 ? (u32)number : 0;
	int error;

	if (number > CYCLES_MOST || (cycles && cycles < CYCLES_LEAST))
		return -EINVAL;
	if (number && !profile_counts)
		profile_counts = kzalloc(profile_slots() * sizeof(*profile_counts));
	if (number && !profile_counts)
		return -ENOMEM;
	error = arch_sample(cycles);
	if (error)
		return error;
	profile_cycles = cycles;
	profile_ticks = number == 1;
	return 0;
}

int profile_store(const char *words, size_t size)
{
	u64 number = 0;
	size_t digits = 0;

	while (size && (words[size - 1] == '\n' || words[size - 1] == ' '))
		size--;
	if (size == 5 && memcmp(words, "clear", 5) == 0) {
		if (profile_counts)
			memset(profile_counts, 0, profile_slots() * sizeof(*profile_counts));
		profile_user = profile_idle = profile_kernel = profile_other = profile_lost = 0;
		return 0;
	}
	for (; digits < size && words[digits] >= '0' && words[digits] <= '9' && number <= CYCLES_MOST; digits++)
		number = number * 10 + (u64)(words[digits] - '0');
	return digits && digits == size ? profile_set(number) : -EINVAL;
}
