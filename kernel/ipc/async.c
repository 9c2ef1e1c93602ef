/*
 * Signals for readiness (O_ASYNC, F_SETOWN, F_SETSIG): a file that is waited for by a signal's receiver. It stands in
 * the wait queues that the file's poll operation names, as an epoll does.
 */
#include <async.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <poll.h>
#include <process.h>
#include <signal.h>
#include <task.h>

#define QUEUES_MAX 3u	/* wait queues that one file's poll operation names */

struct hook {
	struct waiter waiter;
	struct async *async;
};

struct async {
	struct file *file;	/* that holds it */
	int fd;			/* by which it was switched on, for si_fd */
	int signal;		/* 0: SIGIO, without a story */
	struct async_owner owner;
	u32 uid, euid;		/* of who named the owner */
	struct poll_table table;
	struct hook hook[QUEUES_MAX];
	u32 hooks;
};

static bool may_signal(const struct async *a, const struct process *to)
{
	const struct credentials *theirs = &to->leader->cred;

	return a->euid == 0 || a->euid == theirs->suid || a->euid == theirs->uid || a->uid == theirs->suid ||
	       a->uid == theirs->uid;
}

static void async_send(const struct async *a, int sig, const struct siginfo *info)
{
	struct process *process;
	struct task *task;

	switch (a->owner.type) {
	case ASYNC_THREAD:
		task = task_find(a->owner.id);
		if (task && may_signal(a, task->process))
			signal_task(task, sig, info);
		return;
	case ASYNC_PROCESS:
		process = process_find(a->owner.id);
		if (process && may_signal(a, process))
			signal_process(process, sig, info);
		return;
	case ASYNC_GROUP:
		list_for_each_entry(process, &process_list, all)
			if (process->pgid == a->owner.id && !process->zombie && may_signal(a, process))
				signal_process(process, sig, info);
	}
}

static void async_wake(struct waiter *waiter)
{
	const struct async *a = container_of(waiter, struct hook, waiter)->async;
	u32 ready = file_poll(a->file, NULL);
	struct siginfo info = { .poll = { .band = (s32)ready, .fd = a->fd } };

	if (!ready || !a->owner.id)
		return;
	info.code = ready & POLLHUP ? POLL_HUP : ready & POLLERR ? POLL_ERR : ready & POLLIN ? POLL_IN : POLL_OUT;
	async_send(a, a->signal ? a->signal : SIGIO, a->signal ? &info : NULL);
}

void async_urgent(const struct file *f)
{
	if (f->async && f->async->owner.id)
		async_send(f->async, SIGURG, NULL);
}

static void add_queue(struct poll_table *table, struct waitq *queue)
{
	struct async *a = container_of(table, struct async, table);
	struct hook *h;

	if (a->hooks == QUEUES_MAX)
		return;
	h = &a->hook[a->hooks++];
	waiter_init(&h->waiter);
	h->waiter.wake = async_wake;
	h->async = a;
	waitq_add(queue, &h->waiter);
}

static void switch_off(struct async *a)
{
	while (a->hooks)
		waitq_remove(&a->hook[--a->hooks].waiter);
}

static struct async *async_of(struct file *f)
{
	if (!f->async) {
		f->async = kzalloc(sizeof *f->async);
		if (f->async)
			f->async->file = f;
	}
	return f->async;
}

int async_switch(struct file *f, int fd, bool on)
{
	struct async *a = on ? async_of(f) : f->async;

	if (!a)
		return on ? -ENOMEM : 0;
	switch_off(a);
	a->fd = fd;
	a->table.add = add_queue;
	if (on)
		file_poll(f, &a->table);
	return 0;
}

int async_set_owner(struct file *f, const struct async_owner *owner)
{
	struct async *a;

	if (owner->id) {
		if (owner->type == ASYNC_THREAD && !task_find(owner->id))
			return -ESRCH;
		if (owner->type == ASYNC_PROCESS && !process_find(owner->id))
			return -ESRCH;
	}
	a = async_of(f);
	if (!a)
		return -ENOMEM;
	a->owner = *owner;
	a->uid = current->cred.uid;
	a->euid = current->cred.euid;
	return 0;
}

struct async_owner async_owner(const struct file *f)
{
	return f->async ? f->async->owner : (struct async_owner){ .type = ASYNC_THREAD, .id = 0 };
}

int async_set_signal(struct file *f, int fd, u32 sig)
{
	struct async *a;

	if (sig > NSIG)
		return -EINVAL;
	a = async_of(f);
	if (!a)
		return -ENOMEM;
	a->signal = (int)sig;
	a->fd = fd;
	return 0;
}

int async_signal(const struct file *f)
{
	return f->async ? f->async->signal : 0;
}

void async_forget(struct file *f)
{
	switch_off(f->async);
	kfree(f->async);
}
