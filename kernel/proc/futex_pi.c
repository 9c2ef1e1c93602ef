/*
 * Futexes with priority inheritance. The word names the owner, who runs at the highest priority of the waiters.
 * Unlocking hands the mutex to the first waiter of the highest priority.
 */
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <sched.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "../task/internal.h"
#include "futex.h"

/* Interrupt windows in walks over a bucket or over an owner's waiters are safe: interrupt handlers change neither. */
static struct list_head pi_buckets[FUTEX_BUCKETS];

static struct list_head *futex_waiters(const struct futex_key *key)
{
	return futex_bucket(pi_buckets, key);
}

static struct pi_waiter *first_in_line(const struct futex_key *key)
{
	struct pi_waiter *waiter, *best = NULL;

	list_for_each_window(waiter, futex_waiters(key), link) {
		if (futex_key_same(&waiter->key, key) &&
		    (!best || waiter->task->run_priority > best->task->run_priority))
			best = waiter;
	}
	return best;
}

bool pi_waited_for(const struct futex_key *key)
{
	const struct pi_waiter *waiter;

	list_for_each_window(waiter, futex_waiters(key), link)
		if (futex_key_same(&waiter->key, key))
			return true;
	return false;
}

static void pi_wait_for(struct pi_waiter *waiter, struct task *owner)
{
	list_del(&waiter->owner_link);
	list_add_tail(&waiter->owner_link, &owner->pi_waiters);
	waiter->owner = waiter->task->pi_owner = owner;
}

static void leave_line(struct pi_waiter *waiter)
{
	list_del(&waiter->link);
	list_del(&waiter->owner_link);
	waiter->task->pi_owner = NULL;
}

void pi_leave(struct pi_waiter *waiter)
{
	leave_line(waiter);
	futex_pi_inherit(waiter->owner);
}

/* Whether the owner waits for the task, perhaps by a chain of owners. No task waits in a cycle, so the walk ends. */
static bool waits_for(const struct task *owner, const struct task *task)
{
	for_each_link_window(owner, owner, owner->pi_owner)
		if (owner == task)
			return true;
	return false;
}

/* Recomputes the priority of the task, of the owner that it waits for, and so on, until one does not change. */
void futex_pi_inherit(struct task *task)
{
	for (; task; task = task->pi_owner) {
		u32 priority = task->rt_priority;
		struct pi_waiter *waiter;

		list_for_each_window(waiter, &task->pi_waiters, owner_link) {
			priority = MAX(priority, waiter->task->run_priority);
		}
		if (priority == task->run_priority)
			return;
		task->run_priority = priority;
		sched_requeue(task);
	}
}

/* Hands the mutex to a waiter. From now on the other waiters wait for that one. */
static void hand_over(struct pi_waiter *to)
{
	struct pi_waiter *waiter;

	leave_line(to);
	to->owns = true;
	list_for_each_window(waiter, futex_waiters(&to->key), link)
		if (futex_key_same(&waiter->key, &to->key))
			pi_wait_for(waiter, to->task);
	task_wake(to->task);
}

/* The word after a hand-over. As on Linux it says that there are waiters, even if none is left. */
static u32 owned_by(const struct pi_waiter *waiter)
{
	return (u32)waiter->task->pid | FUTEX_WAITERS;
}

/* The owner named by the word, if that task can still unlock or hand over the mutex. */
static struct task *owner_of(u32 value)
{
	struct task *task = task_find((s32)(value & FUTEX_TID_MASK));

	return task && task->state != TASK_DEAD && task->mm && !task->left_futexes ? task : NULL;
}

/* Whether tasks only sleep on the word, which then is no mutex with priority inheritance. */
static bool slept_on(const struct futex_key *key)
{
	return first_sleeper(key) && !pi_waited_for(key);
}

/* Takes a free mutex for the waiter's task (0), or finds its owner and marks the word as having waiters (1). */
static long pi_take(u32 *word, const struct pi_waiter *waiter, struct task **owner)
{
	const u32 pid = (u32)waiter->task->pid;
	u32 value, wanted, seen;

	if (get_user(value, word))
		return -EFAULT;
	if ((value & FUTEX_TID_MASK) == pid)
		return -EDEADLK;
	if (slept_on(&waiter->key))
		return -EINVAL;
	if (value & FUTEX_TID_MASK)
		wanted = value | FUTEX_WAITERS;
	else
		wanted = pid | (value & FUTEX_OWNER_DIED) | (first_in_line(&waiter->key) ? FUTEX_WAITERS : 0);
	if (user_cmpxchg(word, value, wanted, &seen))
		return -EFAULT;
	if (seen != value)
		return -EBUSY;
	if (!(value & FUTEX_TID_MASK))
		return 0;
	/* The write may have slept, and the owner may have ended meanwhile. */
	*owner = owner_of(value);
	return *owner ? 1 : -ESRCH;
}

