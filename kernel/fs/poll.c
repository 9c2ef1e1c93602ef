/* poll and ppoll. */
#include <abi/poll.h>
#include <lib.h>
#include <process.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <timeout.h>
#include <uaccess.h>
#include <window.h>

#include "readiness.h"

#define INLINE_COUNT 16u

/* Asks every file for its state. No other task runs meanwhile, so that the files need no references. */
static long fds_ask(struct pollfd *fds, u32 count)
{
	const struct files *files = current->files;
	long ready = 0;

	for_each_window(i, 0, i < count) {
		struct pollfd *asked = &fds[i];
		u32 found = 0;

		if (asked->fd >= 0) {
			struct file *file = fd_borrow(files, asked->fd);

			found = file ? file_poll(file, NULL) & (asked->events | POLLERR | POLLHUP) : POLLNVAL;
		}
		asked->revents = (s16)found;
		ready += found != 0;
	}
	return ready;
}

/* Nothing is ready: waits. The files get references, because others may close them meanwhile. */
NOINLINE static long fds_wait(struct pollfd *fds, u32 count, u64 deadline)
{
	struct poll_entry few[INLINE_COUNT], *entries = few;
	long result;

	if (count > INLINE_COUNT) {
		entries = call_alloc(count * sizeof(*entries));
		if (!entries)
			return -ENOMEM;
	}
	for_each_window(i, 0, i < count) {
		struct poll_entry *entry = &entries[i];

		entry->file = fds[i].fd < 0 ? NULL : fd_get(fds[i].fd);
		entry->events = (u16)fds[i].events;
		entry->ready = 0;
	}
	result = poll_entries(entries, count, deadline);
	for_each_window(i, 0, result >= 0 && i < count) {
		fds[i].revents = (s16)entries[i].ready;
	}
	poll_entries_put(entries, count);
	if (entries != few)
		call_free(entries, count * sizeof(*entries));
	return result;
}

static long do_poll(struct pollfd *user, u32 count, u64 deadline)
{
	struct pollfd few[INLINE_COUNT], *fds = few;
	long result;

	if (count > rlimit(RLIMIT_NOFILE))
		return -EINVAL;
	if (count > INLINE_COUNT) {
		fds = call_alloc(count * sizeof(*fds));
		if (!fds)
			return -ENOMEM;
	}
	result = copy_from_user_long(fds, user, count * sizeof(*fds));
	if (!result)
		result = fds_ask(fds, count);
	if (!result)
		result = deadline ? fds_wait(fds, count, deadline) : poll_interrupted();
	if (result >= 0 && copy_to_user_long(user, fds, count * sizeof(*fds)))
		result = -EFAULT;
	if (fds != few)
		call_free(fds, count * sizeof(*fds));
	return result;
}

long sys_poll(struct pollfd *fds, u32 count, int timeout_ms)
{
	u64 deadline = TIME_NEVER;

	if (timeout_ms >= 0)
		deadline = poll_deadline((u64)timeout_ms * NSEC_PER_MSEC);
	return do_poll(fds, count, deadline);
}

static long poll_masked(struct pollfd *fds, u32 count, struct timeout *timeout, const u32 *mask, size_t size)
{
	long result = signal_mask_swap(mask, size);

	if (result)
		return result;
	result = do_poll(fds, count, timeout->deadline);
	signal_mask_restore(result);
	timeout_store(timeout);
	return result;
}

long sys_ppoll_by(struct pollfd *fds, u32 count, void *timeout, const u32 *mask, size_t size, bool time64)
{
	struct timeout t;
	long result = timeout_load(&t, timeout, time64 ? TIMESPEC64 : TIMESPEC32);

	return result ? result : poll_masked(fds, count, &t, mask, size);
}
