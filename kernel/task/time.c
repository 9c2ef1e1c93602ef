/* The clock, read from the timebase, and kernel timers, driven by the processor's timer interrupt. */
#include <arch.h>
#include <cpu.h>
#include <errno.h>
#include <latency.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>

#include "internal.h"

/*
 * The machine has no clock chip that keeps the date, and a run must not depend on the host's: the date at boot is
 * always 2025-01-01 00:00 UTC.
 */
#define BOOT_DATE_SECONDS 1735689600ULL

/* The longest wait that is programmed at once, so that its conversion to ticks fits 64 bits. */
#define PROGRAMMED_MOST_NS NSEC_PER_SEC

static u64 ns_per_tick;         /* 32.32 fixed point: timebase tick -> ns */
static u32 ticks_per_ns;        /* 0.32 fixed point: ns -> timebase tick */
u32 time_tick_length;
static u64 boot_date_ns = BOOT_DATE_SECONDS * NSEC_PER_SEC;

/* The most timers that one interrupt fires; further due timers fire in the next interrupt, right after it. */
#define FIRED_MOST 32u

/* Converts timebase ticks to ns, exact to one part in 2^32. */
u64 time_ticks_to_ns(u64 ticks)
{
	u32 low = (u32)ticks, high = (u32)(ticks >> 32);
	u32 fraction = (u32)ns_per_tick, whole = (u32)(ns_per_tick >> 32);

	return (((u64)low * fraction) >> 32) + (u64)low * whole + (u64)high * ns_per_tick;
}

u64 time_now_ns(void)
{
	return time_ticks_to_ns(arch_timebase());
}

u64 time_real_ns(void)
{
	return boot_date_ns + time_now_ns();
}

u32 time_real_seconds(void)
{
	return (u32)(time_real_ns() / NSEC_PER_SEC);
}

void (*timerfds_clock_set)(s64 delta);

void time_set_real_ns(u64 now)
{
	u64 boot_date = now - time_now_ns();
	s64 delta = (s64)(boot_date - boot_date_ns);

	boot_date_ns = boot_date;
	posix_timers_clock_set(delta);
	if (timerfds_clock_set)
		timerfds_clock_set(delta);
	sleep_clock_set();
}

struct timeval32 ns_to_timeval32(u64 ns)
{
	return (struct timeval32){ (s32)(ns / NSEC_PER_SEC), (s32)(ns % NSEC_PER_SEC / NSEC_PER_USEC) };
}

/* Seconds that do not fit 64 bits of ns (584 years) count as for ever. */
static int parts_to_ns(s64 sec, s64 fraction, u32 ns_per_part, u64 *ns)
{
	if (sec < 0 || fraction < 0 || fraction >= (s64)(NSEC_PER_SEC / ns_per_part))
		return -EINVAL;
	if (sec >= (s64)(TIME_NEVER / NSEC_PER_SEC) - 1)
		*ns = TIME_NEVER - 1;
	else
		*ns = (u64)sec * NSEC_PER_SEC + (u64)fraction * ns_per_part;
	return 0;
}

int timeval32_to_ns(const struct timeval32 *tv, u64 *ns)
{
	return parts_to_ns(tv->sec, tv->usec, NSEC_PER_USEC, ns);
}

int time_from_user(const void *user, bool time64, u64 *ns)
{
	struct timespec32 ts;
	struct timespec64 wide;

	if (time64 ? copy_from_user(&wide, user, sizeof(wide)) : copy_from_user(&ts, user, sizeof(ts)))
		return -EFAULT;
	/* The upper half of nsec is padding for a 32-bit program. */
	return time64 ? parts_to_ns(wide.sec, (s32)wide.nsec, 1, ns) : parts_to_ns(ts.sec, ts.nsec, 1, ns);
}

int time_limit_from_user(const void *user, bool time64, u64 *ns)
{
	*ns = TIME_NEVER;
	return user ? time_from_user(user, time64, ns) : 0;
}

int time_to_user(void *user, bool time64, u64 ns)
{
	struct timespec32 ts = { (s32)(ns / NSEC_PER_SEC), (s32)(ns % NSEC_PER_SEC) };
	struct timespec64 wide = { ts.sec, ts.nsec };

	return time64 ? copy_to_user(user, &wide, sizeof(wide)) : copy_to_user(user, &ts, sizeof(ts));
}

int timeval32_from_user(const struct timeval32 *user, u64 *ns)
{
	struct timeval32 tv;

	if (copy_from_user(&tv, user, sizeof(tv)))
		return -EFAULT;
	return timeval32_to_ns(&tv, ns);
}

/* The value follows the interval. */
static size_t place_of_value(bool time64)
{
	return time64 ? sizeof(struct timespec64) : sizeof(struct timespec32);
}

int timer_setting_from_user(const void *user, bool time64, struct timer_setting *setting)
{
	int error = time_from_user(user, time64, &setting->interval);
	int value_error = time_from_user((const char *)user + place_of_value(time64), time64, &setting->value);

	return error == -EFAULT || !value_error ? error : value_error;
}

