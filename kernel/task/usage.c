/* Processor time and other usage: getrusage, times. */
#include <abi/process.h>
#include <arch/message.h>
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "usage.h"

/* The exact running time, split in the proportion of user and kernel ticks. */
void task_usage(const struct task *task, struct usage *usage)
{
	u64 run = task_run_ns(task);
	u64 ticks = (u64)task->user_ticks + task->system_ticks;

	messages_account();
	usage->user_ns = ticks ? run / ticks * task->user_ticks : run;
	usage->system_ns = run - usage->user_ns;
	usage->minor_faults = task->minor_faults;
	usage->major_faults = task->major_faults;
	usage->voluntary_switches = task->voluntary_switches;
	usage->involuntary_switches = task->involuntary_switches;
	usage->peak_pages = task->mm ? mm_resident_peak(task->mm) : 0;
}

/* Adds usage; of memory peaks it takes the largest. */
void usage_add(struct usage *sum, const struct usage *more)
{
	sum->user_ns += more->user_ns;
	sum->system_ns += more->system_ns;
	sum->minor_faults += more->minor_faults;
	sum->major_faults += more->major_faults;
	sum->voluntary_switches += more->voluntary_switches;
	sum->involuntary_switches += more->involuntary_switches;
	sum->peak_pages = MAX(sum->peak_pages, more->peak_pages);
}

void process_usage(const struct process *process, struct usage *usage)
{
	struct task *task;

	*usage = process->ended;
	list_for_each_window(task, &process->threads, group_link) {
		struct usage one;

		task_usage(task, &one);
		usage_add(usage, &one);
	}
}

int usage_to_user(struct rusage32 *user, const struct usage *usage)
{
	struct rusage32 result = {
		.user = ns_to_timeval32(usage->user_ns),
		.system = ns_to_timeval32(usage->system_ns),
		.max_resident_kb = (s32)(usage->peak_pages * (PAGE_SIZE / 1024)),
		.minor_faults = (s32)usage->minor_faults,
		.major_faults = (s32)usage->major_faults,
		.voluntary_switches = (s32)usage->voluntary_switches,
		.involuntary_switches = (s32)usage->involuntary_switches,
	};

	return copy_to_user(user, &result, sizeof(result));
}

long sys_getrusage(int who, struct rusage32 *user)
{
	struct usage usage;

	if (who == RUSAGE_SELF)
		process_usage(current->process, &usage);
	else if (who == RUSAGE_CHILDREN)
		usage = current->process->children_usage;
	else if (who == RUSAGE_THREAD)
		task_usage(current, &usage);
	else
		return -EINVAL;
	return usage_to_user(user, &usage);
}

/* All times are in ticks of 1/HZ s; returns the time since boot. */
long sys_times(struct tms *user)
{
	const struct usage *children = &current->process->children_usage;
	struct usage usage;
	struct tms result;

	process_usage(current->process, &usage);
	result.user = (s32)(usage.user_ns / NSEC_PER_TICK);
	result.system = (s32)(usage.system_ns / NSEC_PER_TICK);
	result.children_user = (s32)(children->user_ns / NSEC_PER_TICK);
	result.children_system = (s32)(children->system_ns / NSEC_PER_TICK);
	if (user && copy_to_user(user, &result, sizeof(result)))
		return -EFAULT;
	return (long)(u32)(time_now_ns() / NSEC_PER_TICK);
}
