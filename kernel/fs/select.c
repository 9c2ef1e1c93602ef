/* select and pselect6: three sets of bits. Who has to wait does so as poll does: one entry for each descriptor. */
#include <abi/poll.h>
#include <arch.h>
#include <lib.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <timeout.h>
#include <uaccess.h>
#include <window.h>

#include "readiness.h"

#define IN_SET (POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR)
#define OUT_SET (POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR)
#define EXCEPT_SET POLLPRI

enum { READ, WRITE, EXCEPT, SETS };
static const u16 set_events[SETS] = { IN_SET, OUT_SET, EXCEPT_SET };

#define FEW_WORDS 8u    /* sets of so many words need no allocation */

/* What the caller asks, and what is ready. A set that was not given is empty. */
struct sets {
	u32 words;              /* of each set */
	u32 *asked[SETS], *ready[SETS];
	u32 *storage;
	u32 few[2 * SETS * FEW_WORDS];
};

/* Copies the sets, without the bits from `count` on. */
static int load_sets(struct sets *sets, u32 count, u32 *const user[SETS])
{
	u32 *next = sets->few;

	sets->words = (count + 31) / 32;
	sets->storage = NULL;
	if (sets->words > FEW_WORDS) {
		next = sets->storage = call_alloc(2 * SETS * sets->words * sizeof(u32));
		if (!next)
			return -ENOMEM;
	}
	for (int k = 0; k < SETS; k++) {
		sets->asked[k] = next;
		sets->ready[k] = next + sets->words;
		next += 2 * sets->words;
		if (!user[k])
			memset(sets->asked[k], 0, sets->words * sizeof(u32));
		else if (copy_from_user(sets->asked[k], user[k], sets->words * sizeof(u32)))
			return -EFAULT;
		if (count % 32)
			sets->asked[k][sets->words - 1] &= (1u << (count % 32)) - 1;
	}
	return 0;
}

static int store_ready(const struct sets *sets, u32 *const user[SETS])
{
	for (int k = 0; k < SETS; k++)
		if (user[k] && copy_to_user(user[k], sets->ready[k], sets->words * sizeof(u32)))
			return -EFAULT;
	return 0;
}

static u32 bits_set(u32 word)
{
	return word ? (u32)__builtin_popcount(word) : 0;
}

/* The descriptors of word w in any of the sets. */
static u32 asked_in_any(const struct sets *s, u32 w)
{
	return s->asked[READ][w] | s->asked[WRITE][w] | s->asked[EXCEPT][w];
}

/*
 * Asks every file and fills s->ready. Returns the number of bits set there, or -EBADF for a descriptor that is not
 * open. No other task runs meanwhile, so that the files need no references.
 */
static long sets_ask(const struct sets *s)
{
	const struct files *files = current->files;
	u32 bits = 0;

	for_each_piece_long(w, s->words, 1) {
		u32 left = asked_in_any(s, w), in = 0, out = 0, except = 0;
		struct file *const *last = files->slot + w * 32 + 31;

		if (left && w * 32 >= files->size)
			return -EBADF;
		while (left) {
			u32 leading = (u32)__builtin_clz(left);
			u32 bit = 0x80000000u >> leading, ready;
			struct file *file = last[-(int)leading];

			if (!file)
				return -EBADF;
			ready = file_poll(file, NULL);
			left &= ~bit;
			if (ready & IN_SET)
				in |= bit;
			if (ready & OUT_SET)
				out |= bit;
			if (ready & EXCEPT_SET)
				except |= bit;
		}
		bits += bits_set(s->ready[READ][w] = in & s->asked[READ][w]);
		bits += bits_set(s->ready[WRITE][w] = out & s->asked[WRITE][w]);
		bits += bits_set(s->ready[EXCEPT][w] = except & s->asked[EXCEPT][w]);
	}
	return (long)bits;
}

static u16 select_wanted(const struct sets *sets, u32 fd)
{
	u16 events = 0;

	for (int k = 0; k < SETS; k++)
		if (sets->asked[k][fd / 32] >> (fd % 32) & 1)
			events |= set_events[k];
	return events;
}

