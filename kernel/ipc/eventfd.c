/* eventfd: a 64-bit counter that can be waited for. */
#include <abi/poll.h>
#include <anon.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <syscall.h>
#include <wait.h>

#define COUNT_MAX 0xfffffffffffffffeull

struct eventfd {
	u64 count;
	bool semaphore;         /* a read takes one, not all */
	struct waitq readable, writable;
};

static long eventfd_read(struct file *file, struct iter *it, u64 *position)
{
	struct eventfd *eventfd = file->data;
	u64 value;
	long n;

	(void)position;
	if (it->left < sizeof(value))
		return -EINVAL;
	while (!eventfd->count) {
		n = file_wait_event(file, &eventfd->readable, eventfd->count);
		if (n)
			return n;
	}
	value = eventfd->semaphore ? 1 : eventfd->count;
	/* Subtract before the copy, which may sleep while other tasks read. */
	eventfd->count -= value;
	n = iter_write(it, &value, sizeof(value));
	if (n != (long)sizeof(value)) {
		eventfd->count += MIN(value, COUNT_MAX - eventfd->count);
		wake_up(&eventfd->readable);
		return -EFAULT;
	}
	wake_up(&eventfd->writable);
	return n;
}

static long eventfd_write(struct file *file, struct iter *it, u64 *position)
{
	struct eventfd *eventfd = file->data;
	u64 value;
	long n;

	(void)position;
	if (it->left < sizeof(value))
		return -EINVAL;
	if (iter_read(it, &value, sizeof(value)) != (long)sizeof(value))
		return -EFAULT;
	if (value == ~0ull)
		return -EINVAL;
	while (value > COUNT_MAX - eventfd->count) {
		n = file_wait_event(file, &eventfd->writable, value <= COUNT_MAX - eventfd->count);
		if (n)
			return n;
	}
	eventfd->count += value;
	wake_up(&eventfd->readable);
	return sizeof(value);
}

static unsigned eventfd_poll(struct file *file, struct poll_table *table)
{
	struct eventfd *eventfd = file->data;

	poll_wait(table, &eventfd->readable);
	poll_wait(table, &eventfd->writable);
	return (eventfd->count ? POLLIN : 0) | (eventfd->count < COUNT_MAX ? POLLOUT : 0);
}

static void eventfd_release(struct file *file)
{
	kfree(file->data);
}

static const struct file_ops eventfd_ops = {
	.read = eventfd_read, .write = eventfd_write, .poll = eventfd_poll, .release = eventfd_release,
};

long sys_eventfd2(u32 value, u32 flags)
{
	struct eventfd *eventfd;

	if (flags & ~(u32)(EFD_SEMAPHORE | O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	eventfd = kzalloc(sizeof(*eventfd));
	if (!eventfd)
		return -ENOMEM;
	eventfd->count = value;
	eventfd->semaphore = flags & EFD_SEMAPHORE;
	waitq_init(&eventfd->readable);
	waitq_init(&eventfd->writable);
	return fd_anonymous("eventfd", O_RDWR | (flags & (O_NONBLOCK | O_CLOEXEC)), &eventfd_ops, eventfd);
}
