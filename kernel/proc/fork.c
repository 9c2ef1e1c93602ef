/* fork, vfork, clone and clone3. */
#include <abi/clone.h>
#include <arch.h>
#include <control.h>
#include <err.h>
#include <errno.h>
#include <file.h>
#include <fs.h>
#include <ipc.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "../task/internal.h"

/* Namespaces and other flags are not supported. */
#define CLONE_KNOWN                                                                             \
	(CSIGNAL | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_PIDFD | CLONE_PTRACE | CLONE_VFORK | \
	 CLONE_PARENT | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |        \
	 CLONE_CHILD_CLEARTID | CLONE_DETACHED | CLONE_UNTRACED | CLONE_CHILD_SETTID | CLONE_IO)

static int check_flags(const struct clone_request *request)
{
	u32 flags = request->flags;

	if (flags & ~CLONE_KNOWN)
		return -EINVAL;
	if ((flags & CLONE_SIGHAND) && !(flags & CLONE_VM))
		return -EINVAL;
	if ((flags & CLONE_THREAD) && !(flags & CLONE_SIGHAND))
		return -EINVAL;
	if ((flags & CLONE_PIDFD) && (flags & (CLONE_THREAD | CLONE_DETACHED)))
		return -EINVAL;
	if ((flags & CLONE_PARENT) && current->process == init_process)
		return -EINVAL;
	if (request->exit_signal > NSIG)
		return -EINVAL;
	return 0;
}

/* Shares or copies the parts of a task. On error, release_parts() releases those already taken. */
static int take_parts(struct task *child, u32 flags)
{
	child->files = (flags & CLONE_FILES) ? current->files : NULL;
	if (child->files)
		child->files->refs++;
	else if (!(child->files = files_dup(current->files)))
		return -ENOMEM;

	child->fs = (flags & CLONE_FS) ? current->fs : NULL;
	if (child->fs)
		child->fs->refs++;
	else if (!(child->fs = fs_context_dup(current->fs)))
		return -ENOMEM;

	child->sighand = (flags & CLONE_SIGHAND) ? current->sighand : NULL;
	if (child->sighand)
		child->sighand->refs++;
	else if (!(child->sighand = sighand_new(current->sighand)))
		return -ENOMEM;

	if (flags & CLONE_SYSVSEM && sem_share_undos(child))
		return -ENOMEM;

	interrupt_window();
	child->mm = (flags & CLONE_VM) ? mm_get(current->mm) : mm_fork(current->mm);
	return child->mm ? 0 : -ENOMEM;
}

/*
 * Gives the caller its own tables. Memory, handlers and the thread group cannot be unshared unless the caller is alone
 * in them.
 */
long sys_unshare(u32 flags)
{
	struct fs_context *fs;

	if (flags & CLONE_NEW_ANYTHING)
		return capable() ? -EINVAL : -EPERM;
	if (flags & ~(u32)(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM))
		return -EINVAL;
	if (flags & (CLONE_THREAD | CLONE_SIGHAND | CLONE_VM) && current->process->thread_count > 1)
		return -EINVAL;
	if (flags & CLONE_FS && current->fs->refs > 1) {
		fs = fs_context_dup(current->fs);
		if (!fs)
			return -ENOMEM;
		fs_context_put(current->fs);
		current->fs = fs;
	}
	if (flags & CLONE_SYSVSEM)
		sem_exit(current);
	return flags & CLONE_FILES ? files_unshare() : 0;
}

static void release_parts(struct task *child)
{
	if (child->files)
		files_put(child->files);
	if (child->fs)
		fs_context_put(child->fs);
	if (child->sighand)
		sighand_put(child->sighand);
	if (child->mm)
		mm_put(child->mm);
	sem_exit(child);
}

static void task_inherit(struct task *child, const struct clone_request *request)
{
	const struct task *parent = current;

	memcpy(child->name, parent->name, sizeof(child->name));
	child->cred = parent->cred;
	groups_get(child->cred.groups);
	child->timer_slack = child->default_slack = parent->timer_slack;
	child->nice = parent->nice;
	child->policy = parent->policy;
	child->rt_priority = child->run_priority = parent->rt_priority;
	if (parent->reset_on_fork) {
		if (parent->rt_priority)
			child->policy = SCHED_NORMAL;
		child->rt_priority = child->run_priority = 0;
		child->nice = MAX(child->nice, 0);
	}
	child->blocked = parent->blocked;
	if (!(request->flags & CLONE_VM) || (request->flags & CLONE_VFORK))
		child->altstack = parent->altstack;
	if (request->flags & CLONE_CHILD_SETTID)
		child->set_child_tid = (u32 *)request->child_tid;
	if (request->flags & CLONE_CHILD_CLEARTID)
		child->clear_child_tid = (u32 *)request->child_tid;
}

