/* What the files of futexes share. */
#ifndef PROC_FUTEX_H
#define PROC_FUTEX_H
#include <list.h>
#include <mm.h>
#include <task.h>

/* Waits for a mutex with priority inheritance; on the kernel stack of its task. */
struct pi_waiter {
	struct list_head link;          /* in the bucket of its key, by arrival */
	struct list_head owner_link;    /* in the owner's pi_waiters */
	struct futex_key key;
	u32 *word;
	struct task *task, *owner;
	bool owns;                      /* the mutex was handed to it */
};

/* Sleeps on a word; on the kernel stack of its task, linked in the bucket of its key. */
struct sleeper {
	struct list_head link;
	struct futex_key key;
	struct task *task;
	struct pi_waiter *pi;           /* of FUTEX_WAIT_REQUEUE_PI: the mutex that it may be moved to */
	u32 bitset;
	bool woken;
};

/* futex.c */
/* The first task that sleeps on the word; NULL: none. */
struct sleeper *first_sleeper(const struct futex_key *key);
/* Queues a sleeper by priority, then by arrival. */
void sleeper_queue(struct sleeper *sleeper);

/* futex_pi.c */
/*
 * Takes a free mutex for the waiter (0), or puts it into the line of those that wait for the owner (1). Else a negative
 * errno. -EBUSY: a program has just changed the word, so begin again. -EAGAIN: the mutex is not free, and !may_wait.
 */
long pi_begin(u32 *word, struct pi_waiter *waiter, bool may_wait);
/* Whether a task waits for a mutex at the key. The calls for plain words refuse such a word. */
bool pi_waited_for(const struct futex_key *key);
void pi_leave(struct pi_waiter *waiter);        /* out of the line, without the mutex */

/* futex_requeue_pi.c */
long futex_wait_requeue_pi(u32 *word, bool is_private, u32 expected, u64 deadline, u32 *word2);
long futex_requeue_pi(u32 *word, bool is_private, u32 wake_count, u32 move_count, u32 *word2, u32 expected);

#endif
