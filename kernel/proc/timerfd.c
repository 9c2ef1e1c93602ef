/* timerfd: reading a timer's expiries from a descriptor. */
#include <abi/time.h>
#include <anon.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <signal.h>
#include <syscall.h>
#include <time.h>
#include <wait.h>

#include "internal.h"

struct timerfd {
	struct list_head link;          /* in `dated`, if its expiry is a date */
	struct timer timer;
	s32 clock;
	u64 expires, interval;          /* ns since boot; expires: the next or last expiry */
	bool expired;                   /* since it was set or read */
	bool cancel_on_set, cancelled;  /* setting the clock cancels a date (ECANCELED) */
	struct waitq readable;
	struct wake_note note;          /* of readable */
};

static struct list_head dated = LIST_HEAD_INIT(dated);

/*
 * A periodic timer stops at its expiry until it is read; the missed expiries are counted then, so no interval is too
 * short.
 */
static void timerfd_expired(struct timer *timer)
{
	struct timerfd *t = container_of(timer, struct timerfd, timer);

	t->expired = true;
	wake_up_noted(&t->note);
}

static u64 take_expiries(struct timerfd *t)
{
	u64 count = 1;

	t->expired = false;
	if (t->interval) {
		u64 now = time_now_ns();

		count += (now - t->expires) / t->interval;
		t->expires += count * t->interval;
		timer_set(&t->timer, t->expires);
	}
	return count;
}

static long timerfd_read(struct file *f, struct iter *it, u64 *position)
{
	struct timerfd *t = f->data;
	u64 count;
	long n;

	(void)position;
	if (it->left < sizeof(count))
		return -EINVAL;
	n = file_wait_event(f, &t->readable, t->expired || t->cancelled);
	if (n)
		return n;
	if (t->cancelled) {
		t->cancelled = false;
		return -ECANCELED;
	}
	count = take_expiries(t);
	return iter_write(it, &count, sizeof(count)) == (long)sizeof(count) ? (long)sizeof(count) : -EFAULT;
}

static unsigned timerfd_poll(struct file *f, struct poll_table *table)
{
	struct timerfd *t = f->data;

	poll_wait(table, &t->readable);
	return t->expired || t->cancelled ? POLLIN | POLLRDNORM : 0;
}

static void timerfd_release(struct file *f)
{
	struct timerfd *t = f->data;

	timer_cancel(&t->timer);
	wake_note_drop(&t->note);
	list_del(&t->link);
	kfree(t);
}

static const struct file_ops timerfd_ops = {
	.read = timerfd_read, .poll = timerfd_poll, .release = timerfd_release,
};

/* CLOCK_REALTIME was set forward by delta ns. */
void timerfds_clock_set(s64 delta)
{
	struct timerfd *t;

	list_for_each_entry(t, &dated, link) {
		s64 expires = (s64)t->expires - delta;

		if (t->timer.active) {
			t->expires = expires > 0 ? (u64)expires : 1;
			timer_set(&t->timer, t->expires);
		}
		if (t->cancel_on_set) {
			t->cancelled = true;
			wake_up(&t->readable);
		}
	}
}

long sys_timerfd_create(s32 clock, u32 flags)
{
	struct timerfd *t;

	if (flags & ~(u32)(O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		return -EINVAL;
	t = kzalloc(sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->clock = clock;
	list_init(&t->link);
	timer_init(&t->timer, timerfd_expired);
	waitq_init(&t->readable);
	wake_note_init(&t->note, &t->readable);
	return fd_anonymous("timerfd", O_RDWR | flags, &timerfd_ops, t);
}

static struct timer_setting timerfd_read_timer(const struct timerfd *t)
{
	struct timer_setting setting = { .value = 0, .interval = t->interval };
	u64 now = time_now_ns();

	if (t->timer.active)
		setting.value = t->expires > now ? t->expires - now : 1;
	else if (t->expired && t->interval)
		setting.value = t->interval - (now - t->expires) % t->interval;
	return setting;
}

static void timerfd_set_timer(struct timerfd *t, u32 flags, const struct timer_setting *setting)
{
	bool date = (flags & TIMER_ABSTIME) && t->clock == CLOCK_REALTIME;

	timer_cancel(&t->timer);
	list_del(&t->link);
	t->expired = t->cancelled = false;
	t->interval = setting->interval;
	t->cancel_on_set = date && (flags & TFD_TIMER_CANCEL_ON_SET);
	if (!setting->value)
		return;
	if (!(flags & TIMER_ABSTIME))
		t->expires = time_deadline(setting->value);
	else
		t->expires = date ? time_since_boot(setting->value) : setting->value;
	if (date)
		list_add(&t->link, &dated);
	timer_set(&t->timer, t->expires);
}

static long timerfd_exchange(int fd, u32 flags, int error, const struct timer_setting *new, struct timer_setting *old)
{
	struct file *f;

	if (error)
		return error;
	if (flags & ~(TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET))
		return -EINVAL;
	f = fd_get_of(fd, &timerfd_ops, -EINVAL);
	if (IS_ERR(f))
		return PTR_ERR(f);
	*old = timerfd_read_timer(f->data);
	timerfd_set_timer(f->data, flags, new);
	file_put(f);
	return 0;
}

static long inspect(int fd, struct timer_setting *now)
{
	struct file *f = fd_get_of(fd, &timerfd_ops, -EINVAL);

	if (IS_ERR(f))
		return PTR_ERR(f);
	*now = timerfd_read_timer(f->data);
	file_put(f);
	return 0;
}

long sys_timerfd_settime(int fd, u32 flags, const struct itimerspec32 *user, struct itimerspec32 *user_old)
{
	struct timer_setting new, old;
	long error = timerfd_exchange(fd, flags, itimerspec32_from_user(user, &new), &new, &old);

	return error || !user_old ? error : itimerspec32_to_user(user_old, &old);
}

long sys_timerfd_settime64(int fd, u32 flags, const struct itimerspec64 *user, struct itimerspec64 *user_old)
{
	struct timer_setting new, old;
	long error = timerfd_exchange(fd, flags, itimerspec64_from_user(user, &new), &new, &old);

	return error || !user_old ? error : itimerspec64_to_user(user_old, &old);
}

long sys_timerfd_gettime(int fd, struct itimerspec32 *user)
{
	struct timer_setting now;
	long error = inspect(fd, &now);

	return error ? error : itimerspec32_to_user(user, &now);
}

long sys_timerfd_gettime64(int fd, struct itimerspec64 *user)
{
	struct timer_setting now;
	long error = inspect(fd, &now);

	return error ? error : itimerspec64_to_user(user, &now);
}
