/* Timeouts in user memory. */
#include <time.h>
#include <timeout.h>
#include <uaccess.h>

#include "readiness.h"

int timeout_load(struct timeout *timeout, void *user, enum timeout_form form)
{
	u64 ns;
	int error;

	timeout->user = user;
	timeout->form = form;
	timeout->deadline = TIME_NEVER;
	if (!user)
		return 0;
	if (form != TIMEVAL32) {
		error = time_from_user(user, form == TIMESPEC64, &ns);
	} else {
		struct timeval32 tv;

		if (copy_from_user(&tv, user, sizeof(tv)))
			return -EFAULT;
		/* usec may be a second or more, as on Linux. */
		error = tv.sec < 0 || tv.usec < 0 ? -EINVAL : 0;
		ns = (u64)tv.sec * NSEC_PER_SEC + (u64)tv.usec * NSEC_PER_USEC;
	}
	if (!error)
		timeout->deadline = poll_deadline(ns);
	return error;
}

void timeout_store(const struct timeout *timeout)
{
	u64 now, left;
	int ignored;

	if (!timeout->user || timeout->deadline == 0 || timeout->deadline == TIME_NEVER)
		return;
	now = time_now_ns();
	left = timeout->deadline > now ? timeout->deadline - now : 0;
	if (timeout->form != TIMEVAL32) {
		ignored = time_to_user(timeout->user, timeout->form == TIMESPEC64, left);
	} else {
		struct timeval32 tv = ns_to_timeval32(left);

		ignored = copy_to_user(timeout->user, &tv, sizeof(tv));
	}
	(void)ignored;
}
