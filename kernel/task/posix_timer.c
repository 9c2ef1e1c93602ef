/* timer_create and its family. */
#include <errno.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>
#include <window.h>

#include "internal.h"

#define TIMERS_MAX      64      /* of one process */
#define OVERRUN_MAX     0x7fffffff

struct posix_timer {
	struct list_head link;          /* in process->posix_timers */
	struct process *process;
	struct timer timer;             /* for clocks that follow the timebase */
	struct deferred expiry;         /* it has expired: a task looks for the thread to signal */
	struct sigqueued signal;        /* reused: a timer has one pending signal */
	s32 id;
	bool made;                      /* timer_create has returned it: until then the other calls do not find it */
	s32 clock;
	s32 notify;
	s32 tid;                        /* the thread to signal, 0: the process */
	s32 counted;                    /* CLOCK_THREAD_CPUTIME_ID: its thread */
	bool absolute;                  /* on CLOCK_REALTIME: setting the clock moves the expiry */
	bool armed;                     /* a processor-time timer is active */
	u64 expires, interval;          /* ns of the clock; expires: the next or last expiry */
	s32 overrun;                    /* overruns of the signal taken last */
};

static struct posix_timer *posix_timer_find_any(s32 id)
{
	struct posix_timer *timer;

	list_for_each_window(timer, &current->process->posix_timers, link)
		if (timer->id == id)
			return timer;
	return NULL;
}

static struct posix_timer *posix_timer_find(s32 id)
{
	struct posix_timer *timer = posix_timer_find_any(id);

	return timer && timer->made ? timer : NULL;
}

/* The thread of the timer's process with this number; NULL: it has ended. Another process may have the number now. */
static struct task *posix_timer_thread(const struct posix_timer *timer, s32 tid)
{
	struct task *task = task_find(tid);

	return task && task->process == timer->process ? task : NULL;
}

static bool counts_processor_time(const struct posix_timer *timer)
{
	return timer->clock == CLOCK_PROCESS_CPUTIME_ID || timer->clock == CLOCK_THREAD_CPUTIME_ID;
}

/* The timer's clock in ns: since boot, or processor time. */
static u64 posix_timer_now(const struct posix_timer *timer)
{
	const struct task *task;

	if (timer->clock == CLOCK_PROCESS_CPUTIME_ID)
		return process_run_ns(timer->process);
	if (timer->clock != CLOCK_THREAD_CPUTIME_ID)
		return time_now_ns();
	task = posix_timer_thread(timer, timer->counted);
	return task ? task_run_ns(task) : 0;
}

/*
 * The time by which the timer has expired. Of the process's clock it is the tick's, so that the signals of many timers
 * do not look at all threads once each.
 */
static u64 posix_timer_expired_at(const struct posix_timer *timer)
{
	return timer->clock == CLOCK_PROCESS_CPUTIME_ID ? timer->process->checked_ns : posix_timer_now(timer);
}

static void posix_timer_arm(struct posix_timer *timer, u64 expires)
{
	timer->expires = expires;
	if (!counts_processor_time(timer)) {
		timer_set(&timer->timer, expires);
		return;
	}
	timer->armed = true;
	timer->process->cpu_limits = true;
}

static void posix_timer_disarm(struct posix_timer *timer)
{
	timer_cancel(&timer->timer);
	list_del(&timer->expiry.link);
	timer->armed = false;
}

/* Moves `expires` beyond now; returns the number of expiries passed over. */
static u64 posix_timer_advance(struct posix_timer *timer, u64 now)
{
	u64 passed = now > timer->expires ? (now - timer->expires) / timer->interval : 0;

	timer->expires += (passed + 1) * timer->interval;
	return passed;
}

/*
 * A periodic timer stops while its signal is pending; the expiries that it missed are counted when the signal is
 * taken. So an interval of a few ns does no harm.
 */
static void posix_timer_expire(struct posix_timer *timer)
{
	struct task *task = timer->tid ? posix_timer_thread(timer, timer->tid) : NULL;

	timer->armed = false;
	if (timer->notify == SIGEV_SIGNAL && list_empty(&timer->signal.link)) {
		if (task)
			signal_task_queued(task, &timer->signal);
		else if (!timer->tid)
			signal_process_queued(timer->process, &timer->signal);
	}
	/* The signal is ignored, or its thread has ended, so no handler restarts the timer. */
	if (list_empty(&timer->signal.link) && timer->interval) {
		u64 now = posix_timer_expired_at(timer);

		posix_timer_advance(timer, now);
		posix_timer_arm(timer, MAX(timer->expires, now + NSEC_PER_TICK));
	}
}

