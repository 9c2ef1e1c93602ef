/* poll and ppoll. */
#include "readiness.h"

#include <abi/poll.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <signal.h>
#include <syscall.h>
#include <time.h>
#include <uaccess.h>
#include <window.h>

#include "timeout.h"

#define INLINE_COUNT 16u

/* Descriptors and entries: on the stack if they are few. */
struct request {
	struct pollfd *fds;
	struct poll_entry *entries;
	struct pollfd few_fds[INLINE_COUNT];
	struct poll_entry few_entries[INLINE_COUNT];
};

static int load_request(struct request *r, const struct pollfd *user, u32 count)
{
	r->fds = r->few_fds;
	r->entries = r->few_entries;
	if (count > INLINE_COUNT) {
		r->fds = kmalloc(count * sizeof(*r->fds));
		r->entries = kmalloc(count * sizeof(*r->entries));
		if (!r->fds || !r->entries)
			return -ENOMEM;
	}
	return copy_from_user_long(r->fds, user, count * sizeof(*r->fds));
}

static void poll_release(struct request *r)
{
	if (r->fds != r->few_fds)
		kfree(r->fds);
	if (r->entries != r->few_entries)
		kfree(r->entries);
}

static long do_poll(struct pollfd *user, u32 count, u64 deadline)
{
	struct request r;
	long result;

	if (count > rlimit(RLIMIT_NOFILE))
		return -EINVAL;
	result = load_request(&r, user, count);
	if (result) {
		poll_release(&r);
		return result;
	}
	for (u32 i = 0; i < count; i++) {
		struct poll_entry *entry = &r.entries[i];

		interrupt_window_at(i);
		entry->file = r.fds[i].fd < 0 ? NULL : fd_get(r.fds[i].fd);
		entry->events = r.fds[i].events;
		entry->ready = r.fds[i].fd >= 0 && !entry->file ? POLLNVAL : 0;
	}
	result = poll_entries(r.entries, count, deadline);
	for (u32 i = 0; result >= 0 && i < count; i++) {
		interrupt_window_at(i);
		r.fds[i].revents = r.entries[i].ready;
	}
	poll_entries_put(r.entries, count);
	if (result >= 0 && copy_to_user_long(user, r.fds, count * sizeof(*r.fds)))
		result = -EFAULT;
	poll_release(&r);
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
	long result;

	if (mask) {
		result = signal_mask_swap(mask, size);
		if (result)
			return result;
	}
	result = do_poll(fds, count, timeout->deadline);
	if (mask)
		signal_mask_restore(result);
	timeout_store(timeout);
	return result;
}

long sys_ppoll(struct pollfd *fds, u32 count, struct timespec32 *timeout, const u32 *mask, size_t size)
{
	struct timeout t;
	long result = timeout_load(&t, timeout, TIMESPEC32);

	return result ? result : poll_masked(fds, count, &t, mask, size);
}

long sys_ppoll_time64(struct pollfd *fds, u32 count, struct timespec64 *timeout, const u32 *mask, size_t size)
{
	struct timeout t;
	long result = timeout_load(&t, timeout, TIMESPEC64);

	return result ? result : poll_masked(fds, count, &t, mask, size);
}
