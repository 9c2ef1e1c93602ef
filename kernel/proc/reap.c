/* Reporting the state of children to parents: SIGCHLD, wait4, waitid. */
#include <abi/process.h>
#include <errno.h>
#include <file.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "../task/internal.h"
#include "../task/usage.h"

/* The request of a wait, and its result. */
struct wait_request {
	int which;              /* P_* */
	s32 id;
	u32 options;
	s32 pid;                /* found: 0 nothing yet */
	u32 uid;
	s32 status;             /* in wait4's form */
	int code;               /* CLD_* */
	struct usage usage;
};

static bool child_matches(const struct process *child, const struct wait_request *request)
{
	bool clone_child = child->exit_signal != SIGCHLD;

	if (request->which == P_PID && child->pid != request->id)
		return false;
	if (request->which == P_PGID && child->pgid != request->id)
		return false;
	return (request->options & WALL) || clone_child == !!(request->options & WCLONE);
}

/* Whether the child has news that the request wants; fills in the result and, unless WNOWAIT, clears the news. */
static bool reap_collect(struct process *child, struct wait_request *request)
{
	bool take = !(request->options & WNOWAIT);

	if (child->zombie && !child->auto_reap && !trace_hides_zombie(child) && (request->options & WEXITED)) {
		request->status = child->exit_status;
		request->code = child_exit_code(child->exit_status);
	} else if (child->stopped && child->stop_unreported && (request->options & WSTOPPED)) {
		request->status = STATUS_STOPPED(child->stop_signal);
		request->code = CLD_STOPPED;
		child->stop_unreported = !take;
	} else if (child->continue_unreported && (request->options & WCONTINUED)) {
		request->status = STATUS_CONTINUED;
		request->code = CLD_CONTINUED;
		child->continue_unreported = !take;
	} else {
		return false;
	}
	request->pid = child->pid;
	request->uid = child->leader->cred.uid;
	process_usage(child, &request->usage);
	usage_add(&request->usage, &child->children_usage);
	if (request->code != CLD_STOPPED && request->code != CLD_CONTINUED && take) {
		usage_add(&current->process->children_usage, &request->usage);
		process_release(child);
	}
	return true;
}

static bool matches_traced(const struct task *task, const struct wait_request *request)
{
	if (request->which == P_PID)
		return task->pid == request->id;
	return request->which != P_PGID || (task->process && task->process->pgid == request->id);
}

/* The same for a task that the caller traces and that has stopped or ended. Its parent learns of the end later. */
static bool collect_traced(struct task *task, struct wait_request *request)
{
	bool take = !(request->options & WNOWAIT), ends = request->options & WEXITED;
	struct process *process = task->process;

	request->usage = (struct usage){ 0 };
	if (!process && ends) {
		request->status = task->trace.status;
		request->code = child_exit_code(request->status);
	} else if (process && process->zombie && task == process->leader && trace_hides_zombie(process) && ends) {
		request->status = process->exit_status;
		request->code = child_exit_code(request->status);
		process_usage(process, &request->usage);
	} else if (task->state == TASK_TRACED && task->trace.unreported) {
		request->status = task->trace.status;
		request->code = CLD_TRAPPED;
		task->trace.unreported = !take;
		task_usage(task, &request->usage);
	} else {
		return false;
	}
	request->pid = task->pid;
	request->uid = task->cred.uid;
	if (!take || request->code == CLD_TRAPPED)
		return true;
	trace_detach(task);
	if (process)
		process_ended(process);
	else
		task_free(task);
	return true;
}

/* Looks for news once. True: the wait is over, with a result or *error set. */
static bool look_for_child(struct wait_request *request, long *error)
{
	struct process *child, *next;
	struct task *task, *after;

	*error = -ECHILD;
	list_for_each_window_safe(child, next, &current->process->children, sibling) {
		if (!child_matches(child, request))
			continue;
		if (reap_collect(child, request)) {
			*error = 0;
			return true;
		}
		if (!(child->zombie && child->auto_reap))
			*error = 0;
	}
	list_for_each_window_safe(task, after, &current->process->traced, trace.link) {
		if (!matches_traced(task, request))
			continue;
		*error = 0;
		if (collect_traced(task, request))
			return true;
	}
	return *error != 0 || (request->options & WNOHANG);
}

static long do_wait(struct wait_request *request)
{
	long error = 0, interrupted;

	interrupted = wait_event(&current->process->child_wait, look_for_child(request, &error));
	return interrupted ? interrupted : error;
}

long sys_wait4(s32 pid, s32 *status, u32 options, struct rusage32 *usage)
{
	struct wait_request request = { .which = P_ALL, .options = options | WEXITED };
	long error;

	if (options & ~(WNOHANG | WUNTRACED | WCONTINUED | WNOTHREAD | WALL | WCLONE))
		return -EINVAL;
	if (pid == INT32_MIN)
		return -ESRCH;
	if (pid < -1 || pid == 0) {
		request.which = P_PGID;
		request.id = pid ? -pid : current->process->pgid;
	} else if (pid > 0) {
		request.which = P_PID;
		request.id = pid;
	}
	error = do_wait(&request);
	if (error || !request.pid)
		return error;
	if (status && put_user(request.status, status))
		return -EFAULT;
	if (usage && usage_to_user(usage, &request.usage))
		return -EFAULT;
	return request.pid;
}

/* Replaces a pidfd by its pid; sets *nonblock if the descriptor is O_NONBLOCK. */
static long wait_by_pidfd(struct wait_request *request, bool *nonblock)
{
	struct file *file = fd_get(request->id);
	const struct pid_handle *handle = pidfd_handle(file);
	long error = 0;

	if (request->id < 0) {
		error = -EINVAL;
	} else if (!handle) {
		error = -EBADF;
	} else if (!handle->process) {
		error = -ECHILD;
	} else {
		request->which = P_PID;
		request->id = handle->process->pid;
		*nonblock = file->flags & O_NONBLOCK && !(request->options & WNOHANG);
		if (*nonblock)
			request->options |= WNOHANG;
	}
	file_put(file);
	return error;
}

long sys_waitid(int which, s32 id, struct siginfo *user_info, u32 options, struct rusage32 *usage)
{
	struct wait_request request = { .which = which, .id = id, .options = options };
	struct siginfo info = { 0 };
	bool nonblock = false;
	long error;

	if (options & ~(WNOHANG | WSTOPPED | WEXITED | WCONTINUED | WNOWAIT | WNOTHREAD | WALL | WCLONE))
		return -EINVAL;
	if (!(options & (WSTOPPED | WEXITED | WCONTINUED)))
		return -EINVAL;
	if (which != P_ALL && which != P_PID && which != P_PGID && which != P_PIDFD)
		return -EINVAL;
	if (which == P_PID && id <= 0)
		return -EINVAL;
	if (which == P_PGID && id < 0)
		return -EINVAL;
	if (which == P_PGID && id == 0)
		request.id = current->process->pgid;
	error = which == P_PIDFD ? wait_by_pidfd(&request, &nonblock) : 0;
	if (!error)
		error = do_wait(&request);
	if (!error && nonblock && !request.pid)
		error = -EAGAIN;
	if (error)
		return error;
	if (request.pid) {
		info.signo = SIGCHLD;
		info.code = request.code;
		info.child.pid = request.pid;
		info.child.uid = request.uid;
		info.child.status = child_status(request.code, request.status);
	}
	if (user_info && siginfo_to_user(user_info, &info))
		return -EFAULT;
	if (request.pid && usage && usage_to_user(usage, &request.usage))
		return -EFAULT;
	return 0;
}