/*
 * Copies to a process what it inherits. To be called when nothing can fail or sleep any more: until then the creator's
 * parent may end, and the creator's threads may change the rest.
 */
static void process_inherit(struct process *process, const struct clone_request *request)
{
	struct process *parent = current->process;

	process->pgid = parent->pgid;
	process->group_start_ns = parent->group_start_ns;
	process->sid = parent->sid;
	process->parent = parent;
	process->exit_signal = (s32)request->exit_signal;
	if (request->flags & CLONE_PARENT) {
		process->parent = parent->parent;
		process->exit_signal = parent->exit_signal;
	}
	process->private_barriers = parent->private_barriers;
	process->no_new_privileges = parent->no_new_privileges;
	memcpy(process->rlimit, parent->rlimit, sizeof(process->rlimit));
	if (parent->rlimit[RLIMIT_CPU].soft != RLIM_INFINITY)
		process->cpu_limits = true;
}

/* The start of the child on its own kernel stack; it then enters user mode. */
static void child_start(void *argument)
{
	struct task *child = argument;

	if (child->set_child_tid)
		(void)put_user((u32)child->pid, child->set_child_tid);
}

/* Waits until the child has left the borrowed address space; only a fatal signal ends the wait early. */
static void wait_for_vfork(struct vfork *vfork, struct task *child)
{
	if (wait_event_killable(&vfork->wq, vfork->done))
		child->vfork = NULL;
}

void vfork_done(struct task *child)
{
	if (child->vfork) {
		child->vfork->done = true;
		wake_up(&child->vfork->wq);
		child->vfork = NULL;
	}
}

/*
 * Creates a descriptor of the future process and stores its number in the caller's memory; its handle has no process
 * yet. *out: the file, referenced. Returns the descriptor.
 */
static long make_pidfd(s32 *user, struct file **out)
{
	struct pid_handle *handle = pid_handle_new();
	struct file *file = handle ? pidfd_file(handle, 0) : ERR_PTR(-ENOMEM);
	int fd = fd_add(IS_ERR(file) ? file : file_get(file), true);

	if (handle)
		pid_handle_put(handle);
	/* The store may sleep, and another thread may close the descriptor meanwhile. */
	if (fd >= 0 && put_user(fd, user)) {
		fd_take_back(fd, file);
		fd = -EFAULT;
	}
	if (fd >= 0)
		*out = file;
	else if (!IS_ERR(file))
		file_put(file);
	return fd;
}

