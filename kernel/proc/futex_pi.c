/*
 * Futexes with priority inheritance: the word names the owner, who runs at the highest priority of those who wait for
 * it, and who unlocks hands over to the first of that priority.
 */
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <sched.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "internal.h"

struct pi_waiter {
	struct list_head link;
	struct futex_key key;
	u32 *word;
	struct task *task, *owner;
	bool owns;                      /* it was handed the mutex */
};

static struct list_head waiters = LIST_HEAD_INIT(waiters);      /* in order of arrival */

static struct pi_waiter *first_in_line(const struct futex_key *key)
{
	struct pi_waiter *waiter, *best = NULL;

	list_for_each_entry(waiter, &waiters, link) {
		if (futex_key_same(&waiter->key, key) &&
		    (!best || waiter->task->run_priority > best->task->run_priority))
			best = waiter;
	}
	return best;
}

/* Also whoever the task waits for, and so on; a circle of mutexes ends where nothing changes. */
void futex_pi_inherit(struct task *task)
{
	while (task) {
		u32 priority = task->rt_priority;
		struct pi_waiter *waiter;
		struct task *next = NULL;

		list_for_each_entry(waiter, &waiters, link) {
			if (waiter->owner == task)
				priority = MAX(priority, waiter->task->run_priority);
			if (waiter->task == task)
				next = waiter->owner;
		}
		if (priority == task->run_priority)
			return;
		task->run_priority = priority;
		sched_requeue(task);
		task = next;
	}
}

/* The mutex goes to the first in line: those who still wait do so for the new owner. */
static void hand_over(struct pi_waiter *to)
{
	struct pi_waiter *waiter;

	list_del(&to->link);
	to->owns = true;
	list_for_each_entry(waiter, &waiters, link) {
		if (futex_key_same(&waiter->key, &to->key))
			waiter->owner = to->task;
	}
	task_wake(to->task);
}

static u32 owned_by(const struct pi_waiter *waiter)
{
	struct pi_waiter *other;
	u32 flags = 0;

	list_for_each_entry(other, &waiters, link) {
		if (other != waiter && futex_key_same(&other->key, &waiter->key))
			flags = FUTEX_WAITERS;
	}
	return (u32)waiter->task->pid | flags;
}

/* Who owns the mutex, while it may still unlock it or hand it over. */
static struct task *owner_of(u32 value)
{
	struct task *task = task_find((s32)(value & FUTEX_TID_MASK));

	return task && task->state != TASK_DEAD && task->mm && !task->left_futexes ? task : NULL;
}

/* Takes a free mutex (0), or finds its owner and tells it by the word that somebody waits (1). */
static long pi_take(u32 *word, const struct futex_key *key, bool wait, struct task **owner)
{
	u32 value, wanted, seen;

	do {
		if (get_user(value, word))
			return -EFAULT;
		if ((value & FUTEX_TID_MASK) == (u32)current->pid)
			return -EDEADLK;
		if (!(value & FUTEX_TID_MASK)) {
			wanted = (u32)current->pid | (value & FUTEX_OWNER_DIED) |
				 (first_in_line(key) ? FUTEX_WAITERS : 0);
		} else {
			if (!owner_of(value))
				return -ESRCH;
			if (!wait)
				return -EAGAIN;
			wanted = value | FUTEX_WAITERS;
		}
		if (user_cmpxchg(word, value, wanted, &seen))
			return -EFAULT;
	} while (seen != value);
	if (!(value & FUTEX_TID_MASK))
		return 0;
	/* Writing may have slept, and the owner have ended meanwhile. */
	*owner = owner_of(value);
	return *owner ? 1 : -ESRCH;
}

long futex_pi_lock(u32 *word, bool is_private, bool wait, u64 deadline)
{
	struct pi_waiter waiter = { .word = word, .task = current };
	long result = mm_futex_key(current->mm, (uaddr_t)word, is_private, &waiter.key);

	if (!result)
		result = pi_take(word, &waiter.key, wait, &waiter.owner);
	if (result != 1)
		return result;
	list_add_tail(&waiter.link, &waiters);
	futex_pi_inherit(waiter.owner);
	result = 0;
	while (!waiter.owns && !result)
		result = sleep_interruptible(&waiter.owns, deadline);
	if (waiter.owns) {
		futex_pi_inherit(current);
		return 0;
	}
	list_del(&waiter.link);
	futex_pi_inherit(waiter.owner);
	return result == -ERESTARTSYS ? -ERESTARTNOINTR : result;
}

long futex_pi_unlock(u32 *word, bool is_private)
{
	struct pi_waiter *next;
	struct futex_key key;
	u32 value, seen;
	long error = mm_futex_key(current->mm, (uaddr_t)word, is_private, &key);

	if (error)
		return error;
	do {
		if (get_user(value, word))
			return -EFAULT;
		if ((value & FUTEX_TID_MASK) != (u32)current->pid)
			return -EPERM;
		next = first_in_line(&key);
		if (user_cmpxchg(word, value, next ? owned_by(next) : 0, &seen))
			return -EFAULT;
	} while (seen != value);
	if (next)
		hand_over(next);
	futex_pi_inherit(current);
	return 0;
}

static bool still_waits(const struct pi_waiter *wanted)
{
	const struct pi_waiter *waiter;

	list_for_each_entry(waiter, &waiters, link) {
		if (waiter == wanted)
			return true;
	}
	return false;
}

static struct pi_waiter *who_waits_for(const struct task *owner)
{
	struct pi_waiter *waiter;

	list_for_each_entry(waiter, &waiters, link) {
		if (waiter->owner == owner)
			return first_in_line(&waiter->key);
	}
	return NULL;
}

/* The word is written as the next owner sees it: the one who ends may have another address space. */
void futex_pi_task_exit(struct task *task)
{
	struct pi_waiter *next;

	task->left_futexes = true;      /* nobody waits for it from now on */
	while ((next = who_waits_for(task))) {
		struct mm *mm = mm_get(next->task->mm);
		u32 value = owned_by(next) | FUTEX_OWNER_DIED;

		/* A page that is gone takes the mutex with it; who waits finds out at its next use. Writing may sleep. */
		(void)mm_copy_to(mm, (uaddr_t)next->word, &value, sizeof(value));
		mm_put(mm);
		if (still_waits(next))
			hand_over(next);
		preemption_point();
	}
}
