/* futex: sleeping on a word of user memory; robust lists; set_tid_address. */
#include <abi/futex.h>
#include <errno.h>
#include <mm.h>
#include <sched.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "../task/internal.h"
#include "futex.h"

#define ROBUST_LIST_LIMIT 2048  /* a longer list must be a loop */
#define OWNER_DIED_ATTEMPTS 100

static struct list_head futex_buckets[FUTEX_BUCKETS];

struct list_head *futex_bucket(struct list_head buckets_of[FUTEX_BUCKETS], const struct futex_key *key)
{
	u32 hash = (uaddr_t)key->object ^ (key->page * 0x9e3779b1u) ^ (key->offset << 3);
	struct list_head *head = &buckets_of[(hash ^ hash >> 16) >> 2 & (FUTEX_BUCKETS - 1)];

	if (!head->next)
		list_init(head);
	return head;
}

static struct list_head *futex_sleepers(const struct futex_key *key)
{
	return futex_bucket(futex_buckets, key);
}

bool futex_key_same(const struct futex_key *a, const struct futex_key *b)
{
	return a->object == b->object && a->page == b->page && a->offset == b->offset && a->number == b->number &&
	       a->fs == b->fs;
}

/* Queues a sleeper by priority, then by arrival. Searches from the end, where most belong. */
void sleeper_queue(struct sleeper *sleeper)
{
	struct list_head *head = futex_sleepers(&sleeper->key), *before = head->prev;

	while (before != head &&
	       list_entry(before, struct sleeper, link)->task->run_priority < sleeper->task->run_priority)
		before = before->prev;
	list_add(&sleeper->link, before);
}

struct sleeper *first_sleeper(const struct futex_key *key)
{
	struct sleeper *sleeper;

	list_for_each_window(sleeper, futex_sleepers(key), link)
		if (futex_key_same(&sleeper->key, key))
			return sleeper;
	return NULL;
}

static void sleeper_wake(struct sleeper *sleeper)
{
	list_del(&sleeper->link);
	sleeper->woken = true;
	task_wake(sleeper->task);
}

static long futex_wake(u32 *word, bool is_private, u32 count, u32 bitset)
{
	struct sleeper *sleeper, *next;
	struct futex_key key;
	long woken = 0;
	int error;

	if (!bitset)
		return -EINVAL;
	error = mm_futex_key(current->mm, (uaddr_t)word, is_private, FUTEX_READ, &key);
	if (error)
		return error;
	if (pi_waited_for(&key))
		return -EINVAL;
	list_for_each_window_safe(sleeper, next, futex_sleepers(&key), link) {
		if (!futex_key_same(&sleeper->key, &key))
			continue;
		/* It can only be moved to its mutex. */
		if (sleeper->pi)
			return -EINVAL;
		if (!(sleeper->bitset & bitset))
			continue;
		sleeper_wake(sleeper);
		if (++woken >= (s32)count)
			break;
	}
	return woken;
}

static long futex_wait(u32 *word, bool is_private, u32 expected, u32 bitset, u64 deadline)
{
	struct sleeper sleeper = { .task = current, .bitset = bitset };
	long result = 0;
	u32 value;
	int error;

	if (!bitset)
		return -EINVAL;
	error = mm_futex_key(current->mm, (uaddr_t)word, is_private, FUTEX_READ, &sleeper.key);
	if (error)
		return error;
	/*
	 * The first read faults the page in. So the second cannot sleep, and nothing else runs until the task sleeps.
	 */
	if (get_user(value, word) || get_user(value, word))
		return -EFAULT;
	if (value != expected)
		return -EAGAIN;
	sleeper_queue(&sleeper);
	while (!sleeper.woken && !result)
		result = sleep_interruptible(&sleeper.woken, deadline);
	list_del(&sleeper.link);
	return sleeper.woken ? 0 : result;
}

static long futex_wait_again(struct task *task)
{
	struct restart *restart = &task->restart;
	long result = futex_wait(restart->futex, restart->is_private, restart->value, restart->bitset,
				 restart->deadline);

	return result == -ERESTARTSYS ? -ERESTART_RESTARTBLOCK : result;
}

/* With a timeout, the call continues to the same deadline after a signal without a handler. */
static long futex_wait_call(u32 *word, bool is_private, u32 expected, u32 bitset, bool timed, u64 deadline)
{
	long result = futex_wait(word, is_private, expected, bitset, deadline);

	if (result != -ERESTARTSYS || !timed)
		return result;
	current->restart = (struct restart){
		.again = futex_wait_again,
		.deadline = deadline,
		.futex = word,
		.value = expected,
		.bitset = bitset,
		.is_private = is_private,
	};
	return -ERESTART_RESTARTBLOCK;
}