static long clone_task(const struct clone_request *request)
{
	struct process *process = current->process;
	bool thread = request->flags & CLONE_THREAD;
	struct vfork vfork = { .wq = WAITQ_INIT(vfork.wq) };
	struct pid_claim claim;
	struct file *pidfd = NULL;
	struct task *child = NULL;
	struct regs *regs;
	int event, fd = -1;
	s32 pid;
	long error = check_flags(request);

	if (!error && (request->flags & CLONE_SETTLS))
		error = thread_pointer_check(request->tls);
	if (error)
		return error;
	/* Take a pending signal before the fork, so that parent and child both see it as handled. */
	if (signal_pending())
		return -ERESTARTNOINTR;
	if (!capable() && tasks_over_limit(1))
		return -EAGAIN;
	current->over_limit = false;
	/*
	 * Others run before the task is published. They may create tasks of the same user, which must be counted with
	 * this one, and so many that pids are given out again.
	 */
	pid_claim(&claim);
	if (!thread) {
		process = process_new();
		if (!process) {
			list_del(&claim.link);
			return -ENOMEM;
		}
	}
	pid = thread ? pid_allocate() : process->pid;
	error = pid < 0 ? pid : -ENOMEM;
	claim.pid = MAX(pid, 0);
	if (pid >= 0 && (child = task_new(process)))
		error = take_parts(child, request->flags);
	if (!error && (request->flags & CLONE_PIDFD)) {
		fd = (int)make_pidfd(request->pidfd, &pidfd);
		error = MIN(fd, 0);
	}
	/* As on Linux, an address that cannot be written to is no error. */
	if (!error && (request->flags & CLONE_PARENT_SETTID))
		(void)put_user(pid, request->parent_tid);
	/* The process is ending: the signal would not reach the new thread. */
	if (!error && signal_fatal_pending())
		error = -ERESTARTNOINTR;
	list_del(&claim.link);
	if (error) {
		if (child) {
			release_parts(child);
			task_free(child);
		}
		if (!thread)
			process_release(process);
		if (pidfd) {
			fd_take_back(fd, pidfd);
			file_put(pidfd);
		}
		return error;
	}

	task_inherit(child, request);
	arch_task_fork(child, task_regs(current));
	regs = task_regs(child);
	if (request->stack)
		regs_set_stack(regs, request->stack);
	if (request->flags & CLONE_SETTLS)
		regs_set_thread_pointer(regs, request->tls);
	arch_task_start(child, child_start, child);
	if (!thread) {
		process_inherit(process, request);
		process->leader = child;
		list_add_tail(&process->all, &process_list);
		list_add_tail(&process->sibling, &process->parent->children);
		process_count++;
		control_fork((u32)pid);
	}
	if (pidfd) {
		pid_handle_attach(pidfd_handle(pidfd), process);
		file_put(pidfd);
	}
	task_publish(child, pid);
	event = trace_new_task(child, request->flags, request->exit_signal);
	if (request->flags & CLONE_VFORK)
		child->vfork = &vfork;
	sched_start(child);

	if (event)
		trace_event(event, (u32)pid);
	if (request->flags & CLONE_VFORK) {
		wait_for_vfork(&vfork, child);
		trace_event(PTRACE_EVENT_VFORK_DONE, (u32)pid);
	}
	return pid;
}

long sys_fork(void)
{
	return clone_task(&(struct clone_request){ .exit_signal = SIGCHLD });
}

long sys_vfork(void)
{
	return clone_task(&(struct clone_request){ .flags = CLONE_VFORK | CLONE_VM, .exit_signal = SIGCHLD });
}

long sys_clone(u32 flags, uaddr_t stack, s32 *parent_tid, uaddr_t tls, s32 *child_tid)
{
	/* Both use the same argument. */
	if ((flags & CLONE_PIDFD) && (flags & CLONE_PARENT_SETTID))
		return -EINVAL;
	return clone_task(&(struct clone_request){
		.flags = flags & ~CSIGNAL,
		.exit_signal = flags & CSIGNAL,
		.stack = stack,
		.tls = tls,
		.parent_tid = parent_tid,
		.child_tid = child_tid,
		.pidfd = parent_tid,
	});
}

long sys_clone3(const struct clone_args *user, size_t size)
{
	struct clone_args args = { 0 };

	if (size > PAGE_SIZE)
		return -E2BIG;
	if (size < CLONE_ARGS_SIZE_VER0)
		return -EINVAL;
	if (copy_from_user(&args, user, MIN(size, sizeof(args))))
		return -EFAULT;
	for (size_t at = sizeof(args); at < size; at++) {
		u8 byte;

		if (get_user(byte, (const u8 *)user + at))
			return -EFAULT;
		if (byte)
			return -E2BIG;
	}
	if (args.flags & (CSIGNAL | CLONE_DETACHED))
		return -EINVAL;
	if ((args.flags >> 32) || args.set_tid || args.set_tid_size || args.exit_signal > NSIG)
		return -EINVAL;
	if ((args.flags & (CLONE_THREAD | CLONE_PARENT)) && args.exit_signal)
		return -EINVAL;
	if (!args.stack != !args.stack_size)
		return -EINVAL;
	return clone_task(&(struct clone_request){
		.flags = (u32)args.flags,
		.exit_signal = (u32)args.exit_signal,
		.stack = (uaddr_t)(args.stack + args.stack_size),
		.tls = (u32)args.tls,
		.parent_tid = (s32 *)(uaddr_t)args.parent_tid,
		.child_tid = (s32 *)(uaddr_t)args.child_tid,
		.pidfd = (s32 *)(uaddr_t)args.pidfd,
	});
}
