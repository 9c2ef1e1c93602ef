/* What outlives a process, so that a descriptor of it (proc/pidfd.c) never names a later process with the same pid. */
#include <kmalloc.h>
#include <process.h>
#include <wait.h>

#include "internal.h"

/* Creates a handle with one reference, the caller's. */
struct pid_handle *pid_handle_new(void)
{
	struct pid_handle *handle = kzalloc(sizeof(*handle));

	if (!handle)
		return NULL;
	handle->refs = 1;
	waitq_init(&handle->ended);
	return handle;
}

void pid_handle_put(struct pid_handle *handle)
{
	if (!--handle->refs)
		kfree(handle);
}

void pid_handle_attach(struct pid_handle *handle, struct process *process)
{
	handle->process = process;
	process->handle = handle;
	handle->refs++;
}

void pid_handle_zombie(struct process *process)
{
	if (process->handle)
		wake_up(&process->handle->ended);
}

void pid_handle_reaped(struct process *process)
{
	struct pid_handle *handle = process->handle;

	if (!handle)
		return;
	process->handle = NULL;
	handle->process = NULL;
	wake_up(&handle->ended);
	pid_handle_put(handle);
}
