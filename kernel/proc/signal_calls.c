/* The signal system calls. */
#include <abi/signal.h>
#include <arch.h>
#include <err.h>
#include <errno.h>
#include <file.h>
#include <process.h>
#include <procfs.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "../task/internal.h"

static bool signal_valid(int sig)
{
	return sig >= 1 && sig <= NSIG;
}

static struct siginfo info_of_sender(int sig, int code)
{
	return (struct siginfo){
		.signo = sig,
		.code = code,
		.kill = { .pid = current->tgid, .uid = current->cred.uid },
	};
}

/* Whether a signal that carries a value would exceed RLIMIT_SIGPENDING. kill's signals carry none. */
static bool queue_is_full(const struct process *process, int sig, const struct siginfo *info)
{
	return info->code != SI_USER && signal_queue_is_full(process, sig);
}

static long kill_process(struct process *process, int sig, const struct siginfo *info)
{
	long error = signal_check_permission(process, sig);

	if (!error && queue_is_full(process, sig, info))
		error = -EAGAIN;
	if (!error && sig)
		signal_process(process, sig, info);
	return error;
}

/* Signals a group; pgid 0: every process that the caller may signal, except init and itself. */
static long kill_many(s32 pgid, int sig, const struct siginfo *info)
{
	struct process *process;
	long result = -ESRCH;

	list_for_each_long(process, &process_list, all) {
		if (pgid ? process->pgid != pgid :
			   process == init_process || process == current->process)
			continue;
		if (kill_process(process, sig, info) == 0)
			result = 0;
		else if (result == -ESRCH)
			result = -EPERM;
	}
	return result;
}

long sys_kill(s32 pid, int sig)
{
	struct siginfo info = info_of_sender(sig, SI_USER);
	struct process *process;

	if (sig < 0 || sig > NSIG)
		return -EINVAL;
	if (pid == -1)
		return kill_many(0, sig, &info);
	if (pid == INT32_MIN)
		return -ESRCH;
	if (pid <= 0) {
		s32 pgid = pid ? -pid : current->process->pgid;

		/* The group of the first process has number 0: its members are the kernel's own. */
		return pgid ? kill_many(pgid, sig, &info) : kill_process(current->process, sig, &info);
	}
	process = process_find(pid);
	if (!process)
		return -ESRCH;
	return kill_process(process, sig, &info);
}

static long kill_thread(s32 tgid, s32 tid, int sig, const struct siginfo *info)
{
	struct task *task = task_find(tid);
	long error;

	if (!task || task->state == TASK_DEAD || (tgid && task->tgid != tgid))
		return -ESRCH;
	error = signal_check_permission(task->process, sig);
	if (!error && queue_is_full(task->process, sig, info))
		error = -EAGAIN;
	if (!error && sig)
		signal_task(task, sig, info);
	return error;
}

long sys_tgkill(s32 tgid, s32 tid, int sig)
{
	struct siginfo info = info_of_sender(sig, SI_TKILL);

	if (tgid <= 0 || tid <= 0 || sig < 0 || sig > NSIG)
		return -EINVAL;
	return kill_thread(tgid, tid, sig, &info);
}

long sys_tkill(s32 tid, int sig)
{
	struct siginfo info = info_of_sender(sig, SI_TKILL);

	if (tid <= 0 || sig < 0 || sig > NSIG)
		return -EINVAL;
	return kill_thread(0, tid, sig, &info);
}

/* Reads siginfo from a program. For another process, it must not look like one from the kernel or from kill(). */
static int info_from_user(struct siginfo *info, const struct siginfo *user, bool to_itself)
{
	int error = siginfo_from_user(info, user);

	if (error)
		return error;
	if ((info->code >= 0 || info->code == SI_TKILL) && !to_itself)
		return -EPERM;
	return 0;
}

long sys_rt_sigqueueinfo(s32 pid, int sig, const struct siginfo *user)
{
	struct siginfo info;
	struct task *task;
	int error;

	if (sig < 0 || sig > NSIG)
		return -EINVAL;
	error = info_from_user(&info, user, pid == current->tgid);
	if (error)
		return error;
	task = pid > 0 ? task_find(pid) : NULL; /* any thread's number names the process */
	return task ? kill_process(task->process, sig, &info) : -ESRCH;
}