static void expire_noted(struct deferred *work)
{
	posix_timer_expire(container_of(work, struct posix_timer, expiry));
}

static void posix_timer_expired(struct timer *timer)
{
	note_work(&container_of(timer, struct posix_timer, timer)->expiry, expire_noted);
}

/* The signal is taken: counts the overruns and restarts the timer. */
void posix_timer_taken(struct sigqueued *queued)
{
	struct posix_timer *timer = container_of(queued, struct posix_timer, signal);
	u64 passed = 0;

	if (timer->interval && !timer->armed && !timer->timer.active) {
		u64 now = posix_timer_expired_at(timer);

		passed = posix_timer_advance(timer, now);
		posix_timer_arm(timer, timer->expires);
		/* Overruns are counted from `expires`, even if the timer fires later than that. */
		if (timer->timer.active && timer->expires < now + TIMER_LEAST_NS)
			timer_set(&timer->timer, now + TIMER_LEAST_NS);
	}
	timer->overrun = (s32)MIN(passed, (u64)OVERRUN_MAX);
	queued->info.timer.overrun = timer->overrun;
}

/* Each expiry is a separate piece of work, so that other tasks run between two expiries. */
void posix_timers_tick(struct process *process, u64 run_ns)
{
	struct posix_timer *timer;

	list_for_each_long(timer, &process->posix_timers, link) {
		if (timer->armed &&
		    (timer->clock == CLOCK_PROCESS_CPUTIME_ID ? run_ns : posix_timer_now(timer)) >= timer->expires)
			note_work(&timer->expiry, expire_noted);
	}
}

/* CLOCK_REALTIME was set forward by delta ns (backward: negative): moves expiries given as dates. */
void posix_timers_clock_set(s64 delta)
{
	struct process *process;
	struct posix_timer *timer;

	list_for_each_long(process, &process_list, all) {
		list_for_each_long(timer, &process->posix_timers, link) {
			s64 expires = (s64)timer->expires - delta;

			if (timer->absolute && timer->timer.active)
				posix_timer_arm(timer, expires > 0 ? (u64)expires : 1);
		}
	}
}

static int posix_timer_event(struct posix_timer *timer, const struct sigevent *user)
{
	struct sigevent event = { .value = (u32)timer->id, .signo = SIGALRM, .notify = SIGEV_SIGNAL };

	if (user && copy_from_user(&event, user, sizeof(event)))
		return -EFAULT;
	timer->notify = event.notify & ~SIGEV_THREAD_ID;
	if (timer->notify == SIGEV_THREAD)      /* a thread of the C library waits for it */
		timer->notify = SIGEV_SIGNAL;
	if (timer->notify != SIGEV_SIGNAL && timer->notify != SIGEV_NONE)
		return -EINVAL;
	if (timer->notify == SIGEV_SIGNAL && (event.signo < 1 || event.signo > NSIG))
		return -EINVAL;
	if (event.notify & SIGEV_THREAD_ID) {
		if (!posix_timer_thread(timer, event.tid))
			return -EINVAL;
		timer->tid = event.tid;
	}
	timer->signal.info = (struct siginfo){
		.signo = event.signo,
		.code = SI_TIMER,
		.timer = { .id = timer->id, .value = event.value },
	};
	return 0;
}

static s32 posix_timer_free_id(void)
{
	for (s32 id = 0; id < TIMERS_MAX; id++) {
		if (!posix_timer_find_any(id))
			return id;
	}
	return -EAGAIN;
}

static bool clock_is_known(s32 clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_TAI || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME ||
	       clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
}

/*
 * A processor-time clock by number, if it is the caller's own: returns the clock's usual name, and the thread that it
 * counts.
 */
static s32 posix_timer_own_clock(s32 clock, s32 *counted)
{
	s32 pid = CPU_CLOCK_PID(clock);
	const struct task *task = pid ? task_find(pid) : current;

	if (clock >= 0)
		return clock;
	if ((clock & 3) == 3 || !task || task->process != current->process)
		return -1;
	if (!CPU_CLOCK_THREAD(clock))
		return CLOCK_PROCESS_CPUTIME_ID;
	*counted = task->pid;
	return CLOCK_THREAD_CPUTIME_ID;
}

