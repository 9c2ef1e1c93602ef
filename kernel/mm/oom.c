/* Out of memory: one process goes, the largest; never init. */
#include <arch.h>
#include <frame.h>
#include <lib.h>
#include <process.h>
#include <sched.h>
#include <signal.h>
#include <task.h>
#include <time.h>

#include "internal.h"

#define INIT_PID 1

static struct mm *mm_of(const struct process *process)
{
	struct task *task;

	list_for_each_entry(task, &process->threads, group_link)
		if (task->mm)
			return task->mm;
	return NULL;
}

/* Pages that come back with the process: its own, and its tables. */
static u32 weight(const struct process *process)
{
	const struct mm *mm = mm_of(process);

	return mm ? mm->resident_pages + mm->table_pages : 0;
}

bool oom_kill(void)
{
	struct process *process, *victim = NULL;
	u32 most = 0;

	/* A single allocation may fail while there is memory: failalloc, or another task was faster. */
	if (frames_free())
		return true;
	list_for_each_entry(process, &process_list, all) {
		if (process->pid == INIT_PID || process->zombie)
			continue;
		if (process->exiting) {
			victim = process;       /* on its way out already */
			break;
		}
		if (weight(process) > most) {
			most = weight(process);
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
	yield();
	return true;
}