long sys_rt_tgsigqueueinfo(s32 tgid, s32 tid, int sig, const struct siginfo *user)
{
	struct siginfo info;
	int error;

	if (tgid <= 0 || tid <= 0 || sig < 0 || sig > NSIG)
		return -EINVAL;
	error = info_from_user(&info, user, tid == current->pid);
	return error ? error : kill_thread(tgid, tid, sig, &info);
}

/* The process of a pidfd, or of a directory of /proc. */
static struct process *process_of_file(const struct file *file)
{
	const struct pid_handle *handle = pidfd_handle(file);

	if (!handle)
		return file ? proc_directory_process(file) : ERR_PTR(-EBADF);
	return handle->process ? handle->process : ERR_PTR(-ESRCH);
}

long sys_pidfd_send_signal(int pidfd, int sig, const struct siginfo *user, u32 flags)
{
	struct siginfo info = info_of_sender(sig, SI_USER);
	struct file *file = fd_get(pidfd);
	struct process *process = process_of_file(file);
	long error = 0;

	if (IS_ERR(process))
		error = PTR_ERR(process);
	else if (flags || sig < 0 || sig > NSIG)
		error = -EINVAL;
	else if (user)
		error = info_from_user(&info, user, process == current->process);
	if (!error && info.signo != sig)
		error = -EINVAL;
	if (!error) {
		/* Look it up after the copy, which may have slept: the process may have ended. */
		process = process_of_file(file);
		error = IS_ERR(process) ? PTR_ERR(process) : kill_process(process, sig, &info);
	}
	file_put(file);
	return error;
}

static void forget_ignored(int sig)
{
	struct process *process = current->process;
	struct task *task;

	sigpending_drop(&process->pending, sig);
	list_for_each_window(task, &process->threads, group_link) {
		sigpending_drop(&task->pending, sig);
		signal_recalculate(task);
	}
}

static long set_action(int sig, const struct action *new, struct action *old)
{
	struct action *action = &current->sighand->action[sig - 1];

	*old = *action;
	if (!new)
		return 0;
	if (sig == SIGKILL || sig == SIGSTOP)
		return -EINVAL;
	*action = *new;
	action->mask &= ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP));
	if (new->handler == SIG_IGN || (new->handler == SIG_DFL && signal_default(sig) == ACT_IGNORE))
		forget_ignored(sig);
	return 0;
}

long sys_rt_sigaction(int sig, const struct sigaction_abi *user, struct sigaction_abi *user_old, size_t size)
{
	struct sigaction_abi abi;
	struct action new, old;
	long error;

	if (size != SIGSET_SIZE || !signal_valid(sig))
		return -EINVAL;
	if (user) {
		if (copy_from_user(&abi, user, sizeof(abi)))
			return -EFAULT;
		new = (struct action){
			.handler = abi.handler,
			.flags = abi.flags,
			.restorer = abi.restorer,
			.mask = ((sigset)abi.mask[1] << 32) | abi.mask[0],
		};
	}
	error = set_action(sig, user ? &new : NULL, &old);
	if (error || !user_old)
		return error;
	abi = (struct sigaction_abi){
		.handler = old.handler,
		.flags = old.flags,
		.restorer = old.restorer,
		.mask = { (u32)old.mask, (u32)(old.mask >> 32) },
	};
	return copy_to_user(user_old, &abi, sizeof(abi));
}

long sys_sigaction(int sig, const struct old_sigaction *user, struct old_sigaction *user_old)
{
	struct old_sigaction abi;
	struct action new, old;
	long error;

	if (sig < 0)            /* the ABI: a negative number means no SA_RESTART */
		sig = -sig;
	if (!signal_valid(sig))
		return -EINVAL;
	if (user) {
		if (copy_from_user(&abi, user, sizeof(abi)))
			return -EFAULT;
		new = (struct action){ abi.handler, abi.flags, abi.restorer, abi.mask };
	}
	error = set_action(sig, user ? &new : NULL, &old);
	if (error || !user_old)
		return error;
	abi = (struct old_sigaction){ old.handler, (u32)old.mask, old.flags, old.restorer };
	return copy_to_user(user_old, &abi, sizeof(abi));
}

long sys_signal(int sig, uaddr_t handler)
{
	struct action new = { .handler = handler, .flags = SA_RESETHAND | SA_NODEFER }, old;
	long error;

	if (!signal_valid(sig))
		return -EINVAL;
	error = set_action(sig, &new, &old);
	return error ? error : (long)old.handler;
}

