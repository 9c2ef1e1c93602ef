/* Process numbers, process groups and sessions. */
#include <errno.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <window.h>

long sys_getpid(void)
{
	return current->tgid;
}

long sys_gettid(void)
{
	return current->pid;
}

long sys_getppid(void)
{
	return current->process->parent->pid;
}

bool pgrp_in_session(s32 pgid, s32 sid)
{
	struct process *process;

	list_for_each_window(process, &process_list, all)
		if (process->pgid == pgid && process->sid == sid)
			return true;
	return false;
}

/* POSIX: a group is orphaned when no member has a parent in another group of the same session. */
bool pgrp_orphaned_without(s32 pgid, const struct process *without)
{
	struct process *process;

	list_for_each_window(process, &process_list, all)
		if (process->pgid == pgid && process != without && !process->zombie && connects_group(process))
			return false;
	return true;
}

bool pgrp_orphaned(s32 pgid)
{
	return pgrp_orphaned_without(pgid, NULL);
}

const struct process *pgrp_member(s32 pgid)
{
	const struct process *process;

	list_for_each_window(process, &process_list, all)
		if (process->pgid == pgid)
			return process;
	return NULL;
}

long sys_setpgid(s32 pid, s32 pgid)
{
	const struct process *member;
	struct process *mine = current->process;
	struct process *process = pid ? process_find(pid) : mine;

	if (pgid < 0)
		return -EINVAL;
	if (!process || (process != mine && process->parent != mine))
		return -ESRCH;
	if (!pgid)
		pgid = process->pid;
	if (process != mine && process->sid != mine->sid)
		return -EPERM;
	if (process != mine && process->execed)
		return -EACCES;
	if (process->sid == process->pid)
		return -EPERM;
	if (pgid != process->pid && !pgrp_in_session(pgid, mine->sid))
		return -EPERM;
	member = pgrp_member(pgid);
	process->group_start_ns = member ? member->group_start_ns : time_now_ns();
	process->pgid = pgid;
	return 0;
}

long sys_getpgid(s32 pid)
{
	struct task *task = pid ? task_find(pid) : current;

	return task ? task->process->pgid : -ESRCH;
}

long sys_getpgrp(void)
{
	return current->process->pgid;
}

long sys_getsid(s32 pid)
{
	struct task *task = pid ? task_find(pid) : current;

	return task ? task->process->sid : -ESRCH;
}

long sys_setsid(void)
{
	struct process *mine = current->process, *process;

	list_for_each_window(process, &process_list, all)
		if (process->pgid == mine->pid)
			return -EPERM;
	mine->sid = mine->pgid = mine->pid;
	mine->group_start_ns = time_now_ns();
	return mine->pid;
}