/* Wakes some sleepers of word and moves more of them to word2. With `expected`, only if word still has that value. */
static long futex_requeue(u32 *word, u32 *word2, bool is_private, u32 wake_count, u32 move_count, const u32 *expected)
{
	struct futex_key key, key2;
	struct sleeper *sleeper, *next;
	u32 value;
	long done = 0;
	bool same;
	int error = mm_futex_key(current->mm, (uaddr_t)word, is_private, FUTEX_READ, &key);

	if (!error)
		error = mm_futex_key(current->mm, (uaddr_t)word2, is_private, FUTEX_READ, &key2);
	if (error)
		return error;
	same = futex_key_same(&key, &key2);
	if (expected) {
		if (get_user(value, word))
			return -EFAULT;
		if (value != *expected)
			return -EAGAIN;
	}
	if (!wake_count && !move_count)
		return 0;
	if (pi_waited_for(&key))
		return -EINVAL;
	/* A sleeper moved within a bucket is met again, with its new key. */
	list_for_each_window_safe(sleeper, next, futex_sleepers(&key), link) {
		if (!futex_key_same(&sleeper->key, &key))
			continue;
		if (sleeper->pi)
			return -EINVAL;
		if (wake_count) {
			wake_count--;
			sleeper_wake(sleeper);
		} else if (move_count) {
			move_count--;
			if (!same) {
				list_del(&sleeper->link);
				sleeper->key = key2;
				sleeper_queue(sleeper);
			}
		} else {
			break;
		}
		done++;
	}
	return done;
}

/*
 * A word was changed between its reading and its exchange, and is to be read again. A thread on another processor can
 * repeat that for as long as it runs, so others run meanwhile, and a signal ends the call.
 */
long futex_word_changed(void)
{
	preemption_point();
	return signal_pending() ? -ERESTARTNOINTR : 0;
}

/* FUTEX_WAKE_OP's operation on word2: op, comparison and two 12-bit operands in one number. */
static int futex_modify(u32 *word, u32 encoded, bool *wake_second)
{
	u32 op = encoded >> 28 & 7, compare = encoded >> 24 & 15;
	s32 operand = (s32)(encoded << 8) >> 20, compared = (s32)(encoded << 20) >> 20;
	u32 old, new, seen;
	long error = 0;

	if (encoded >> 31)
		operand = 1 << (operand & 31);
	if (op > 4)
		return -ENOSYS;
	do {
		if (get_user(old, word))
			return -EFAULT;
		switch (op) {
		case 0:
			new = (u32)operand;
			break;
		case 1:
			new = old + (u32)operand;
			break;
		case 2:
			new = old | (u32)operand;
			break;
		case 3:
			new = old & ~(u32)operand;
			break;
		default:
			new = old ^ (u32)operand;
		}
		if (user_cmpxchg(word, old, new, &seen))
			return -EFAULT;
	} while (seen != old && !(error = futex_word_changed()));
	if (error || compare > 5)
		return error ? (int)error : -ENOSYS;
	switch (compare) {
	case 0:
		*wake_second = (s32)old == compared;
		break;
	case 1:
		*wake_second = (s32)old != compared;
		break;
	case 2:
		*wake_second = (s32)old < compared;
		break;
	case 3:
		*wake_second = (s32)old <= compared;
		break;
	case 4:
		*wake_second = (s32)old > compared;
		break;
	default:
		*wake_second = (s32)old >= compared;
	}
	return 0;
}

static long futex_wake_op(u32 *word, u32 *word2, bool is_private, u32 count, u32 count2, u32 encoded)
{
	struct futex_key key;
	bool wake_second = false;
	long woken, more;
	int error = mm_futex_key(current->mm, (uaddr_t)word, is_private, FUTEX_READ, &key);

	if (!error)
		error = mm_futex_key(current->mm, (uaddr_t)word2, is_private, FUTEX_WRITE, &key);
	if (!error)
		error = futex_modify(word2, encoded, &wake_second);
	if (error)
		return error;
	woken = futex_wake(word, is_private, count, FUTEX_ANY_BIT);
	if (woken < 0 || !wake_second)
		return woken;
	more = futex_wake(word2, is_private, count2, FUTEX_ANY_BIT);
	return more < 0 ? more : woken + more;
}

static bool has_timeout(int command)
{
	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
	       command == FUTEX_LOCK_PI2 || command == FUTEX_WAIT_REQUEUE_PI;
}

/* The deadline of a wait: relative for FUTEX_WAIT, a date for FUTEX_LOCK_PI, else absolute on one of two clocks. */
static int futex_deadline(int command, int op, uaddr_t timeout, bool time64, u64 *deadline)
{
	u64 time;
	int error;

	*deadline = TIME_NEVER;
	if (!timeout || !has_timeout(command))
		return 0;
	error = time_from_user((const void *)timeout, time64, &time);
	if (error)
		return error;
	if (command == FUTEX_WAIT)
		*deadline = time_deadline(time);
	else
		*deadline = (op & FUTEX_CLOCK_REALTIME) || command == FUTEX_LOCK_PI ? time_since_boot(time) : time;
	return 0;
}

