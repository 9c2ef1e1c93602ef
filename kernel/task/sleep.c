/* nanosleep and clock_nanosleep, and continuing them after a signal without a handler. */
#include <errno.h>
#include <syscall.h>
#include <task.h>
#include <time.h>

#include "internal.h"

/*
 * On an interruption, stores the remaining time in the caller's memory; restart_syscall sleeps on to the same
 * deadline.
 */
static long sleep_again(struct task *task)
{
	struct restart *restart = &task->restart;
	bool never = false;
	u64 now;

	while (!signal_pending()) {
		if (sleep_interruptible(&never, restart->deadline) == -ETIMEDOUT)
			return 0;
	}
	now = time_now_ns();
	if (now >= restart->deadline)
		return 0;
	if (restart->remaining && time_to_user(restart->remaining, restart->time64, restart->deadline - now))
		return -EFAULT;
	return -ERESTART_RESTARTBLOCK;
}

static long sleep_relative(u64 delta, void *left, bool time64)
{
	current->restart = (struct restart){
		.again = sleep_again,
		.deadline = time_deadline(delta),
		.remaining = left,
		.time64 = time64,
	};
	return sleep_again(current);
}

/* Tasks that sleep until a date. */
static struct waitq clock_waiters = WAITQ_INIT(clock_waiters);

void sleep_clock_set(void)
{
	wake_up(&clock_waiters);
}

/* An absolute sleep needs no restart block: repeating the call is enough. */
static long sleep_absolute(s32 clock, u64 when)
{
	struct waiter waiter;
	long result = 0;

	waiter_init(&waiter);
	if (clock == CLOCK_REALTIME)
		waitq_add(&clock_waiters, &waiter);
	while (!result) {
		waiter.woken = false;
		result = sleep_interruptible(&waiter.woken, clock == CLOCK_REALTIME ? time_since_boot(when) : when);
	}
	waitq_remove(&waiter);
	return result == -ETIMEDOUT ? 0 : -ERESTARTNOHAND;
}

static long clock_sleep(s32 clock, u32 flags, u64 time, void *left, bool time64)
{
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		return -EINVAL;
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		return clock == CLOCK_PROCESS_CPUTIME_ID || clock < 0 || clock > CLOCK_BOOTTIME ? -EINVAL :
											  -EOPNOTSUPP;
	return (flags & TIMER_ABSTIME) ? sleep_absolute(clock, time) : sleep_relative(time, left, time64);
}

long sys_clock_nanosleep_by(s32 clock, u32 flags, const void *request, void *left, bool time64)
{
	u64 time;
	int error = time_from_user(request, time64, &time);

	return error ? error : clock_sleep(clock, flags, time, left, time64);
}

/* Continues what signal_deliver() arranged; a call by the program itself finds nothing. */
long sys_restart_syscall(void)
{
	long (*again)(struct task *) = current->restart.again;

	return again ? again(current) : -EINTR;
}
