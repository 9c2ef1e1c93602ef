/* select and pselect6: three sets of bits. Each descriptor in any of them is one entry of a poll. */
#include "readiness.h"

#include <abi/poll.h>
#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#include "timeout.h"

#define IN_SET (POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR)
#define OUT_SET (POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR)
#define EXCEPT_SET POLLPRI

enum { READ, WRITE, EXCEPT, SETS };
static const u16 set_events[SETS] = { IN_SET, OUT_SET, EXCEPT_SET };

struct sets {
	u32 words;		/* of each set */
	u32 *in[SETS];		/* NULL: not given */
	u32 *storage;
};

static int load_sets(struct sets *sets, u32 count, u32 *const user[SETS])
{
	sets->words = (count + 31) / 32;
	for (int k = 0; k < SETS; k++)
		sets->in[k] = NULL;
	sets->storage = NULL;
	if (!sets->words)
		return 0;
	sets->storage = kmalloc(SETS * sets->words * sizeof(u32));
	if (!sets->storage)
		return -ENOMEM;
	for (int k = 0; k < SETS; k++) {
		if (!user[k])
			continue;
		sets->in[k] = sets->storage + (u32)k * sets->words;
		if (copy_from_user(sets->in[k], user[k], sets->words * sizeof(u32)))
			return -EFAULT;
	}
	return 0;
}

static bool set_has(const struct sets *sets, int k, u32 fd)
{
	return sets->in[k] && sets->in[k][fd / 32] >> (fd % 32) & 1;
}

static u16 select_wanted(const struct sets *sets, u32 fd)
{
	u16 events = 0;

	for (int k = 0; k < SETS; k++)
		if (set_has(sets, k, fd))
			events |= set_events[k];
	return events;
}

/* Fills the entries; -EBADF for a descriptor that is not open. */
static long select_collect(const struct sets *sets, u32 count, struct poll_entry *entry, u32 *filled)
{
	for (u32 fd = 0; fd < count; fd++) {
		u16 events;

		if (fd % 32 == 0 &&
		    !((sets->in[READ] ? sets->in[READ][fd / 32] : 0) | (sets->in[WRITE] ? sets->in[WRITE][fd / 32] :
									0) |
				      (sets->in[EXCEPT] ? sets->in[EXCEPT][fd / 32] : 0))) {
			fd += 31;
			continue;
		}
		events = select_wanted(sets, fd);
		if (!events)
			continue;
		entry[*filled].file = fd_get((int)fd);
		if (!entry[*filled].file)
			return -EBADF;
		entry[*filled].events = events;
		entry[*filled].ready = 0;
		++*filled;
	}
	return 0;
}

/* Writes the ready descriptors to the sets; returns the number of bits set. */
static long sets_store_ready(struct sets *sets, u32 count, const struct poll_entry *entry)
{
	long bits = 0;

	for (u32 fd = 0; fd < count; fd++) {
		u16 ready;

		if (!select_wanted(sets, fd))
			continue;
		ready = (entry++)->ready;
		for (int k = 0; k < SETS; k++) {
			if (!set_has(sets, k, fd))
				continue;
			if (ready & set_events[k])
				bits++;
			else
				sets->in[k][fd / 32] &= ~(1u << (fd % 32));
		}
	}
	return bits;
}

static u32 count_bits(const struct sets *sets)
{
	u32 n = 0;

	for (u32 i = 0; i < sets->words; i++) {
		u32 any = 0;

		for (int k = 0; k < SETS; k++)
			any |= sets->in[k] ? sets->in[k][i] : 0;
		n += (u32)__builtin_popcount(any);
	}
	return n;
}

/* Clears the bits from `count` on. */
static void sets_trim(struct sets *sets, u32 count)
{
	if (count % 32 == 0)
		return;
	for (int k = 0; k < SETS; k++)
		if (sets->in[k])
			sets->in[k][sets->words - 1] &= (1u << (count % 32)) - 1;
}

static long do_select(int n, u32 *const user[SETS], u64 deadline)
{
	struct poll_entry *entry = NULL;
	struct sets s;
	u32 filled = 0, count = (u32)n;
	long result;

	if (n < 0)
		return -EINVAL;
	/* Descriptors beyond the table are not open. Check them only as far as an fd_set reaches. */
	count = MIN(count, MAX(current->files->size, FD_SETSIZE));
	result = load_sets(&s, count, user);
	if (!result) {
		u32 bits;

		sets_trim(&s, count);
		bits = count_bits(&s);
		entry = bits ? kmalloc(bits * sizeof(*entry)) : NULL;
		if (bits && !entry)
			result = -ENOMEM;
	}
	if (!result)
		result = select_collect(&s, count, entry, &filled);
	if (!result)
		result = poll_entries(entry, filled, deadline);
	if (result >= 0) {
		result = sets_store_ready(&s, count, entry);
		for (int k = 0; k < SETS && s.words; k++)
			if (user[k] && copy_to_user(user[k], s.in[k], s.words * sizeof(u32)))
				result = -EFAULT;
	}
	poll_entries_put(entry, filled);
	kfree(entry);
	kfree(s.storage);
	return result;
}

long sys__newselect(int n, u32 *read, u32 *write, u32 *except, struct timeval32 *timeout)
{
	u32 *const user[SETS] = { read, write, except };
	struct timeout t;
	long result = timeout_load(&t, timeout, TIMEVAL32);

	if (result)
		return result;
	result = do_select(n, user, t.deadline);
	timeout_store(&t);
	return result;
}

#define SELECT_BLOCK 4096u	/* a first argument from here on is an address */

/* The older call. A first argument that is too large for a count is the address of all five arguments. */
long sys_select(int n, u32 *read, u32 *write, u32 *except, struct timeval32 *timeout)
{
	u32 a[5];

	if ((u32)n >= SELECT_BLOCK) {
		if (copy_from_user(a, (const void *)n, sizeof(a)))
			return -EFAULT;
		return sys__newselect((int)a[0], (u32 *)a[1], (u32 *)a[2], (u32 *)a[3], (struct timeval32 *)a[4]);
	}
	return sys__newselect(n, read, write, except, timeout);
}

/* The sixth argument points to the mask's address and size. */
static long select_masked(int n, u32 *const user[SETS], struct timeout *timeout, const u32 *mask)
{
	u32 pair[2] = { 0, 0 };
	long result;

	if (mask && copy_from_user(pair, mask, sizeof(pair)))
		return -EFAULT;
	if (pair[0]) {
		result = signal_mask_swap((const u32 *)pair[0], pair[1]);
		if (result)
			return result;
	}
	result = do_select(n, user, timeout->deadline);
	if (pair[0])
		signal_mask_restore(result);
	timeout_store(timeout);
	return result;
}

long sys_pselect6(int n, u32 *read, u32 *write, u32 *except, struct timespec32 *timeout, const u32 *mask)
{
	u32 *const user[SETS] = { read, write, except };
	struct timeout t;
	long result = timeout_load(&t, timeout, TIMESPEC32);

	return result ? result : select_masked(n, user, &t, mask);
}

long sys_pselect6_time64(int n, u32 *read, u32 *write, u32 *except, struct timespec64 *timeout, const u32 *mask)
{
	u32 *const user[SETS] = { read, write, except };
	struct timeout t;
	long result = timeout_load(&t, timeout, TIMESPEC64);

	return result ? result : select_masked(n, user, &t, mask);
}