/* Fills the entries; -EBADF for a descriptor that is not open. */
static long select_collect(const struct sets *sets, struct poll_entry *entry, u32 *filled)
{
	for_each_piece_long(w, sets->words, 1) {
		for (u32 left = asked_in_any(sets, w); left; left &= left - 1) {
			u32 fd = w * 32 + (u32)__builtin_ctz(left);

			entry[*filled].file = fd_get((int)fd);
			if (!entry[*filled].file)
				return -EBADF;
			entry[*filled].events = select_wanted(sets, fd);
			entry[*filled].ready = 0;
			++*filled;
		}
	}
	return 0;
}

/* Fills s->ready from the entries, which are in the order of the descriptors; returns the number of bits set. */
static long select_spread(const struct sets *s, const struct poll_entry *entry)
{
	u32 bits = 0;

	for_each_piece_long(w, s->words, 1) {
		u32 ready[SETS] = { 0 };

		for (u32 left = asked_in_any(s, w); left; left &= left - 1, entry++)
			for (int k = 0; k < SETS; k++)
				if (entry->ready & set_events[k])
					ready[k] |= left & -left;
		for (int k = 0; k < SETS; k++)
			bits += bits_set(s->ready[k][w] = ready[k] & s->asked[k][w]);
	}
	return (long)bits;
}

/* Nothing is ready: waits. The files get references, because others may close them meanwhile. */
static long select_wait(const struct sets *s, u64 deadline)
{
	struct poll_entry *entry = NULL;
	u32 asked = 0, filled = 0;
	long result;

	for (u32 w = 0; w < s->words; w++)
		asked += bits_set(asked_in_any(s, w));
	if (asked) {
		entry = call_alloc(asked * sizeof(*entry));
		if (!entry)
			return -ENOMEM;
	}
	result = select_collect(s, entry, &filled);
	if (!result)
		result = poll_entries(entry, filled, deadline);
	if (result >= 0)
		result = select_spread(s, entry);
	poll_entries_put(entry, filled);
	call_free(entry, asked * sizeof(*entry));
	return result;
}

static long do_select(int n, u32 *const user[SETS], u64 deadline)
{
	struct sets s;
	u32 count = (u32)n;
	long result;

	if (n < 0)
		return -EINVAL;
	/* Descriptors beyond the table are not open. Check them only as far as an fd_set reaches. */
	count = MIN(count, MAX(current->files->size, FD_SETSIZE));
	result = load_sets(&s, count, user);
	if (!result)
		result = sets_ask(&s);
	if (!result)
		result = deadline ? select_wait(&s, deadline) : poll_interrupted();
	if (result >= 0 && store_ready(&s, user))
		result = -EFAULT;
	call_free(s.storage, 2 * SETS * s.words * sizeof(u32));
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

#define SELECT_BLOCK 4096u      /* a first argument from here on is an address */

/* The older call. A first argument that is too large for a count is the address of all five arguments. */
long sys_select(int n, u32 *read, u32 *write, u32 *except, struct timeval32 *timeout)
{
	u32 a[5];

	if ((u32)n >= SELECT_BLOCK) {
		if (copy_from_user(a, (const void *)(uaddr_t)(u32)n, sizeof(a)))
			return -EFAULT;
		return sys__newselect((int)a[0], (u32 *)(uaddr_t)a[1], (u32 *)(uaddr_t)a[2], (u32 *)(uaddr_t)a[3],
				      (struct timeval32 *)(uaddr_t)a[4]);
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
	result = signal_mask_swap((const u32 *)(uaddr_t)pair[0], pair[1]);
	if (result)
		return result;
	result = do_select(n, user, timeout->deadline);
	signal_mask_restore(result);
	timeout_store(timeout);
	return result;
}

long sys_pselect6_by(int n, u32 *read, u32 *write, u32 *except, void *timeout, const u32 *mask, bool time64)
{
	u32 *const user[SETS] = { read, write, except };
	struct timeout t;
	long result = timeout_load(&t, timeout, time64 ? TIMESPEC64 : TIMESPEC32);

	return result ? result : select_masked(n, user, &t, mask);
}