long pi_begin(u32 *word, struct pi_waiter *waiter, bool may_wait)
{
	struct task *owner = NULL;
	const struct pi_waiter *first;
	long result = pi_take(word, waiter, &owner);

	if (result != 1)
		return result;
	if (!may_wait)
		return -EAGAIN;
	/* All waiters of a mutex wait for the same owner; if not, a program has changed the word. */
	first = first_in_line(&waiter->key);
	if (first && first->owner != owner)
		return -EINVAL;
	if (waits_for(owner, waiter->task))
		return -EDEADLK;
	list_init(&waiter->owner_link);
	pi_wait_for(waiter, owner);
	list_add_tail(&waiter->link, futex_waiters(&waiter->key));
	futex_pi_inherit(owner);
	return 1;
}

long futex_pi_lock(u32 *word, bool is_private, bool wait, u64 deadline)
{
	struct pi_waiter waiter = { .word = word, .task = current };
	long result = mm_futex_key(current->mm, (uaddr_t)word, is_private, FUTEX_WRITE, &waiter.key), error = 0;

	if (result)
		return result;
	do
		result = pi_begin(word, &waiter, wait);
	while (result == -EBUSY && !(error = futex_word_changed()));
	if (error)
		return error;
	if (result != 1)
		return result;
	result = 0;
	while (!waiter.owns && !result)
		result = sleep_interruptible(&waiter.owns, deadline);
	if (waiter.owns) {
		futex_pi_inherit(current);
		return 0;
	}
	pi_leave(&waiter);
	return result == -ERESTARTSYS ? -ERESTARTNOINTR : result;
}

long futex_pi_unlock(u32 *word, bool is_private)
{
	struct pi_waiter *next;
	struct futex_key key;
	u32 value, seen;
	long error;

	do {
		/* EPERM for a caller that does not own the mutex comes before all other errors. */
		if (get_user(value, word))
			return -EFAULT;
		if ((value & FUTEX_TID_MASK) != (u32)current->pid)
			return -EPERM;
		error = mm_futex_key(current->mm, (uaddr_t)word, is_private, FUTEX_WRITE, &key);
		if (error)
			return error;
		/*
		 * The first write to a page may sleep; a second one does not, so the first waiter stays the same until
		 * it is done.
		 */
		if (user_cmpxchg(word, value, value, &seen))
			return -EFAULT;
		if (seen != value)
			continue;
		if (slept_on(&key))
			return -EINVAL;
		next = first_in_line(&key);
		if (user_cmpxchg(word, value, next ? owned_by(next) : 0, &seen))
			return -EFAULT;
	} while (seen != value && !(error = futex_word_changed()));
	if (error)
		return error;
	if (next)
		hand_over(next);
	futex_pi_inherit(current);
	return 0;
}

/*
 * Whether the waiter has not left meanwhile. Only its address is looked at: a task that has left its futexes gets no
 * new waiters, so none of them is a later wait at the same place on a stack.
 */
static bool still_waits(const struct pi_waiter *wanted, const struct task *owner)
{
	const struct pi_waiter *waiter;

	list_for_each_window(waiter, &owner->pi_waiters, owner_link)
		if (waiter == wanted)
			return true;
	return false;
}

static struct pi_waiter *who_waits_for(const struct task *owner)
{
	if (list_empty(&owner->pi_waiters))
		return NULL;
	return first_in_line(&list_first_entry(&owner->pi_waiters, struct pi_waiter, owner_link)->key);
}

/* Writes the word in the next owner's address space: the ending task may have another one. */
void futex_pi_task_exit(struct task *task)
{
	struct pi_waiter *next;

	task->left_futexes = true;      /* from now on no task may wait for it */
	while ((next = who_waits_for(task))) {
		struct mm *mm = mm_get(next->task->mm);
		struct futex_key key = next->key;
		uaddr_t word = (uaddr_t)next->word;
		u32 value = owned_by(next) | FUTEX_OWNER_DIED;

		/* If the page is unmapped, the mutex is lost; waiters notice at their next use. The write may sleep. */
		(void)mm_copy_to(mm, word, &value, sizeof(value));
		if (still_waits(next, task)) {
			hand_over(next);
		} else if (!first_in_line(&key)) {
			/* The new owner stopped waiting during the write, and nobody else waits: free the mutex. */
			value = FUTEX_OWNER_DIED;
			(void)mm_copy_to(mm, word, &value, sizeof(value));
		}
		mm_put(mm);
		preemption_point();
	}
}