static long mask_change(int how, sigset set)
{
	switch (how) {
	case SIG_BLOCK:
		signal_set_blocked(current->blocked | set);
		return 0;
	case SIG_UNBLOCK:
		signal_set_blocked(current->blocked & ~set);
		return 0;
	case SIG_SETMASK:
		signal_set_blocked(set);
		return 0;
	default:
		return -EINVAL;
	}
}

long sys_rt_sigprocmask(int how, const u32 *user, u32 *user_old, size_t size)
{
	sigset set, old = current->blocked;
	long error;

	if (size != SIGSET_SIZE)
		return -EINVAL;
	if (user) {
		if (sigset_from_user(&set, user))
			return -EFAULT;
		error = mask_change(how, set);
		if (error)
			return error;
	}
	return user_old ? sigset_to_user(user_old, old) : 0;
}

/* The old calls know the first 32 signals only. */
long sys_sigprocmask(int how, const u32 *user, u32 *user_old)
{
	sigset old = current->blocked;
	long error;
	uaddr_t low;

	if (user) {
		if (get_user(low, user))
			return -EFAULT;
		error = mask_change(how, how == SIG_SETMASK ? (old & ~0xffffffffULL) | low : low);
		if (error)
			return error;
	}
	return user_old ? put_user((u32)old, user_old) : 0;
}

long sys_sgetmask(void)
{
	return (long)(u32)current->blocked;
}

long sys_ssetmask(u32 mask)
{
	u32 old = (u32)current->blocked;

	signal_set_blocked((current->blocked & ~0xffffffffULL) | mask);
	return (long)old;
}

long sys_rt_sigpending(u32 *user, size_t size)
{
	if (size > SIGSET_SIZE)
		return -EINVAL;
	return sigset_to_user(user, signal_all_pending(current) & current->blocked);
}

long sys_sigpending(u32 *user)
{
	return put_user((u32)(signal_all_pending(current) & current->blocked), user);
}

/* Waits for a signal with another mask; the old mask is restored after the handler. */
static long signal_suspend(sigset mask)
{
	bool never = false;

	current->saved_blocked = current->blocked;
	signal_set_blocked(mask);
	current->restore_blocked = true;
	while (!signal_pending())
		sleep_interruptible(&never, TIME_NEVER);
	return -ERESTARTNOHAND;
}

long sys_rt_sigsuspend(const u32 *user, size_t size)
{
	sigset mask;

	if (size != SIGSET_SIZE)
		return -EINVAL;
	if (sigset_from_user(&mask, user))
		return -EFAULT;
	return signal_suspend(mask);
}

long sys_sigsuspend(u32 mask)
{
	return signal_suspend((current->blocked & ~0xffffffffULL) | mask);
}

long sys_pause(void)
{
	bool never = false;

	while (!signal_pending())
		sleep_interruptible(&never, TIME_NEVER);
	return -ERESTARTNOHAND;
}

/* Waits for one of a set of (normally blocked) signals; returns its number. */
static long wait_for_signal(sigset wanted, struct siginfo *info, u64 deadline)
{
	bool never = false;
	long result;
	int sig;

	wanted &= ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP));
	sig = signal_dequeue(wanted, info);
	if (sig)
		return sig;
	current->wanted = wanted;
	current->process->blocked_by_all &= ~wanted;
	result = sleep_interruptible(&never, deadline);
	sig = signal_dequeue(wanted, info);
	signal_not_wanted(wanted);
	signal_recalculate(current);
	if (sig)
		return sig;
	return result == -ETIMEDOUT ? -EAGAIN : -EINTR;
}

static long signal_timed_wait(const u32 *user_set, struct siginfo *user_info, size_t size, int time_error, u64 delta)
{
	struct siginfo info;
	sigset wanted;
	long sig;

	if (size != SIGSET_SIZE)
		return -EINVAL;
	if (time_error)
		return time_error;
	if (sigset_from_user(&wanted, user_set))
		return -EFAULT;
	sig = wait_for_signal(wanted, &info, delta == TIME_NEVER ? TIME_NEVER : time_deadline(delta));
	if (sig > 0 && user_info && siginfo_to_user(user_info, &info))
		return -EFAULT;
	return sig;
}

long sys_rt_sigtimedwait_by(const u32 *set, struct siginfo *info, const void *timeout, size_t size, bool time64)
{
	u64 delta;
	int error = time_limit_from_user(timeout, time64, &delta);

	return signal_timed_wait(set, info, size, error, delta);
}
