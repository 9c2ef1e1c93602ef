/* Out of memory: kills the largest process, but never init. */
#include <arch.h>
#include <file.h>
#include <frame.h>
#include <lib.h>
#include <process.h>
#include <sched.h>
#include <signal.h>
#include <task.h>
#include <time.h>
#include <window.h>

#include "internal.h"

#define INIT_PID 1

static const struct task *living_thread(const struct process *process)
{
	const struct task *task;

	list_for_each_entry(task, &process->threads, group_link)
		if (task->mm)
			return task;
	return NULL;
}

/* Pages that the process's end would free: its own, its tables, and those that its descriptors hold. */
static u32 pages_freed_by(const struct process *process)
{
	const struct task *task = living_thread(process);
	u32 pages = task ? task->mm->resident_pages + task->mm->table_pages : 0;

	return task && task->files ? pages + files_pages_held(task->files) : pages;
}

bool oom_kill(void)
{
	struct process *process, *victim = NULL;
	u32 most = 0, pages;

	/*
	 * An allocation may fail although frames are free: by failalloc, or because another task freed some meanwhile.
	 */
	if (frames_free())
		return true;
	list_for_each_entry(process, &process_list, all) {
		if (process->pid == INIT_PID || process->zombie)
			continue;
		if (process->exiting) {
			victim = process;       /* ends already */
			break;
		}
		pages = pages_freed_by(process);
		if (pages > most) {
			most = pages;
			victim = process;
		}
	}
	if (!victim)
		return false;
	if (!victim->exiting) {
		console_printf("pagewalk: out of memory: killed process %d \"%s\" (%u pages)\n", victim->pid,
			       victim->leader->name, most);
		signal_kill(victim);
	}
	if (victim == current->process || signal_fatal_pending())
		return false;
	/* The victim may be waiting for the kernel lock on another processor: yield() alone does not let that go. */
	yield();
	preemption_point();
	return true;
}
