/* alarm, setitimer, and the limit of processor time. */
#include <abi/time.h>
#include <errno.h>
#include <lib.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>

#include "internal.h"

static struct process *itimer_process(struct timer *timer)
{
	return container_of(timer, struct process, itimer[ITIMER_REAL].timer);
}

/* Starts the next interval, which ends no sooner than `least` from now. */
static void itimer_go_on(struct itimer *itimer, u64 least)
{
	u64 now = time_now_ns(), passed = now > itimer->timer.expires ? now - itimer->timer.expires : 0;

	if (itimer->interval && !itimer->timer.active)
		timer_set(&itimer->timer,
			  MAX(itimer->timer.expires + (passed / itimer->interval + 1) * itimer->interval,
			      now + least));
}

/* The timer stops while its signal is pending, so that no interval is too short; the signal may never be taken. */
static void tell_alarm(struct deferred *work)
{
	struct process *process = container_of(work, struct process, alarm);

	signal_process(process, SIGALRM, NULL);
	if (!(process->pending.set & SIGBIT(SIGALRM)))
		itimer_go_on(&process->itimer[ITIMER_REAL], NSEC_PER_TICK);
}

static void real_expired(struct timer *timer)
{
	note_work(&itimer_process(timer)->alarm, tell_alarm);
}

void itimer_taken(struct process *process)
{
	itimer_go_on(&process->itimer[ITIMER_REAL], TIMER_LEAST_NS);
}

void itimer_init(struct process *process)
{
	list_init(&process->alarm.link);
	list_init(&process->processor_time.link);
	for (u32 i = 0; i < ARRAY_SIZE(process->itimer); i++)
		timer_init(&process->itimer[i].timer, real_expired);
}

void itimer_cancel_all(struct process *process)
{
	timer_cancel(&process->itimer[ITIMER_REAL].timer);
	list_del(&process->alarm.link);
	list_del(&process->processor_time.link);
	process->cpu_limits = false;
}

static void count_down(struct itimer *itimer)
{
	if (!itimer->value)
		return;
	if (itimer->value > NSEC_PER_TICK) {
		itimer->value -= NSEC_PER_TICK;
		return;
	}
	itimer->value = itimer->interval;
	itimer->expired = true;
}

static void tell_expiry(struct process *process, struct itimer *itimer, int sig)
{
	if (itimer->expired)
		signal_process(process, sig, NULL);
	itimer->expired = false;
}

/* Sends SIGXCPU once a second from the soft limit on, and SIGKILL at the hard one. */
static void check_cpu_limit(struct process *process, u64 ns)
{
	const struct rlimit *limit = &process->rlimit[RLIMIT_CPU];
	u32 seconds;

	if (limit->soft == RLIM_INFINITY)
		return;
	seconds = (u32)(ns / NSEC_PER_SEC);
	if (seconds >= limit->hard)
		signal_kill(process);
	else if (seconds >= limit->soft && ns % NSEC_PER_SEC < NSEC_PER_TICK)
		signal_process(process, SIGXCPU, NULL);
}

/* Looks at all threads of the process. */
static void check_processor_time(struct deferred *work)
{
	struct process *process = container_of(work, struct process, processor_time);
	u64 ns = process_run_ns(process);

	process->checked_ns = ns;
	tell_expiry(process, &process->itimer[ITIMER_VIRTUAL], SIGVTALRM);
	tell_expiry(process, &process->itimer[ITIMER_PROF], SIGPROF);
	posix_timers_tick(process, ns);
	check_cpu_limit(process, ns);
}

void itimer_tick(struct process *process, bool user)
{
	if (user)
		count_down(&process->itimer[ITIMER_VIRTUAL]);
	count_down(&process->itimer[ITIMER_PROF]);
	note_work(&process->processor_time, check_processor_time);
}

static void itimer_read(int which, u64 *value, u64 *interval)
{
	const struct itimer *itimer = &current->process->itimer[which];
	u64 now = time_now_ns();

	*interval = itimer->interval;
	*value = itimer->value;
	if (which == ITIMER_REAL) {
		*value = 0;
		if (itimer->timer.active)
			*value = itimer->timer.expires > now ? itimer->timer.expires - now : NSEC_PER_USEC;
		else if (itimer->interval)
			*value = itimer->interval;      /* the interval starts when the signal is taken */
	}
}

static void itimer_set(int which, u64 value, u64 interval)
{
	struct process *process = current->process;
	struct itimer *itimer = &process->itimer[which];

	itimer->interval = value ? interval : 0;
	if (which == ITIMER_REAL) {
		timer_cancel(&itimer->timer);
		list_del(&process->alarm.link);
		if (value)
			timer_set(&itimer->timer, time_deadline(value));
		return;
	}
	itimer->value = value;
	itimer->expired = false;
	if (value)
		process->cpu_limits = true;
}

static int to_user(struct itimerval32 *user, u64 value, u64 interval)
{
	struct itimerval32 result = { ns_to_timeval32(interval), ns_to_timeval32(value) };

	return copy_to_user(user, &result, sizeof(result));
}

long sys_getitimer(int which, struct itimerval32 *user)
{
	u64 value, interval;

	if (which < ITIMER_REAL || which > ITIMER_PROF)
		return -EINVAL;
	itimer_read(which, &value, &interval);
	return to_user(user, value, interval);
}

long sys_setitimer(int which, const struct itimerval32 *new, struct itimerval32 *old)
{
	u64 value = 0, interval = 0, old_value, old_interval;
	struct itimerval32 request;

	if (new) {
		if (copy_from_user(&request, new, sizeof(request)))
			return -EFAULT;
		if (timeval32_to_ns(&request.value, &value) || timeval32_to_ns(&request.interval, &interval))
			return -EINVAL;
	}
	if (which < ITIMER_REAL || which > ITIMER_PROF)
		return -EINVAL;
	itimer_read(which, &old_value, &old_interval);
	itimer_set(which, value, interval);
	return old ? to_user(old, old_value, old_interval) : 0;
}

/* Returns the seconds left of the old alarm, rounded, at least one. */
long sys_alarm(u32 seconds)
{
	u64 left, interval;

	itimer_read(ITIMER_REAL, &left, &interval);
	itimer_set(ITIMER_REAL, seconds * NSEC_PER_SEC, 0);
	if (!left)
		return 0;
	left = (left + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
	return left ? (long)left : 1;
}
