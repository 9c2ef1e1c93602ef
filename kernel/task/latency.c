/*
 * /proc/latency: the longest time that an interrupt waited. The timer interrupt comes when it is due, or when
 * the kernel enables interrupts again, so its longest delay is the longest stretch without interrupts during which one
 * was due. A number of ns written to the file resets it and sets the longest interval between timer interrupts (0: as
 * the timers need): then no stretch is longer than the time shown plus that interval.
 */
#include <arch.h>
#include <latency.h>
#include <lib.h>
#include <task.h>
#include <text.h>
#include <time.h>

#define SAMPLE_LEAST 1000u      /* ns; the handler itself takes some hundred cycles */

u64 latency_longest, latency_sample;

static struct {
	vaddr_t address;
	bool user;
	char name[TASK_NAME_SIZE];
} longest_place;

/* In the kernel, interrupts come only in interrupt_window(), so record its caller. */
void latency_note(const struct regs *regs, u64 ns)
{
	latency_longest = ns;
	longest_place.user = regs_user(regs);
	longest_place.address = longest_place.user ? regs_pc(regs) : regs_caller(regs);
	strlcpy(longest_place.name, current->name, sizeof(longest_place.name));
}

void latency_show(struct text *text)
{
	text_printf(text, "longest %llu\nsample %llu\n", latency_longest, latency_sample);
	if (latency_longest)
		text_printf(text, "until " ADDRESS_HEX " %s %s\n", longest_place.address,
			    longest_place.user ? "user" : "kernel", longest_place.name);
}

int latency_store(const char *words, size_t size)
{
	u64 ns = 0;

	for (; size && *words >= '0' && *words <= '9' && ns < NSEC_PER_SEC; words++, size--)
		ns = ns * 10 + (u64)(*words - '0');
	if ((size && *words != '\n') || ns > NSEC_PER_SEC || (ns && ns < SAMPLE_LEAST))
		return -EINVAL;
	latency_sample = ns;
	latency_longest = 0;
	return 0;
}
