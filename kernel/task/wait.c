/* Wait queues and sleeping. */
#include <arch.h>
#include <cpu.h>
#include <errno.h>
#include <sched.h>
#include <smp.h>
#include <task.h>
#include <wait.h>
#include <window.h>

#include "internal.h"
#include "switching.h"

void waitq_init(struct waitq *wq)
{
	list_init(&wq->waiters);
}

void waitq_add(struct waitq *wq, struct waiter *waiter)
{
	list_add_tail(&waiter->link, &wq->waiters);
}

static void wake_waiter(struct waiter *waiter)
{
	if (waiter->wake) {
		waiter->wake(waiter);
		return;
	}
	waiter->woken = true;
	task_wake(waiter->task);
}

void wake_waiters(struct waitq *wq)
{
	struct waiter *waiter, *next;

	/* The window runs interrupt handlers only, which do not change the queue. */
	list_for_each_window_safe(waiter, next, &wq->waiters, link)
		wake_waiter(waiter);
}

static struct list_head noted_work = LIST_HEAD_INIT(noted_work);

void wake_note_init(struct wake_note *note, struct waitq *wq)
{
	list_init(&note->work.link);
	note->wq = wq;
}

void wake_note_drop(struct wake_note *note)
{
	list_del(&note->work.link);
}

static void wake_note(struct deferred *work)
{
	wake_up(container_of(work, struct wake_note, work)->wq);
}

void note_work(struct deferred *work, void (*run)(struct deferred *))
{
	if (!list_empty(&work->link))
		return;
	work->run = run;
	list_add_tail(&work->link, &noted_work);
	current->work |= WORK_NOTED;
}

void wake_up_noted(struct wake_note *note)
{
	if (waitq_active(note->wq))
		note_work(&note->work, wake_note);
}

void wake_note_run(struct wake_note *note)
{
	if (list_empty(&note->work.link))
		return;
	list_del(&note->work.link);
	if (list_empty(&noted_work))
		current->work &= ~WORK_NOTED;
	wake_up(note->wq);
}

bool noted_left(void)
{
	return !list_empty(&noted_work);
}

/* The longest that a real-time task does noted work before it goes on. */
#define REAL_TIME_MOST_NS 500000u

/*
 * Programs choose how much there is, so a task that is more urgent than current runs between two pieces, and a
 * real-time task does no more than a part. What it leaves, the next task gets at the tick, or the idle task at once.
 */
void noted_run(void)
{
	u32 begin = arch_timebase_low();

	current->work &= ~WORK_NOTED;
	while (!list_empty(&noted_work)) {
		struct deferred *work = list_first_entry(&noted_work, struct deferred, link);

		list_del(&work->link);
		work->run(work);
		if (list_empty(&noted_work))
			return;
		interrupt_window();
		if (current == this_cpu()->idle) {
			if (current->work & WORK_RESCHED)
				return;
		} else if (sched_real_time_waits()) {
			schedule();
		} else if (current->run_priority &&
			   time_ticks_to_ns(arch_timebase_low() - begin) > REAL_TIME_MOST_NS) {
			return;
		} else {
			kernel_lock_pass();
		}
	}
}

void waitq_detach(struct waitq *wq)
{
	struct waiter *waiter;

	wake_up(wq);
	list_until_empty_window(waiter, &wq->waiters, link)
		list_del(&waiter->link);
}

/* Skips waiters that were woken and have not run yet, so that each call wakes another one. */
void wake_up_one(struct waitq *wq)
{
	struct waiter *waiter;

	list_for_each_entry(waiter, &wq->waiters, link) {
		if (waiter->wake || !waiter->woken) {
			wake_waiter(waiter);
			return;
		}
	}
}

void sleep_timed_out(struct timer *timer)
{
	struct task *task = container_of(timer, struct task, sleep_timer);

	task->timed_out = true;
	task_wake(task);
}

static bool sleep_interrupted(enum task_state state)
{
	return (state == TASK_INTERRUPTIBLE && signal_pending()) ||
	       (state == TASK_KILLABLE && signal_fatal_pending());
}

static inline long sleep_as(enum task_state state, const bool *woken)
{
	if (*woken)
		return 0;
	if (sleep_interrupted(state))
		return -ERESTARTSYS;
	current->state = state;
	schedule();
	return !*woken && sleep_interrupted(state) ? -ERESTARTSYS : 0;
}

/*
 * A deadline that has passed or is near is moved by the task's slack, as on Linux. A program that repeats waits of a
 * microsecond would otherwise never sleep, and use up its turn beside the task that it waits for.
 */
static u64 later_by_slack(u64 deadline, u64 now)
{
	u32 slack = current->timer_slack;

	return deadline < now + slack && !task_is_real_time(current) ? deadline + slack : deadline;
}

/* If both the deadline and a signal come during the sleep, returns -ETIMEDOUT. */
static long sleep_till(enum task_state state, const bool *woken, u64 deadline)
{
	u64 now = time_now_ns();
	long result;

	if (*woken)
		return 0;
	if (sleep_interrupted(state))
		return -ERESTARTSYS;
	deadline = later_by_slack(deadline, now);
	if (deadline <= now)
		return -ETIMEDOUT;
	current->timed_out = false;
	timer_set(&current->sleep_timer, deadline);
	result = sleep_as(state, woken);
	timer_cancel(&current->sleep_timer);
	return !*woken && current->timed_out ? -ETIMEDOUT : result;
}

long sleep_for_signal(const bool *woken)
{
	return sleep_as(TASK_INTERRUPTIBLE, woken);
}

long sleep_for_signal_until(const bool *woken, u64 deadline)
{
	return sleep_till(TASK_INTERRUPTIBLE, woken, deadline);
}

long sleep_killable(const bool *woken, u64 deadline)
{
	return deadline == TIME_NEVER ? sleep_as(TASK_KILLABLE, woken) : sleep_till(TASK_KILLABLE, woken, deadline);
}

void sleep_uninterruptible(const bool *woken)
{
	sleep_as(TASK_UNINTERRUPTIBLE, woken);
}
