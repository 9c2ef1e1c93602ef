/*
 * Signals for readiness (O_ASYNC, F_SETOWN, F_SETSIG). A file with O_ASYNC has an entry in each wait queue that its
 * poll operation reports, as a file in an epoll has.
 */
#include <async.h>
#include <file.h>
#include <kmalloc.h>
#include <poll.h>
#include <process.h>
#include <signal.h>
#include <task.h>
#include <window.h>

#define QUEUES_MAX 3u   /* the most wait queues that a file's poll operation reports */

struct hook {
	struct waiter waiter;
	struct async *async;
};

struct async {
	struct file *file;      /* the file to which this belongs */
	int fd;                 /* descriptor that enabled it, for si_fd */
	int signal;             /* 0: SIGIO, without siginfo */
	struct async_owner owner;
	u64 owner_start_ns;     /* the number is a later process's or group's if that began at another time */
	u32 uid, euid;          /* of the process that set the owner */
	struct poll_table table;
	struct hook hook[QUEUES_MAX];
	u32 hooks;
};

static bool may_signal(const struct async *async, const struct process *process)
{
	const struct credentials *theirs = &process->leader->cred;

	return async->euid == 0 || async->euid == theirs->suid || async->euid == theirs->uid ||
		async->uid == theirs->suid ||
	       async->uid == theirs->uid;
}

/* When the process, the thread's process, or the group with this number began; 0: there is none. */
static u64 owner_start(const struct async_owner *owner)
{
	const struct process *process;
	const struct task *task;

	switch (owner->type) {
	case ASYNC_THREAD:
		task = task_find(owner->id);
		return task ? task->process->start_ns : 0;
	case ASYNC_PROCESS:
		process = process_find(owner->id);
		return process ? process->start_ns : 0;
	default:
		process = pgrp_member(owner->id);
		return process ? process->group_start_ns : 0;
	}
}

static bool has_owner(const struct async *async)
{
	return async->owner.id && owner_start(&async->owner) == async->owner_start_ns;
}

static void async_send(const struct async *async, int sig, const struct siginfo *info)
{
	struct process *process;
	struct task *task;

	switch (async->owner.type) {
	case ASYNC_THREAD:
		task = task_find(async->owner.id);
		if (task && may_signal(async, task->process))
			signal_task(task, sig, info);
		return;
	case ASYNC_PROCESS:
		process = process_find(async->owner.id);
		if (process && may_signal(async, process))
			signal_process(process, sig, info);
		return;
	case ASYNC_GROUP:
		list_for_each_window(process, &process_list, all)
			if (process->pgid == async->owner.id && !process->zombie && may_signal(async, process))
				signal_process(process, sig, info);
	}
}

static void async_wake(struct waiter *waiter)
{
	const struct async *async = container_of(waiter, struct hook, waiter)->async;
	u32 ready = file_poll(async->file, NULL);
	struct siginfo info = { .poll = { .band = (s32)ready, .fd = async->fd } };

	if (!ready || !has_owner(async))
		return;
	info.code = ready & POLLHUP ? POLL_HUP : ready & POLLERR ? POLL_ERR : ready & POLLIN ? POLL_IN : POLL_OUT;
	async_send(async, async->signal ? async->signal : SIGIO, async->signal ? &info : NULL);
}

void async_urgent(const struct file *file)
{
	if (file->async && has_owner(file->async))
		async_send(file->async, SIGURG, NULL);
}

static void add_queue(struct poll_table *table, struct waitq *queue)
{
	struct async *async = container_of(table, struct async, table);
	struct hook *h;

	if (async->hooks == QUEUES_MAX)
		return;
	h = &async->hook[async->hooks++];
	waiter_init(&h->waiter);
	h->waiter.wake = async_wake;
	h->async = async;
	waitq_add(queue, &h->waiter);
}

static void switch_off(struct async *async)
{
	while (async->hooks)
		waitq_remove(&async->hook[--async->hooks].waiter);
}

void async_requeue(struct file *file)
{
	struct async *async = file->async;

	if (!async || !async->hooks)
		return;
	switch_off(async);
	file_poll(file, &async->table);
}

static struct async *async_of(struct file *file)
{
	if (!file->async) {
		file->async = kzalloc(sizeof(*file->async));
		if (file->async)
			file->async->file = file;
	}
	return file->async;
}

int async_switch(struct file *file, int fd, bool on)
{
	struct async *async = on ? async_of(file) : file->async;

	if (!async)
		return on ? -ENOMEM : 0;
	switch_off(async);
	async->fd = fd;
	async->table.add = add_queue;
	if (on)
		file_poll(file, &async->table);
	return 0;
}

int async_set_owner(struct file *file, const struct async_owner *owner)
{
	u64 start_ns = owner->id ? owner_start(owner) : 0;
	struct async *async;

	if (owner->id && !start_ns)
		return -ESRCH;
	async = async_of(file);
	if (!async)
		return -ENOMEM;
	async->owner = *owner;
	async->owner_start_ns = start_ns;
	async->uid = current->cred.uid;
	async->euid = current->cred.euid;
	return 0;
}

struct async_owner async_owner(const struct file *file)
{
	struct async_owner owner = { .type = ASYNC_THREAD, .id = 0 };

	if (file->async) {
		owner = file->async->owner;
		if (!has_owner(file->async))
			owner.id = 0;
	}
	return owner;
}

int async_set_signal(struct file *file, int fd, u32 sig)
{
	struct async *async;

	if (sig > NSIG)
		return -EINVAL;
	async = async_of(file);
	if (!async)
		return -ENOMEM;
	async->signal = (int)sig;
	async->fd = fd;
	return 0;
}

int async_signal(const struct file *file)
{
	return file->async ? file->async->signal : 0;
}

void async_forget(struct file *file)
{
	switch_off(file->async);
	kfree(file->async);
	file->async = NULL;     /* other tasks run before the file ends, and may send it urgent data */
}
