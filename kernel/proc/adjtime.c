/*
 * adjtimex(2) and its relatives. The machine's clock is exact and its rate never changes: values that a program sets
 * are stored and returned. An offset is applied at once.
 */
#include <abi/timex.h>
#include <errno.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>

#include "../task/internal.h"

static struct clock_state {
	s32 offset, frequency, error_most, error_estimate, status, constant, tick, tai;
} clock_state = {
	.error_most = 16000000, .error_estimate = 16000000, .status = STA_UNSYNC, .constant = 2,
	.tick = (s32)(NSEC_PER_SEC / HZ / NSEC_PER_USEC),
};

static s32 clamp_range(s64 value, s32 low, s32 high)
{
	return (s32)MAX((s64)low, MIN((s64)high, value));
}

static long timex_check(const struct timex64 *t)
{
	s64 unit = t->modes & ADJ_NANO ? (s64)NSEC_PER_SEC : 1000000;

	if (t->modes & ADJ_ADJTIME) {
		if (!(t->modes & ADJ_OFFSET_SINGLESHOT))
			return -EINVAL;
		return (t->modes & ADJ_OFFSET_READONLY) || capable() ? 0 : -EPERM;
	}
	if (t->modes && !capable())
		return -EPERM;
	if (t->modes & ADJ_TICK && (t->tick < 900000 / HZ || t->tick > 1100000 / HZ))
		return -EINVAL;
	if (t->modes & ADJ_SETOFFSET && (t->sub_seconds < 0 || t->sub_seconds >= unit))
		return -EINVAL;
	return 0;
}

/* Moves the clock; refuses a date before 1970. */
static long clock_step(s64 seconds, s64 part_ns)
{
	s64 now = (s64)time_real_ns(), most = INT64_MAX / (s64)NSEC_PER_SEC / 4;

	if (seconds < -most || seconds > most)
		return -EINVAL;
	now += seconds * (s64)NSEC_PER_SEC + part_ns;
	if (now < 0)
		return -EINVAL;
	time_set_real_ns((u64)now);
	return 0;
}

/* Applies the requested offset at once. */
static long clock_move(const struct timex64 *t)
{
	if (t->modes & ADJ_ADJTIME) {
		if (t->modes & ADJ_OFFSET_READONLY)
			return 0;
		return clock_step(0, (s64)clamp_range(t->offset, -INT32_MAX, INT32_MAX) * (s64)NSEC_PER_USEC);
	}
	if (!(t->modes & ADJ_SETOFFSET))
		return 0;
	return clock_step(t->seconds, t->sub_seconds * (t->modes & ADJ_NANO ? 1 : (s64)NSEC_PER_USEC));
}

static void timex_keep(const struct timex64 *t)
{
	if (t->modes & ADJ_STATUS)
		clock_state.status = (clock_state.status & STA_READ_ONLY) | (t->status & ~STA_READ_ONLY);
	if (t->modes & ADJ_NANO)
		clock_state.status |= STA_NANO;
	if (t->modes & ADJ_MICRO)
		clock_state.status &= ~STA_NANO;
	if (t->modes & ADJ_FREQUENCY)
		clock_state.frequency = clamp_range(t->frequency, -TIMEX_FREQUENCY_MAX, TIMEX_FREQUENCY_MAX);
	if (t->modes & ADJ_MAXERROR)
		clock_state.error_most = clamp_range(t->error_most, 0, TIMEX_ERROR_MAX);
	if (t->modes & ADJ_ESTERROR)
		clock_state.error_estimate = clamp_range(t->error_estimate, 0, TIMEX_ERROR_MAX);
	if (t->modes & ADJ_TIMECONST)
		clock_state.constant = clamp_range(t->constant + (clock_state.status & STA_NANO ? 0 : 4), 0, 10);
	if (t->modes & ADJ_TAI)
		clock_state.tai = clamp_range(t->constant, 0, 0x7fffffff);
	if (t->modes & ADJ_TICK)
		clock_state.tick = (s32)t->tick;
}

static void timex_show(struct timex64 *t)
{
	u64 now = time_real_ns();
	u32 part = (u32)(now % NSEC_PER_SEC);

	t->offset = clock_state.offset;
	t->frequency = clock_state.frequency;
	t->error_most = clock_state.error_most;
	t->error_estimate = clock_state.error_estimate;
	t->status = clock_state.status;
	t->constant = clock_state.constant;
	t->precision = 1;
	t->tolerance = TIMEX_FREQUENCY_MAX;
	t->seconds = (s64)(now / NSEC_PER_SEC);
	t->sub_seconds = clock_state.status & STA_NANO ? part : part / NSEC_PER_USEC;
	t->tick = clock_state.tick;
	t->tai = clock_state.tai;
}

static long clock_adjust(struct timex64 *t)
{
	long error = timex_check(t);

	if (!error)
		error = clock_move(t);
	if (error)
		return error;
	if (!(t->modes & ADJ_ADJTIME))
		timex_keep(t);
	timex_show(t);
	if (t->modes & ADJ_ADJTIME)
		t->offset = 0;  /* the whole offset is applied */
	return clock_state.status & STA_UNSYNC ? TIME_ERROR : TIME_OK;
}

static void timex_widen(struct timex64 *wide, const struct timex32 *t)
{
	*wide = (struct timex64){
		.modes = t->modes, .offset = t->offset, .frequency = t->frequency, .error_most = t->error_most,
		.error_estimate = t->error_estimate, .status = t->status, .constant = t->constant,
		.seconds = t->seconds, .sub_seconds = t->sub_seconds, .tick = t->tick,
	};
}

static void timex_narrow(struct timex32 *t, const struct timex64 *wide)
{
	*t = (struct timex32){
		.modes = wide->modes, .offset = (s32)wide->offset, .frequency = (s32)wide->frequency,
		.error_most = (s32)wide->error_most, .error_estimate = (s32)wide->error_estimate,
		.status = wide->status, .constant = (s32)wide->constant, .precision = (s32)wide->precision,
		.tolerance = (s32)wide->tolerance, .seconds = (s32)wide->seconds,
		.sub_seconds = (s32)wide->sub_seconds, .tick = (s32)wide->tick, .tai = wide->tai,
	};
}

static long check_clock(s32 clock)
{
	if (clock == CLOCK_REALTIME)
		return 0;
	return clock_known(clock) ? -EOPNOTSUPP : -EINVAL;
}

long sys_clock_adjtime_by(s32 clock, void *user, bool time64)
{
	struct timex32 t;
	struct timex64 wide;
	long result = check_clock(clock);

	if (result)
		return result;
	if (time64 ? copy_from_user(&wide, user, sizeof(wide)) : copy_from_user(&t, user, sizeof(t)))
		return -EFAULT;
	if (!time64)
		timex_widen(&wide, &t);
	result = clock_adjust(&wide);
	if (result < 0)
		return result;
	if (!time64)
		timex_narrow(&t, &wide);
	if (time64 ? copy_to_user(user, &wide, sizeof(wide)) : copy_to_user(user, &t, sizeof(t)))
		return -EFAULT;
	return result;
}
