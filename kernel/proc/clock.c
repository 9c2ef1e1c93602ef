/* The clocks' system calls. */
#include <arch.h>
#include <errno.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>

#include "../task/internal.h"

static int cpu_clock(s32 clock, u64 *ns)
{
	s32 pid = CPU_CLOCK_PID(clock);
	struct task *task = pid ? task_find(pid) : current;

	if ((clock & 3) == 3 || !task)
		return -EINVAL;
	if (CPU_CLOCK_THREAD(clock)) {
		if (task->process != current->process)
			return -EINVAL;
		*ns = task_run_ns(task);
	} else {
		if (pid && task->pid != task->tgid)
			return -EINVAL;
		*ns = process_run_ns(task->process);
	}
	return 0;
}

static int clock_read(s32 clock, u64 *ns)
{
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		*ns = time_real_ns();
		return 0;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*ns = time_now_ns();
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
		*ns = process_run_ns(current->process);
		return 0;
	case CLOCK_THREAD_CPUTIME_ID:
		*ns = task_run_ns(current);
		return 0;
	default:
		return clock < 0 ? cpu_clock(clock, ns) : -EINVAL;
	}
}

bool clock_known(s32 clock)
{
	u64 ignored;

	return !clock_read(clock, &ignored);
}

long sys_clock_gettime_by(s32 clock, void *user, bool time64)
{
	u64 ns;
	int error = clock_read(clock, &ns);

	return error ? error : time_to_user(user, time64, ns);
}

static long set_real_time(u64 ns)
{
	if (!capable())
		return -EPERM;
	time_set_real_ns(ns);
	return 0;
}

static long clock_set(s32 clock, int error, u64 ns)
{
	u64 ignored;

	if (clock != CLOCK_REALTIME)
		return clock_read(clock, &ignored) || clock > 0 ? -EINVAL : -EPERM;
	return error ? error : set_real_time(ns);
}

long sys_clock_settime_by(s32 clock, const void *user, bool time64)
{
	u64 ns = 0;
	int error = time_from_user(user, time64, &ns);

	return clock_set(clock, error, ns);
}

/* Coarse clocks have the resolution of a tick; all other clocks follow the timebase and report 1 ns, as Linux does. */
static int clock_resolution(s32 clock, u64 *ns)
{
	u64 ignored;
	int error = clock_read(clock, &ignored);

	*ns = clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE ? NSEC_PER_TICK : 1;
	return error;
}

long sys_clock_getres_by(s32 clock, void *user, bool time64)
{
	u64 ns;
	int error = clock_resolution(clock, &ns);

	return error || !user ? error : time_to_user(user, time64, ns);
}

long sys_gettimeofday(struct timeval32 *now, struct timezone32 *zone)
{
	struct timeval32 tv = ns_to_timeval32(time_real_ns());
	struct timezone32 utc = { 0, 0 };

	if (now && copy_to_user(now, &tv, sizeof(tv)))
		return -EFAULT;
	if (zone && copy_to_user(zone, &utc, sizeof(utc)))
		return -EFAULT;
	return 0;
}

/* UTC is the only time zone. */
long sys_settimeofday(const struct timeval32 *now, const struct timezone32 *zone)
{
	struct timezone32 wanted;
	u64 ns;
	int error;

	if (zone && copy_from_user(&wanted, zone, sizeof(wanted)))
		return -EFAULT;
	if (!now)
		return capable() ? 0 : -EPERM;
	error = timeval32_from_user(now, &ns);
	return error ? error : set_real_time(ns);
}

long sys_time(s32 *result)
{
	s32 now = (s32)time_real_seconds();

	if (result && put_user(now, result))
		return -EFAULT;
	return now;
}

long sys_stime(const s32 *seconds)
{
	s32 now;

	if (get_user(now, seconds))
		return -EFAULT;
	return now < 0 ? -EINVAL : set_real_time((u64)now * NSEC_PER_SEC);
}
