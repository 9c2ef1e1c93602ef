/* The end of threads and processes. */
#include <abi/process.h>
#include <arch.h>
#include <cpu.h>
#include <deferred.h>
#include <file.h>
#include <fs.h>
#include <ipc.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <tty.h>
#include <window.h>

#include "../task/internal.h"
#include "../task/usage.h"

/* Ends every other thread of current's process, when it next checks its signals. */
void process_kill_threads(struct process *process)
{
	struct task *task;

	list_for_each_window(task, &process->threads, group_link)
		if (task != current)
			task->killed = true;
	signal_wake_all(process);
}

static void leave_address_space(struct task *task)
{
	struct mm *mm = task->mm;

	if (!mm)
		return;
	futex_task_exit(task);
	vfork_done(task);
	task->left_undumpable = !mm->program.dumpable;
	task->mm = NULL;
	mmu->activate(NULL);
	mm_put(mm);
}

static void add_usage(struct process *process, const struct task *task)
{
	struct usage usage;

	task_usage(task, &usage);
	usage_add(&process->ended, &usage);
	process->ended_run_ticks += task->run_ticks + (u32)(arch_timebase_low() - this_cpu()->run_since);
}

/* Whether a process of the group is stopped: nobody could continue an orphaned one. */
static bool has_stopped(s32 pgid)
{
	struct process *process;

	list_for_each_window(process, &process_list, all)
		if (process->pgid == pgid && process->stopped)
			return true;
	return false;
}

static void signal_if_newly_orphaned(s32 pgid, const struct process *ending)
{
	if (pgrp_orphaned_without(pgid, ending) && has_stopped(pgid)) {
		signal_pgrp(pgid, SIGHUP, NULL);
		signal_pgrp(pgid, SIGCONT, NULL);
	}
}

u32 subreapers;

/* The process that adopts the children of an ending one: the nearest ancestor that asked for them, else init. */
static struct process *reaper_of(const struct process *process)
{
	struct process *ancestor = process->parent;

	if (!subreapers)
		return init_process;
	while (ancestor->pid > 0 && ancestor != init_process && !ancestor->subreaper)
		ancestor = ancestor->parent;
	return ancestor->pid > 0 ? ancestor : init_process;
}

/* Gives a child to the reaper, which waits for it if it has ended. */
static void give_away(struct process *child, struct process *reaper)
{
	bool connected = connects_group(child);
	struct task *task;

	list_del(&child->sibling);
	child->parent = reaper;
	list_add_tail(&child->sibling, &reaper->children);
	/* A reaper waits only for children with SIGCHLD, so set it also for one that had another signal or none. */
	child->exit_signal = SIGCHLD;
	list_for_each_window(task, &child->threads, group_link)
		if (task->death_signal)
			signal_task(task, (int)task->death_signal, NULL);
	if (child->zombie)
		process_ended(child);
	else if (connected)
		signal_if_newly_orphaned(child->pgid, NULL);
}

/*
 * Before the last thread ends, so that others may run between two children: each one takes a look at all processes.
 * Children that come meanwhile are left for the end, if there are too many.
 */
static void give_away_early(struct process *process)
{
	u32 most = process_count;
	struct process *child;

	list_until_empty_meanwhile(child, &process->children, sibling) {
		if (!most--)
			break;
		give_away(child, reaper_of(process));
	}
}

static void give_away_children(struct process *process)
{
	struct process *child, *next, *reaper = reaper_of(process);

	list_for_each_long_safe(child, next, &process->children, sibling)
		give_away(child, reaper);
}

static void end_of_init(s32 status)
{
	if (STATUS_SIGNAL(status))
		fatal(EXIT_PANIC, "init: killed by signal %d", STATUS_SIGNAL(status));
	power_off(STATUS_CODE(status) & 63);
}

/* The last thread has ended: only a status for the parent remains. */
static void become_zombie(struct process *process)
{
	if (process == init_process)
		end_of_init(process->exit_status);
	itimer_cancel_all(process);
	posix_timers_drop(process);
	mqueue_process_exit(process);
	sigpending_flush(&process->pending);
	if (process->sid == process->pid)
		tty_session_gone(process->sid);
	trace_tracer_gone(process);
	subreapers -= process->subreaper;
	process->subreaper = false;
	give_away_children(process);
	if (connects_group(process))
		signal_if_newly_orphaned(process->pgid, process);
	oom_ended += process->oom_killed;
	process->zombie = true;
	pid_handle_zombie(process);
	process_ended(process);
}

static bool all_wait_for_core(const struct process *process)
{
	return process->dumped_threads == process->thread_count - 1;
}

/* The core file includes the registers of every thread, so no thread ends until the file is written. */
static void wait_for_core(struct process *process)
{
	if (!process->dumper || process->dumper == current)
		return;
	process->dumped_threads++;
	if (all_wait_for_core(process))
		wake_up(&process->exec_wait);
	wait_event_uninterruptible(&process->dump_wait, !process->dumper);
	/* All waiting threads end one after another, without a return to a program: let other tasks run between two. */
	preemption_point();
}

void task_exit(s32 status)
{
	struct task *task = current;
	struct process *process = task->process;
	struct files *files;

	ASSERT(task != this_cpu()->idle);
	/* Threads of a killed process may end one after another, without a return to a program in between. */
	preemption_point();
	wait_for_core(process);
	signal_leave();
	if (!process->oom_killed)
		trace_event(PTRACE_EVENT_EXIT, (u32)status);
	task->trace.status = process->exiting ? process->exit_status : status;
	task->trace.unreported = true;
	timer_cancel(&task->sleep_timer);
	leave_address_space(task);
	sem_exit(task);
	rendezvous_exit();
	/* Dropping the last reference may let other tasks run: they must not find the table any more. */
	files = task->files;
	task->files = NULL;
	files_put(files);
	fs_context_put(task->fs);
	task->fs = NULL;
	if (process->thread_count == 1 && process != init_process)
		give_away_early(process);
	rights_task_ends();
	deferred_run();
	sigpending_flush(&task->pending);
	arch_fpu_drop(task);

	add_usage(process, task);
	list_del(&task->group_link);
	task_count--;
	if (!process->exiting && task == process->leader)
		process->exit_status = status;
	if (process->parent && process->parent->leader)
		sched_give_back(process->parent->leader);
	if (--process->thread_count == 0)
		become_zombie(process);
	else if (process->thread_count == 1 || (process->dumper && all_wait_for_core(process)))
		wake_up(&process->exec_wait);
	sighand_put(task->sighand);
	task->sighand = NULL;
	ASSERT(list_empty(&task->deferred));

	sched_end();
}

static void process_end(struct process *process, s32 status)
{
	/* A thread that must end for another one's execve ends alone. */
	if (process->exiting || current->killed)
		return;
	process->exiting = true;
	process->exit_status = status;
	process_kill_threads(process);
}

void process_exit(s32 status)
{
	process_end(current->process, status);
	task_exit(status);
}

void process_exit_dumping(const struct siginfo *info)
{
	struct process *process = current->process;

	if (!process->exiting && !current->killed && core_wanted()) {
		process->dumper = current;
		process->dumped_threads = 0;
		process_end(process, info->signo);
		wait_event_uninterruptible(&process->exec_wait, all_wait_for_core(process));
		if (core_write(info))
			process->exit_status |= STATUS_CORE;
		process->dumper = NULL;
		wake_up(&process->dump_wait);
	}
	process_exit(info->signo);
}

long sys_exit(int status)
{
	task_exit((status & 0xff) << 8);
}

long sys_exit_group(int status)
{
	process_exit((status & 0xff) << 8);
}