int timer_setting_to_user(void *user, bool time64, const struct timer_setting *setting)
{
	return time_to_user(user, time64, setting->interval) ||
		       time_to_user((char *)user + place_of_value(time64), time64, setting->value) ? -EFAULT : 0;
}

u64 time_since_boot(u64 date_ns)
{
	return date_ns > boot_date_ns ? date_ns - boot_date_ns : 0;
}

u64 time_deadline(u64 delta_ns)
{
	u64 now = time_now_ns();

	return delta_ns >= TIME_NEVER - now ? TIME_NEVER : now + delta_ns;
}

static void timer_program(u64 now, u64 when)
{
	u64 delta = when > now ? when - now : 0;

	if (delta > PROGRAMMED_MOST_NS)
		delta = PROGRAMMED_MOST_NS;
	if (latency_sample && delta > latency_sample)
		delta = latency_sample;
	this_cpu()->programmed = now + delta;
	arch_timer_set((u32)((delta * ticks_per_ns) >> 32) + 1);
}

void timer_init(struct timer *timer, void (*fire)(struct timer *))
{
	timer->fire = fire;
	timer->active = false;
	timer->expires = timer->due = TIME_NEVER;
}

static void timer_insert(struct cpu *cpu, struct timer *timer)
{
	struct rb_node **link = &cpu->timers.node, *parent = NULL;
	bool first = true;

	while (*link) {
		bool left;

		parent = *link;
		left = timer->expires < rb_entry(parent, struct timer, node)->expires;
		link = left ? &parent->left : &parent->right;
		first &= left;
	}
	rb_insert(&cpu->timers, &timer->node, parent, link);
	timer->cpu = cpu;
	if (first)
		cpu->next_timer = timer;
}

void timer_set(struct timer *timer, u64 expires)
{
	struct cpu *cpu = this_cpu();
	u64 now;

	timer_cancel(timer);
	timer->expires = timer->due = expires;
	if (expires == TIME_NEVER)
		return;
	timer->active = true;
	timer_insert(cpu, timer);
	if (expires >= cpu->programmed)
		return;
	now = time_now_ns();
	/* If the programmed interrupt is already due, it will see this timer too. */
	if (cpu->programmed > now)
		timer_program(now, expires);
}

void timer_cancel(struct timer *timer)
{
	struct cpu *cpu = timer->cpu;

	if (!timer->active)
		return;
	timer->active = false;
	if (cpu->next_timer == timer) {
		struct rb_node *next = rb_next(&timer->node);

		cpu->next_timer = next ? rb_entry(next, struct timer, node) : NULL;
	}
	rb_erase(&cpu->timers, &timer->node);
}

void timer_set_lazily(struct timer *timer, u64 expires)
{
	if (timer->active && timer->expires <= expires)
		timer->due = expires;
	else
		timer_set(timer, expires);
}

void timer_cancel_lazily(struct timer *timer)
{
	timer->due = TIME_NEVER;
}

static void fire_expired(u64 now)
{
	for (u32 fired = 0; fired < FIRED_MOST; fired++) {
		struct timer *timer = this_cpu()->next_timer;

		if (!timer || timer->expires > now)
			return;
		timer_cancel(timer);
		if (timer->due <= now)
			timer->fire(timer);
		else
			timer_set(timer, timer->due);
	}
}

void timer_interrupt(struct regs *regs)
{
	struct cpu *cpu = this_cpu();
	u64 now = time_now_ns(), next;

	cpu->timer_irqs++;
	if (now > cpu->programmed && now - cpu->programmed > latency_longest)
		latency_note(regs, now - cpu->programmed);
	cpu->programmed = 0;            /* timers set by fire() are programmed below */
	fire_expired(now);
	if (now >= cpu->next_tick) {
		u64 late = now - cpu->next_tick;

		cpu->next_tick += NSEC_PER_TICK;
		if (cpu->next_tick <= now)   /* skip ticks missed while interrupts were off */
			cpu->next_tick = now + NSEC_PER_TICK;
		stack_check(regs);
		sched_tick(regs, late);
	}
	next = cpu->next_tick;
	if (cpu->next_timer && cpu->next_timer->expires < next)
		next = cpu->next_timer->expires;
	timer_program(time_now_ns(), next);
}

void time_init_cpu(void)
{
	this_cpu()->next_tick = time_now_ns() + NSEC_PER_TICK;
	timer_program(time_now_ns(), this_cpu()->next_tick);
}

void time_init(u32 timebase_hz)
{
	ns_per_tick = (NSEC_PER_SEC << 32) / timebase_hz;
	ticks_per_ns = (u32)(((u64)timebase_hz << 32) / NSEC_PER_SEC);
	time_tick_length = timebase_hz / HZ;
	time_init_cpu();
}
