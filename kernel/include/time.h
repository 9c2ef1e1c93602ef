/*
 * Clocks and kernel timers.
 *
 * All kernel time is unsigned 64-bit nanoseconds since boot (CLOCK_MONOTONIC),
 * read from the timebase. Deadlines are absolute; TIME_NEVER means none.
 */
#ifndef TIME_H
#define TIME_H
#include <abi/time.h>
#include <rbtree.h>
#include <types.h>

#define NSEC_PER_SEC  1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_USEC 1000ULL
#define TIME_NEVER    (~0ULL)

/* The scheduler's ticks in a second; also sysconf(_SC_CLK_TCK), which the ABI fixes at 100. */
#define HZ            100
#define NSEC_PER_TICK (NSEC_PER_SEC / HZ)

/* Called once, before the first interrupt, with the device tree's timebase-frequency. */
void time_init(u32 timebase_hz);
void time_init_cpu(void);       /* the timer of one more processor */

extern u32 time_tick_length;           /* of a tick of the scheduler, in ticks of the timebase */
u64 time_now_ns(void);                 /* since boot */
u64 time_ticks_to_ns(u64 ticks);       /* of the timebase */
u64 time_real_ns(void);                /* since 1970-01-01 UTC */
u32 time_real_seconds(void);           /* for file times */
void time_set_real_ns(u64 now);

/* -EINVAL for a bad field. */
struct timeval32 ns_to_timeval32(u64 ns);
int timeval32_to_ns(const struct timeval32 *tv, u64 *ns);

/*
 * Times in user memory: 0, -EFAULT or -EINVAL. time64: a struct timespec64, else a struct timespec32. A limit may be
 * NULL: TIME_NEVER.
 */
int timeval32_from_user(const struct timeval32 *user, u64 *ns);
int time_from_user(const void *user, bool time64, u64 *ns);
int time_limit_from_user(const void *user, bool time64, u64 *ns);
int time_to_user(void *user, bool time64, u64 ns);

/* A timer's first expiry and its interval, in ns. */
struct timer_setting {
	u64 value, interval;
};
int timer_setting_from_user(const void *user, bool time64, struct timer_setting *);
int timer_setting_to_user(void *user, bool time64, const struct timer_setting *);       /* 0 or -EFAULT */

/* Converts a date (CLOCK_REALTIME) to ns since boot, as the clock is set now; 0 for a date before boot. */
u64 time_since_boot(u64 date_ns);

/* now + delta; TIME_NEVER if that overflows. */
u64 time_deadline(u64 delta_ns);

struct cpu;

/*
 * A one-shot timer. fire() runs in the timer interrupt, with the timer already inactive; it may set the timer
 * again and must not sleep.
 */
struct timer {
	struct rb_node node;            /* while active: by expiry */
	struct cpu *cpu;                /* while active: the processor whose interrupt fires it */
	u64 expires;
	u64 due;                        /* when fire() is called: `expires`, or later; TIME_NEVER: not at all */
	void (*fire)(struct timer *timer);
	bool active;
};

/*
 * A periodic timer starts its next interval when its signal is taken, and expires at the earliest this long after that.
 * Even the slowest machine enters the handler in less time, so the program runs before the timer expires again.
 */
#define TIMER_LEAST_NS (NSEC_PER_TICK / 50)

void timer_init(struct timer *timer, void (*fire)(struct timer *));
void timer_set(struct timer *timer, u64 expires);
void timer_cancel(struct timer *timer);

/*
 * The same for a wait that usually ends before its limit. A cancelled timer stays where it is, and the next limit moves
 * it only if it is earlier. When the timer expires, it is set to its latest limit, or removed if it was cancelled.
 */
void timer_set_lazily(struct timer *timer, u64 expires);
void timer_cancel_lazily(struct timer *timer);

struct regs;

/* Called by the handler of the processor's timer interrupt, with interrupts off. */
void timer_interrupt(struct regs *regs);

#endif
