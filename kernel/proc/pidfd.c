/*
 * Descriptors of processes (pidfd_open(2)). A process with descriptors has a handle, which outlives it, so that a
 * descriptor never names a later process with the same pid.
 */
#include <anon.h>
#include <err.h>
#include <errno.h>
#include <file.h>
#include <poll.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <text.h>

#include "../task/internal.h"

static void pidfd_release(struct file *file)
{
	pid_handle_put(file->data);
}

static unsigned pidfd_poll(struct file *file, struct poll_table *table)
{
	struct pid_handle *handle = file->data;

	poll_wait(table, &handle->ended);
	return !handle->process || handle->process->zombie ? POLLIN | POLLRDNORM : 0;
}

static void pidfd_show(const struct file *file, struct text *out)
{
	const struct pid_handle *handle = file->data;
	s32 pid = handle->process ? handle->process->pid : -1;

	text_printf(out, "Pid:\t%d\nNSpid:\t%d\n", pid, pid);
}

static const struct file_ops pidfd_ops = { .poll = pidfd_poll, .release = pidfd_release, .show = pidfd_show };

struct pid_handle *pidfd_handle(const struct file *file)
{
	return file && file->ops == &pidfd_ops ? file->data : NULL;
}

struct file *pidfd_file(struct pid_handle *handle, u32 flags)
{
	struct file *file = file_anonymous("anon_inode:[pidfd]", 0600, O_RDWR | flags, &pidfd_ops, handle);

	if (!IS_ERR(file))
		handle->refs++;
	return file;
}

long sys_pidfd_open(s32 pid, u32 flags)
{
	struct process *process;

	if (flags & ~(u32)O_NONBLOCK || pid <= 0)
		return -EINVAL;
	process = process_find(pid);
	if (!process)
		return task_find(pid) ? -EINVAL : -ESRCH;
	if (!process->handle) {
		struct pid_handle *handle = pid_handle_new();

		if (!handle)
			return -ENOMEM;
		pid_handle_attach(handle, process);
		pid_handle_put(handle);
	}
	return fd_add(pidfd_file(process->handle, flags), true);
}

long sys_pidfd_getfd(int pidfd, int fd, u32 flags)
{
	struct file *file = fd_get(pidfd), *theirs = NULL;
	const struct pid_handle *handle = pidfd_handle(file);
	const struct task *task;
	long result;

	if (!handle) {
		result = -EBADF;
	} else if (flags) {
		result = -EINVAL;
	} else if (!handle->process || !handle->process->leader->files) {
		result = -ESRCH;
	} else {
		task = handle->process->leader;
		result = may_trace(task) ? 0 : -EPERM;
		if (!result && (u32)fd < task->files->size)
			theirs = task->files->slot[fd];
		if (!result && !theirs)
			result = -EBADF;
	}
	if (theirs)
		result = fd_add(file_get(theirs), true);
	file_put(file);
	return result;
}
