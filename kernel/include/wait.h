/*
 * Sleeping: wait queues and mutexes.
 *
 * The kernel runs with external and timer interrupts off, except in the idle task and in the windows of long
 * calls (interrupt_window() and preemption_point() in window.h). A condition that kernel code has checked stays true
 * until such a window or until the task sleeps, so short critical sections need no lock.
 */
#ifndef WAIT_H
#define WAIT_H
#include <arch/cpu.h>
#include <arch/task.h>
#include <deferred.h>
#include <list.h>
#include <outside.h>
#include <time.h>
#include <types.h>

struct task;

struct waitq {
	struct list_head waiters;
};

/*
 * A task's place in a queue. If wake() is set, wake_up() calls it in place of waking the task (epoll uses it); it must
 * not sleep.
 */
struct waiter {
	struct list_head link;
	struct task *task;
	bool woken;
	void (*wake)(struct waiter *waiter);
};

#define WAITQ_INIT(name) { .waiters = LIST_HEAD_INIT((name).waiters) }

void waitq_init(struct waitq *wq);
static inline bool waitq_active(const struct waitq *wq) { return !list_empty(&wq->waiters); }

/* Prepares a waiter for current. */
static inline void waiter_init(struct waiter *waiter)
{
	list_init(&waiter->link);
	waiter->task = current;
	waiter->woken = false;
	waiter->wake = NULL;
}
void waitq_add(struct waitq *wq, struct waiter *waiter);
static inline void waitq_remove(struct waiter *waiter) { list_del(&waiter->link); }     /* harmless when not queued */

/* Wakes all waiters of a queue that is about to be freed, and removes them from it. */
void waitq_detach(struct waitq *wq);
void wake_waiters(struct waitq *wq);
/* All waiters; not from interrupts. */
static inline void wake_up(struct waitq *wq)
{
	if (waitq_active(wq))
		wake_waiters(wq);
}
/*
 * Waking from an interrupt handler, in bounded time however many tasks wait: the handler only notes the queue. The task
 * that runs wakes the queue's waiters at a preemption point or before it returns to its program. If it sleeps first,
 * the next task wakes them.
 */
struct wake_note {
	struct deferred work;
	struct waitq *wq;
};
void wake_note_init(struct wake_note *note, struct waitq *wq);
void wake_note_drop(struct wake_note *note);          /* before the queue is freed */
void wake_up_noted(struct wake_note *note);
/* Leaves other long work of a handler in the same way, unless it is left already. */
void note_work(struct deferred *work, void (*run)(struct deferred *));
void wake_note_run(struct wake_note *note);            /* wakes the queue's waiters now, if the queue was noted */
void noted_run(void);                                 /* for WORK_NOTED: other tasks may run meanwhile */
bool noted_left(void);                                /* there is noted work */
void wake_up_one(struct waitq *wq);                   /* the waiter that has waited longest */

/*
 * Sleep until *woken, a signal, or the deadline (ns since boot, or TIME_NEVER). Return 0, -ERESTARTSYS or -ETIMEDOUT.
 */
long sleep_for_signal(const bool *woken);
long sleep_for_signal_until(const bool *woken, u64 deadline);
#define TIMER_SLACK_NS 50000u   /* the first process's timer_slack */

static inline long sleep_interruptible(const bool *woken, u64 deadline)
{
	return deadline == TIME_NEVER ? sleep_for_signal(woken) : sleep_for_signal_until(woken, deadline);
}
long sleep_killable(const bool *woken, u64 deadline);
void sleep_uninterruptible(const bool *woken);

#define WAIT_LOOP_(wq, cond, sleep)                    \
	({                                             \
		struct waiter waiter_;                 \
		long wait_result_ = 0;                 \
		if (!(cond)) {                         \
			waiter_init(&waiter_);         \
			waitq_add((wq), &waiter_);     \
			for (;;) {                     \
				waiter_.woken = false; \
				if (cond)              \
					break;         \
				wait_result_ = (sleep); \
				if (wait_result_) {    \
					if (cond)      \
						wait_result_ = 0; \
					break;         \
				}                      \
			}                              \
			waitq_remove(&waiter_);        \
		}                                      \
		wait_result_;                          \
	})

/* Sleeps until cond holds: 0; -ERESTARTSYS: a signal came first. */
#define wait_event(wq, cond) \
	WAIT_LOOP_(wq, cond, sleep_interruptible(&waiter_.woken, TIME_NEVER))

/* The same with a deadline: also -ETIMEDOUT. */
#define wait_event_until(wq, cond, deadline) \
	WAIT_LOOP_(wq, cond, sleep_interruptible(&waiter_.woken, (deadline)))

/* Only a fatal signal interrupts. */
#define wait_event_killable(wq, cond) \
	WAIT_LOOP_(wq, cond, sleep_killable(&waiter_.woken, TIME_NEVER))

/* Nothing interrupts. */
#define wait_event_uninterruptible(wq, cond) \
	((void)WAIT_LOOP_(wq, cond, (sleep_uninterruptible(&waiter_.woken), 0L)))

/*
 * Mutual exclusion across sleeps; not recursive. Unlocking wakes the task that has waited longest, but does not hand
 * the mutex over: a task that locks it before the woken one runs gets it first.
 *
 * With kernel.lock=fine, a task that holds a mutex copies without the kernel lock (mm/iter.c), and the mutexes of a
 * kind are counted together. A task that holds a mutex locks only mutexes of a later kind; check=on panics at another
 * order.
 */
enum mutex_kind {
	MUTEX_POSITION, MUTEX_PIPE_READ, MUTEX_PIPE_WRITE, MUTEX_STREAM_TAKE, MUTEX_STREAM_PUT, MUTEX_INODE,
	MUTEX_FILE_LOCK, MUTEX_KINDS,
};

struct mutex {
	struct task *owner;
	struct waitq wq;
	enum mutex_kind kind;
	struct mutex *above;            /* check=on: the mutex that its owner locked before this one */
};

void mutex_init(struct mutex *mutex, enum mutex_kind kind);
long mutex_wait_killable(struct mutex *mutex);
long mutex_lock_counted(struct mutex *mutex);
void mutex_left(struct mutex *mutex);
/* 0, or -ERESTARTSYS: a fatal signal came first. */
static inline long mutex_lock_killable(struct mutex *mutex)
{
	if (outside_bound())
		return mutex_lock_counted(mutex);
	if (mutex->owner)
		return mutex_wait_killable(mutex);
	mutex->owner = current;
	return 0;
}
static inline void mutex_unlock(struct mutex *mutex)
{
	if (outside_bound())
		mutex_left(mutex);
	mutex->owner = NULL;
	if (waitq_active(&mutex->wq))
		wake_up_one(&mutex->wq);
}

struct text;
void mutexes_show(struct text *text);   /* for /proc/locks/contention */

#endif
