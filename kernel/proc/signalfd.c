/* signalfd: reading signals from a descriptor. Each reader gets its own signals. */
#include <abi/signal.h>
#include <anon.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <poll.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <text.h>
#include <wait.h>

#include "../task/internal.h"

#define UNBLOCKABLE (SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))

struct signalfd {
	sigset mask;
};

static bool signalfd_waiting(const struct signalfd *signalfd)
{
	return signal_all_pending(current) & signalfd->mask;
}

static struct signalfd_siginfo signalfd_describe(const struct siginfo *info)
{
	struct signalfd_siginfo out = { .signo = (u32)info->signo, .err = info->err, .code = info->code };

	switch (info->signo) {
	case SIGCHLD:
		out.pid = (u32)info->child.pid;
		out.uid = info->child.uid;
		out.status = info->child.status;
		out.utime = (u64)(s64)info->child.utime;
		out.stime = (u64)(s64)info->child.stime;
		return out;
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
		out.address = info->fault.addr;
		return out;
	}
	if (info->code == SI_TIMER) {
		out.tid = (u32)info->timer.id;
		out.overrun = (u32)info->timer.overrun;
		out.value = (s32)info->timer.value;
		out.pointer = info->timer.value;
	} else if (info->signo == SIGIO && info->code > SI_USER && info->code != SI_KERNEL) {
		out.band = (u32)info->poll.band;
		out.fd = info->poll.fd;
	} else {
		out.pid = (u32)info->kill.pid;
		out.uid = info->kill.uid;
		out.value = (s32)info->kill.value;
		out.pointer = info->kill.value;
	}
	return out;
}

/* Reads as many signals as are pending and fit; waits for the first. */
static long signalfd_read(struct file *file, struct iter *it, u64 *position)
{
	const struct signalfd *signalfd = file->data;
	struct signalfd_siginfo out;
	struct siginfo info;
	long done = 0, error;

	(void)position;
	if (it->left < sizeof(out))
		return -EINVAL;
	while (it->left >= sizeof(out)) {
		struct iter place = *it;

		if (done && !signalfd_waiting(signalfd))
			break;
		error = done ? 0 : file_wait_event(file, &current->sighand->arrived, signalfd_waiting(signalfd));
		if (error)
			return error;
		/*
		 * Touch the memory first, because a signal cannot be put back. This may sleep while others take
		 * signals.
		 */
		if (iter_zero(&place, sizeof(out)) != (long)sizeof(out))
			return done ? done : -EFAULT;
		if (!signal_dequeue(signalfd->mask, &info))
			continue;
		out = signalfd_describe(&info);
		if (iter_write(it, &out, sizeof(out)) != (long)sizeof(out))
			return done ? done : -EFAULT;
		done += (long)sizeof(out);
	}
	return done;
}

static unsigned signalfd_poll(struct file *file, struct poll_table *table)
{
	poll_wait(table, &current->sighand->arrived);
	return signalfd_waiting(file->data) ? POLLIN : 0;
}

static void signalfd_release(struct file *file)
{
	kfree(file->data);
}

static void signalfd_show(const struct file *file, struct text *out)
{
	const struct signalfd *signalfd = file->data;

	text_printf(out, "sigmask:\t%016llx\n", signalfd->mask);
}

static const struct file_ops signalfd_ops = {
	.read = signalfd_read, .poll = signalfd_poll, .release = signalfd_release, .show = signalfd_show,
};

/* Changes the mask of an existing signalfd. */
static long signalfd_change_mask(int fd, sigset mask)
{
	struct file *file = fd_get_of(fd, &signalfd_ops, -EINVAL);
	struct signalfd *signalfd;

	if (IS_ERR(file))
		return PTR_ERR(file);
	signalfd = file->data;
	signalfd->mask = mask;
	wake_up(&current->sighand->arrived);
	file_put(file);
	return fd;
}

long sys_signalfd4(int fd, const u32 *user, size_t size, u32 flags)
{
	struct signalfd *signalfd;
	sigset mask;

	if (flags & ~(u32)(O_NONBLOCK | O_CLOEXEC) || size != sizeof(sigset))
		return -EINVAL;
	if (sigset_from_user(&mask, user))
		return -EFAULT;
	mask &= ~UNBLOCKABLE;
	if (fd != -1)
		return signalfd_change_mask(fd, mask);
	signalfd = kmalloc(sizeof(*signalfd));
	if (!signalfd)
		return -ENOMEM;
	signalfd->mask = mask;
	return fd_anonymous("signalfd", O_RDWR | flags, &signalfd_ops, signalfd);
}
