/* timerfd: reading a timer's expiries from a descriptor. */
#include <abi/time.h>
#include <anon.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <poll.h>
#include <syscall.h>
#include <time.h>
#include <wait.h>

#include "../task/internal.h"

struct timerfd {
	struct list_head link;          /* in `dated_timers`, if its expiry is a date */
	struct timer timer;
	s32 clock;
	u64 expires, interval;          /* ns since boot; expires: the next or last expiry */
	bool expired;                   /* since it was set or read */
	bool cancel_on_set, cancelled;  /* setting the clock cancels a date (ECANCELED) */
	struct waitq readable;
	struct wake_note note;          /* of readable */
};

static struct list_head dated_timers = LIST_HEAD_INIT(dated_timers);

/*
 * A periodic timer stops at its expiry until it is read; the missed expiries are counted then, so no interval is too
 * short.
 */
static void timerfd_expired(struct timer *timer)
{
	struct timerfd *timerfd = container_of(timer, struct timerfd, timer);

	timerfd->expired = true;
	wake_up_noted(&timerfd->note);
}

static u64 take_expiries(struct timerfd *timerfd)
{
	u64 count = 1;

	timerfd->expired = false;
	if (timerfd->interval) {
		u64 now = time_now_ns();

		count += (now - timerfd->expires) / timerfd->interval;
		timerfd->expires += count * timerfd->interval;
		timer_set(&timerfd->timer, timerfd->expires);
	}
	return count;
}

static long timerfd_read(struct file *file, struct iter *it, u64 *position)
{
	struct timerfd *timerfd = file->data;
	u64 count;
	long n;

	(void)position;
	if (it->left < sizeof(count))
		return -EINVAL;
	do {
		struct iter place = *it;

		n = file_wait_event(file, &timerfd->readable, timerfd->expired || timerfd->cancelled);
		if (n)
			return n;
		if (timerfd->cancelled) {
			timerfd->cancelled = false;
			return -ECANCELED;
		}
		/* Touch the memory first, so that no expiry is lost. This may sleep while another reader takes them. */
		if (iter_zero(&place, sizeof(count)) != (long)sizeof(count))
			return -EFAULT;
	} while (!timerfd->expired);
	count = take_expiries(timerfd);
	return iter_write(it, &count, sizeof(count)) == (long)sizeof(count) ? (long)sizeof(count) : -EFAULT;
}

static unsigned timerfd_poll(struct file *file, struct poll_table *table)
{
	struct timerfd *timerfd = file->data;

	poll_wait(table, &timerfd->readable);
	return timerfd->expired || timerfd->cancelled ? POLLIN : 0;
}

static void timerfd_release(struct file *file)
{
	struct timerfd *timerfd = file->data;

	timer_cancel(&timerfd->timer);
	wake_note_drop(&timerfd->note);
	list_del(&timerfd->link);
	kfree(timerfd);
}

static const struct file_ops timerfd_ops = {
	.read = timerfd_read, .poll = timerfd_poll, .release = timerfd_release,
};

/* CLOCK_REALTIME was set forward by delta ns. */
static void dated_timers_clock_set(s64 delta)
{
	struct timerfd *timerfd;

	list_for_each_entry(timerfd, &dated_timers, link) {
		s64 expires = (s64)timerfd->expires - delta;

		if (timerfd->timer.active) {
			timerfd->expires = expires > 0 ? (u64)expires : 1;
			timer_set(&timerfd->timer, timerfd->expires);
		}
		if (timerfd->cancel_on_set) {
			timerfd->cancelled = true;
			wake_up(&timerfd->readable);
		}
	}
}

long sys_timerfd_create(s32 clock, u32 flags)
{
	struct timerfd *timerfd;

	if (flags & ~(u32)(O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		return -EINVAL;
	timerfd = kzalloc(sizeof(*timerfd));
	if (!timerfd)
		return -ENOMEM;
	timerfd->clock = clock;
	list_init(&timerfd->link);
	timer_init(&timerfd->timer, timerfd_expired);
	waitq_init(&timerfd->readable);
	wake_note_init(&timerfd->note, &timerfd->readable);
	return fd_anonymous("timerfd", O_RDWR | flags, &timerfd_ops, timerfd);
}

static struct timer_setting timerfd_read_timer(const struct timerfd *timerfd)
{
	struct timer_setting setting = { .value = 0, .interval = timerfd->interval };
	u64 now = time_now_ns();

	if (timerfd->timer.active)
		setting.value = timerfd->expires > now ? timerfd->expires - now : 1;
	else if (timerfd->expired && timerfd->interval)
		setting.value = timerfd->interval - (now - timerfd->expires) % timerfd->interval;
	return setting;
}

static void timerfd_set_timer(struct timerfd *timerfd, u32 flags, const struct timer_setting *setting)
{
	bool date = (flags & TIMER_ABSTIME) && timerfd->clock == CLOCK_REALTIME;

	timer_cancel(&timerfd->timer);
	list_del(&timerfd->link);
	timerfd->expired = timerfd->cancelled = false;
	timerfd->interval = setting->interval;
	timerfd->cancel_on_set = date && (flags & TFD_TIMER_CANCEL_ON_SET);
	if (!setting->value)
		return;
	if (!(flags & TIMER_ABSTIME))
		timerfd->expires = time_deadline(setting->value);
	else
		timerfd->expires = date ? time_since_boot(setting->value) : setting->value;
	if (date) {
		timerfds_clock_set = dated_timers_clock_set;
		list_add(&timerfd->link, &dated_timers);
	}
	timer_set(&timerfd->timer, timerfd->expires);
}

static long timerfd_exchange(int fd, u32 flags, int error, const struct timer_setting *new, struct timer_setting *old)
{
	struct file *file;

	if (error)
		return error;
	if (flags & ~(TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET))
		return -EINVAL;
	file = fd_get_of(fd, &timerfd_ops, -EINVAL);
	if (IS_ERR(file))
		return PTR_ERR(file);
	*old = timerfd_read_timer(file->data);
	timerfd_set_timer(file->data, flags, new);
	file_put(file);
	return 0;
}

static long timerfd_inspect(int fd, struct timer_setting *now)
{
	struct file *file = fd_get_of(fd, &timerfd_ops, -EINVAL);

	if (IS_ERR(file))
		return PTR_ERR(file);
	*now = timerfd_read_timer(file->data);
	file_put(file);
	return 0;
}

long sys_timerfd_settime_by(int fd, u32 flags, const void *user, void *user_old, bool time64)
{
	struct timer_setting new, old;
	long error = timerfd_exchange(fd, flags, timer_setting_from_user(user, time64, &new), &new, &old);

	return error || !user_old ? error : timer_setting_to_user(user_old, time64, &old);
}

long sys_timerfd_gettime_by(int fd, void *user, bool time64)
{
	struct timer_setting now;
	long error = timerfd_inspect(fd, &now);

	return error ? error : timer_setting_to_user(user, time64, &now);
}