long sys_futex_by(u32 *word, int op, u32 value, uaddr_t timeout, uaddr_t word2, u32 value3, bool time64)
{
	int command = op & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
	bool is_private = op & FUTEX_PRIVATE_FLAG;
	u64 deadline;
	/* Linux looks at the time before all else. */
	int error = futex_deadline(command, op, timeout, time64, &deadline);

	if (error)
		return error;
	if ((op & FUTEX_CLOCK_REALTIME) && command != FUTEX_WAIT_BITSET && command != FUTEX_LOCK_PI2 &&
	    command != FUTEX_WAIT_REQUEUE_PI)
		return -ENOSYS;
	switch (command) {
	case FUTEX_WAIT:
		return futex_wait_call(word, is_private, value, FUTEX_ANY_BIT, timeout, deadline);
	case FUTEX_WAIT_BITSET:
		return futex_wait_call(word, is_private, value, value3, timeout, deadline);
	case FUTEX_WAKE:
		return futex_wake(word, is_private, value, FUTEX_ANY_BIT);
	case FUTEX_WAKE_BITSET:
		return futex_wake(word, is_private, value, value3);
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
		if ((s32)value < 0 || (s32)timeout < 0)
			return -EINVAL;
		return futex_requeue(word, (u32 *)word2, is_private, value, timeout,
				     command == FUTEX_CMP_REQUEUE ? &value3 : NULL);
	case FUTEX_WAKE_OP:
		return futex_wake_op(word, (u32 *)word2, is_private, value, timeout, value3);
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return futex_pi_lock(word, is_private, true, deadline);
	case FUTEX_TRYLOCK_PI:
		return futex_pi_lock(word, is_private, false, TIME_NEVER);
	case FUTEX_UNLOCK_PI:
		return futex_pi_unlock(word, is_private);
	case FUTEX_WAIT_REQUEUE_PI:
		return futex_wait_requeue_pi(word, is_private, value, deadline, (u32 *)word2);
	case FUTEX_CMP_REQUEUE_PI:
		return futex_requeue_pi(word, is_private, value, timeout, (u32 *)word2, value3);
	default:
		return -ENOSYS;
	}
}

/* The owner of a mutex ended: marks the word and wakes one waiter. */
static void owner_died(uaddr_t address)
{
	u32 *word = (u32 *)address;
	u32 value, seen, attempts = 0;

	if (address & 3)
		return;
	do {
		/* Who waits changes the word once. A word that changes all the time has no honest user. */
		if (attempts++ == OWNER_DIED_ATTEMPTS)
			return;
		if (attempts > 1)
			preemption_point();
		if (get_user(value, word) || (value & FUTEX_TID_MASK) != (u32)current->pid)
			return;
		if (user_cmpxchg(word, value, (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED, &seen))
			return;
	} while (seen != value);
	if (value & FUTEX_WAITERS)
		futex_wake(word, false, 1, FUTEX_ANY_BIT);
}

static void robust_list_walk(void)
{
	const struct robust_head *user = current->robust_list;
	struct robust_head head;
	uaddr_t entry;

	if (!user || copy_from_user(&head, user, sizeof(head)))
		return;
	entry = head.first;
	for (u32 i = 0; i < ROBUST_LIST_LIMIT && (entry & ~(uaddr_t)1) != (uaddr_t)user; i++) {
		u32 next;

		interrupt_window();
		/* Read the link before releasing the mutex: another thread may then reuse the mutex's memory. */
		if (get_user(next, (const u32 *)(entry & ~(uaddr_t)1)))
			return;
		if (entry != head.pending)
			owner_died((entry & ~(uaddr_t)1) + (u32)head.futex_offset);
		entry = next;
	}
	if (head.pending)
		owner_died((head.pending & ~1u) + (u32)head.futex_offset);
}

void futex_task_exit(struct task *task)
{
	futex_pi_task_exit(task);
	robust_list_walk();
	task->robust_list = NULL;
	if (task->clear_child_tid && task->mm->refs > 1) {
		if (put_user(0u, task->clear_child_tid) == 0)
			futex_wake(task->clear_child_tid, false, 1, FUTEX_ANY_BIT);
	}
	task->clear_child_tid = NULL;
}

long sys_set_robust_list(uaddr_t head, size_t size)
{
	if (size != sizeof(struct robust_head))
		return -EINVAL;
	current->robust_list = (void *)head;
	return 0;
}

long sys_get_robust_list(s32 pid, u32 *head, u32 *size)
{
	const struct task *task = pid ? task_find(pid) : current;
	u32 list;

	if (!task)
		return -ESRCH;
	if (!may_trace(task))
		return -EPERM;
	list = (uaddr_t)task->robust_list;
	if (put_user((u32)sizeof(struct robust_head), size))
		return -EFAULT;
	return put_user(list, head);
}

long sys_set_tid_address(s32 *tid)
{
	current->clear_child_tid = (u32 *)tid;
	return current->pid;
}
