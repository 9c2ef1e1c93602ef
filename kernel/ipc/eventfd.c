/* eventfd: a 64-bit counter that can be waited for. */
#include <abi/poll.h>
#include <anon.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <signal.h>
#include <syscall.h>
#include <wait.h>

#define COUNT_MAX 0xfffffffffffffffeull

struct eventfd {
	u64 count;
	bool semaphore;		/* a read takes one, not all */
	struct waitq readable, writable;
};

static long eventfd_read(struct file *f, struct iter *it, u64 *position)
{
	struct eventfd *e = f->data;
	u64 value;
	long n;

	(void)position;
	if (it->left < sizeof value)
		return -EINVAL;
	while (!e->count) {
		n = file_wait_event(f, &e->readable, e->count);
		if (n)
			return n;
	}
	value = e->semaphore ? 1 : e->count;
	/* The copy may sleep: nobody else takes the same count meanwhile. */
	e->count -= value;
	n = iter_write(it, &value, sizeof value);
	if (n != (long)sizeof value) {
		e->count += MIN(value, COUNT_MAX - e->count);
		wake_up(&e->readable);
		return -EFAULT;
	}
	wake_up(&e->writable);
	return n;
}

static long eventfd_write(struct file *f, struct iter *it, u64 *position)
{
	struct eventfd *e = f->data;
	u64 value;
	long n;

	(void)position;
	if (it->left < sizeof value)
		return -EINVAL;
	if (iter_read(it, &value, sizeof value) != (long)sizeof value)
		return -EFAULT;
	if (value == ~0ull)
		return -EINVAL;
	while (value > COUNT_MAX - e->count) {
		n = file_wait_event(f, &e->writable, value <= COUNT_MAX - e->count);
		if (n)
			return n;
	}
	e->count += value;
	wake_up(&e->readable);
	return sizeof value;
}

static unsigned eventfd_poll(struct file *f, struct poll_table *table)
{
	struct eventfd *e = f->data;

	poll_wait(table, &e->readable);
	poll_wait(table, &e->writable);
	return (e->count ? POLLIN | POLLRDNORM : 0) | (e->count < COUNT_MAX ? POLLOUT | POLLWRNORM : 0);
}

static void eventfd_release(struct file *f)
{
	kfree(f->data);
}

static const struct file_ops eventfd_ops = {
	.read = eventfd_read, .write = eventfd_write, .poll = eventfd_poll, .release = eventfd_release,
};

long sys_eventfd2(u32 value, u32 flags)
{
	struct eventfd *e;

	if (flags & ~(u32)(EFD_SEMAPHORE | O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	e = kzalloc(sizeof *e);
	if (!e)
		return -ENOMEM;
	e->count = value;
	e->semaphore = flags & EFD_SEMAPHORE;
	waitq_init(&e->readable);
	waitq_init(&e->writable);
	return fd_anonymous("eventfd", O_RDWR | (flags & (O_NONBLOCK | O_CLOEXEC)), &eventfd_ops, e);
}

long sys_eventfd(u32 value)
{
	return sys_eventfd2(value, 0);
}