static void posix_timer_destroy(struct posix_timer *timer)
{
	posix_timer_disarm(timer);
	list_del(&timer->signal.link);
	list_del(&timer->link);
	kfree(timer);
}

long sys_timer_create(s32 clock, const struct sigevent *event, s32 *user_id)
{
	s32 counted = current->pid;
	struct posix_timer *timer;
	long error;

	clock = posix_timer_own_clock(clock, &counted);
	if (!clock_is_known(clock))
		return -EINVAL;
	timer = kzalloc(sizeof(*timer));
	if (!timer)
		return -EAGAIN;
	timer->process = current->process;
	timer->clock = clock;
	timer->counted = counted;
	timer->id = posix_timer_free_id();
	timer->signal.fixed = true;
	list_init(&timer->signal.link);
	list_init(&timer->expiry.link);
	timer_init(&timer->timer, posix_timer_expired);
	/* Add the timer to the list before the copies, which may sleep: no other timer then gets its number. */
	list_add_tail(&timer->link, &current->process->posix_timers);
	error = timer->id < 0 ? timer->id : posix_timer_event(timer, event);
	if (!error && put_user(timer->id, user_id))
		error = -EFAULT;
	if (error)
		posix_timer_destroy(timer);
	else
		timer->made = true;
	return error;
}

long sys_timer_delete(int id)
{
	struct posix_timer *timer = posix_timer_find(id);

	if (!timer)
		return -EINVAL;
	posix_timer_destroy(timer);
	return 0;
}

void posix_timers_drop(struct process *process)
{
	struct posix_timer *timer, *next;

	list_for_each_long_safe(timer, next, &process->posix_timers, link)
		posix_timer_destroy(timer);
}

static struct timer_setting posix_timer_read(const struct posix_timer *timer)
{
	struct timer_setting setting = { .value = 0, .interval = timer->interval };
	u64 now = posix_timer_now(timer);

	if (timer->armed || timer->timer.active)
		setting.value = timer->expires > now ? timer->expires - now : 1;
	else if (timer->interval && !list_empty(&timer->signal.link))
		setting.value = timer->interval - (now - timer->expires) % timer->interval;
	return setting;
}

static void posix_timer_set(struct posix_timer *timer, u32 flags, const struct timer_setting *setting)
{
	u64 now = posix_timer_now(timer), value = setting->value;

	posix_timer_disarm(timer);
	timer->interval = setting->interval;
	timer->overrun = 0;
	timer->absolute = false;
	if (!value)
		return;
	if (!(flags & TIMER_ABSTIME)) {
		posix_timer_arm(timer, value < TIME_NEVER - now ? now + value : TIME_NEVER - 1);
		return;
	}
	if (timer->clock == CLOCK_REALTIME || timer->clock == CLOCK_TAI) {
		timer->absolute = true;
		value = MAX(time_since_boot(value), (u64)1);
	}
	posix_timer_arm(timer, value);
}

long sys_timer_gettime_by(int id, void *user, bool time64)
{
	struct posix_timer *timer = posix_timer_find(id);
	struct timer_setting now;

	if (!timer)
		return -EINVAL;
	now = posix_timer_read(timer);
	return timer_setting_to_user(user, time64, &now);
}

/* Sets the timer to `new` and stores the old setting in *old. */
static long posix_timer_exchange(int id, u32 flags, int error, const struct timer_setting *new,
				 struct timer_setting *old)
{
	struct posix_timer *timer = posix_timer_find(id);

	if (error)
		return error;
	if (!timer)
		return -EINVAL;
	*old = posix_timer_read(timer);
	posix_timer_set(timer, flags, new);
	return 0;
}

long sys_timer_settime_by(int id, u32 flags, const void *user, void *user_old, bool time64)
{
	struct timer_setting new, old;
	int bad = user ? timer_setting_from_user(user, time64, &new) : -EINVAL;
	long error = posix_timer_exchange(id, flags, bad, &new, &old);

	return error || !user_old ? error : timer_setting_to_user(user_old, time64, &old);
}

long sys_timer_getoverrun(int id)
{
	struct posix_timer *timer = posix_timer_find(id);

	return timer ? timer->overrun : -EINVAL;
}
