/*
 * Condition variables of mutexes with priority inheritance. Who waits for the condition names the mutex; who signals it
 * takes the mutex for the first sleeper, or moves sleepers into the line of those that wait for the mutex.
 */
#include <abi/futex.h>
#include <errno.h>
#include <mm.h>
#include <sched.h>
#include <task.h>
#include <uaccess.h>
#include <wait.h>

#include "../task/internal.h"
#include "futex.h"

long futex_wait_requeue_pi(u32 *word, bool is_private, u32 expected, u64 deadline, u32 *word2)
{
	struct pi_waiter pi = { .word = word2, .task = current };
	struct sleeper sleeper = { .task = current, .bitset = FUTEX_ANY_BIT, .pi = &pi };
	struct mm *mm = current->mm;
	long result;
	u32 value;

	if (word == word2)
		return -EINVAL;
	result = mm_futex_key(mm, (uaddr_t)word2, is_private, FUTEX_WRITE, &pi.key);
	if (!result)
		result = mm_futex_key(mm, (uaddr_t)word, is_private, FUTEX_READ, &sleeper.key);
	if (result)
		return result;
	/* As in futex_wait(): only the first read may sleep. */
	if (get_user(value, word) || get_user(value, word))
		return -EFAULT;
	if (value != expected)
		return -EAGAIN;
	if (futex_key_same(&pi.key, &sleeper.key))
		return -EINVAL;
	sleeper_queue(&sleeper);
	while (!pi.owns && !result)
		result = sleep_interruptible(&pi.owns, deadline);
	if (pi.owns) {
		futex_pi_inherit(current);
		return 0;
	}
	if (pi.owner) {
		/* It waited for the mutex already. The word has changed, so that the call cannot begin again. */
		pi_leave(&pi);
		return result == -ETIMEDOUT ? result : -EAGAIN;
	}
	list_del(&sleeper.link);
	return result == -ETIMEDOUT ? result : -ERESTARTNOINTR;
}

/* Makes the page of a word present and writable, so that the next access does not sleep. */
static int word_ready(u32 *word)
{
	u32 value, seen;

	return get_user(value, word) || user_cmpxchg(word, value, value, &seen) ? -EFAULT : 0;
}

/* Moves up to `most` sleepers. The number moved, or a negative errno; -EBUSY: *done are moved, and it must go on. */
static long move_sleepers(const struct futex_key *key, const struct futex_key *key2, u32 *word2, u32 most, u32 *done)
{
	struct sleeper *sleeper;

	while (*done < most && (sleeper = first_sleeper(key))) {
		struct pi_waiter *pi = sleeper->pi;
		long result;

		if (!pi || !futex_key_same(&pi->key, key2))
			return -EINVAL;
		result = pi_begin(word2, pi, true);
		if (result < 0)
			return result;
		list_del(&sleeper->link);
		if (result == 0) {
			pi->owns = true;
			task_wake(pi->task);
		}
		++*done;
	}
	return (long)*done;
}

long futex_requeue_pi(u32 *word, bool is_private, u32 wake_count, u32 move_count, u32 *word2, u32 expected)
{
	struct mm *mm = current->mm;
	struct futex_key key, key2;
	u32 value, done = 0;
	long result, error = 0;

	/* More than one task cannot have the mutex. */
	if (wake_count != 1 || (s32)move_count < 0 || word == word2)
		return -EINVAL;
	result = mm_futex_key(mm, (uaddr_t)word, is_private, FUTEX_READ, &key);
	if (!result)
		result = mm_futex_key(mm, (uaddr_t)word2, is_private, FUTEX_WRITE, &key2);
	if (result)
		return result;
	if (futex_key_same(&key, &key2))
		return -EINVAL;
	do {
		if (get_user(value, word))
			return -EFAULT;
		if (value != expected)
			return -EAGAIN;
		if (word_ready(word2) || get_user(value, word))
			return -EFAULT;
		if (value != expected)
			return -EAGAIN;
		if (pi_waited_for(&key))
			return -EINVAL;
		result = move_sleepers(&key, &key2, word2, move_count + 1, &done);
	} while (result == -EBUSY && !(error = futex_word_changed()));
	return error ? error : result;
}
