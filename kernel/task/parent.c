/* What a parent is told: that its child has ended, stopped or gone on (SIGCHLD). */
#include <process.h>
#include <task.h>
#include <window.h>

#include "internal.h"

int child_exit_code(s32 status)
{
	return !(status & 0x7f) ? CLD_EXITED : status & 0x80 ? CLD_DUMPED : CLD_KILLED;
}

/* si_status: the exit code or the signal. */
s32 child_status(int code, s32 status)
{
	if (code == CLD_EXITED)
		return (status >> 8) & 0xff;
	if (code == CLD_STOPPED)
		return (status >> 8) & 0xff;
	if (code == CLD_TRAPPED)
		return status >> 8;
	return code == CLD_CONTINUED ? SIGCONT : status & 0x7f;
}

/*
 * Sends SIGCHLD and wakes a waiting parent. A parent that ignores SIGCHLD never sees the zombie; a tracer sees it
 * first.
 */
void notify_parent(struct process *process, int code, s32 status)
{
	bool ended = code == CLD_EXITED, hidden = ended && trace_hides_zombie(process);
	struct process *parent = hidden ? process->leader->trace.tracer : process->parent;
	const struct action *action = NULL;
	struct siginfo info = { .signo = process->exit_signal };
	struct usage usage;

	if (parent->leader && parent->thread_count)
		action = &list_first_entry(&parent->threads, struct task, group_link)
				  ->sighand->action[SIGCHLD - 1];
	if (ended)
		code = child_exit_code(status);
	if (hidden || !ended)
		info.signo = SIGCHLD;
	process_usage(process, &usage);
	info.code = code;
	info.child.pid = process->pid;
	info.child.uid = process->leader->cred.uid;
	info.child.status = child_status(code, status);
	info.child.utime = (s32)(usage.user_ns / NSEC_PER_TICK);
	info.child.stime = (s32)(usage.system_ns / NSEC_PER_TICK);

	if (action && ended && !hidden && process->exit_signal == SIGCHLD &&
	    (action->handler == SIG_IGN || (action->flags & SA_NOCLDWAIT)))
		process->auto_reap = true;
	if (action && info.signo && !(action->handler == SIG_IGN && info.signo == SIGCHLD) &&
	    (ended || !(action->flags & SA_NOCLDSTOP)))
		signal_process(parent, info.signo, &info);
	wake_up_noted(&parent->child_note);
}

/*
 * Called when current stops, or ends while the process is to stop. When all other threads have stopped too, apart from
 * those that are ending, the process has stopped, and the parent is told, unless the parent traces the thread and so
 * learns it anyway.
 */
void signal_thread_stops(struct process *process)
{
	const struct task *task;
	bool any_stops = !current->ending;

	list_for_each_window(task, &process->threads, group_link) {
		if (task == current || task->ending)
			continue;
		if (task->state != TASK_STOPPED && task->state != TASK_TRACED)
			return;
		any_stops = true;
	}
	if (!any_stops)
		return;
	if (process->stopped)
		return;
	process->stopped = true;
	process->continue_unreported = false;
	process->stop_unreported = process->leader->trace.tracer != process->parent;
	if (process->stop_unreported)
		notify_parent(process, CLD_STOPPED, process->stop_signal << 8);
}

void process_ended(struct process *process)
{
	notify_parent(process, CLD_EXITED, process->exit_status);
	/* Wake the parent now, so that it runs next; otherwise the task that runs after this one would wake it. */
	wake_note_run(&process->parent->child_note);
	/*
	 * Free a zombie that init adopted from a parent that ignored it. One whose last thread, current, is just ending
	 * is freed when that thread no longer runs.
	 */
	if (process->auto_reap && process->zombie && process != current->process &&
	    process->leader->state == TASK_DEAD && !process->leader->kernel_stack)
		process_release(process);
}
