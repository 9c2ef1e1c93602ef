/* Clocks, sleeping and timers. The tests measure no durations; they check only that time advances in order. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "machine.h"

static long long nanoseconds(clockid_t clock)
{
	struct timespec t;

	MUST(clock_gettime(clock, &t));
	CHECK(t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
	return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void clocks_go_forward(void)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_BOOTTIME };

	for (unsigned int c = 0; c < sizeof(clocks) / sizeof(clocks[0]); c++) {
		long long before = nanoseconds(clocks[c]), now = before;

		for (int i = 0; i < 1000; i++) {
			long long then = nanoseconds(clocks[c]);

			CHECK(then >= now);
			now = then;
		}
		CHECK(now > before);
	}
	struct timespec t;

	CHECK_ERROR(clock_gettime(99, &t), EINVAL);
	MUST(clock_getres(CLOCK_MONOTONIC, &t));
	CHECK(t.tv_sec == 0 && t.tv_nsec > 0);
}

static void sleeping(void)
{
	struct timespec nap = { 0, 5000000 };
	long long before = nanoseconds(CLOCK_MONOTONIC);

	MUST(nanosleep(&nap, NULL));
	CHECK(nanoseconds(CLOCK_MONOTONIC) - before >= 5000000);
	before = nanoseconds(CLOCK_MONOTONIC);
	MUST(usleep(3000));
	CHECK(nanoseconds(CLOCK_MONOTONIC) - before >= 3000000);
	nap.tv_nsec = 1000000000;
	CHECK_ERROR(nanosleep(&nap, NULL), EINVAL);
	nap.tv_nsec = 0;
	nap.tv_sec = -1;
	CHECK_ERROR(nanosleep(&nap, NULL), EINVAL);
}

/*
 * A wait of a nanosecond takes 50 us, as on Linux. Threads that wait so for one that computes, as Python's do for its
 * lock, would otherwise not sleep at all, but use up their turns beside it.
 */
static void short_sleeps(void)
{
	struct timespec nap = { 0, 1 };
	long long before = nanoseconds(CLOCK_MONOTONIC);
	int word = 0;

	for (int i = 0; i < 100; i++)
		MUST(nanosleep(&nap, NULL));
	CHECK(nanoseconds(CLOCK_MONOTONIC) - before >= 100 * 50000);
	before = nanoseconds(CLOCK_MONOTONIC);
	for (int i = 0; i < 100; i++)
		CHECK_ERROR(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &nap, NULL, 0), ETIMEDOUT);
	CHECK(nanoseconds(CLOCK_MONOTONIC) - before >= 100 * 50000);
	before = nanoseconds(CLOCK_MONOTONIC);
	for (int i = 0; i < 100; i++)
		CHECK_EQUAL(ppoll(NULL, 0, &nap, NULL), 0);
	CHECK(nanoseconds(CLOCK_MONOTONIC) - before >= 100 * 50000);
	CHECK_EQUAL(prctl(PR_GET_TIMERSLACK), 50000);
}

static int own_slack(void *unused)
{
	(void)unused;
	CHECK_EQUAL(prctl(PR_GET_TIMERSLACK), 7000);
	MUST(prctl(PR_SET_TIMERSLACK, 9000, 0, 0, 0));
	CHECK_EQUAL(prctl(PR_GET_TIMERSLACK), 9000);
	/* Back to what its creator had. */
	MUST(prctl(PR_SET_TIMERSLACK, 0, 0, 0, 0));
	CHECK_EQUAL(prctl(PR_GET_TIMERSLACK), 7000);
	return 0;
}

static long long sleep_takes(long ns)
{
	const struct timespec nap = { 0, ns };
	long long before = nanoseconds(CLOCK_MONOTONIC);

	MUST(nanosleep(&nap, NULL));
	return nanoseconds(CLOCK_MONOTONIC) - before;
}

/* Each thread has a slack, which new threads and processes take over. */
static void slack(void)
{
	long long shortest = 1000000;	/* 50 us, the usual slack, are too short for a call on an i486 of 50 MHz */

	MUST(prctl(PR_SET_TIMERSLACK, 7000, 0, 0, 0));
	CHECK_EQUAL(test_in_child(own_slack, NULL), 0);
	CHECK_EQUAL(prctl(PR_GET_TIMERSLACK), 7000);
	MUST(prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0));
	for (int i = 0; i < 20; i++) {
		long long took = sleep_takes(1);

		if (took < shortest)
			shortest = took;
	}
	/* Linux may end a sleep early within its slack, and only our kernel's time does not depend on the host. */
	if (test_is_timed()) {
		CHECK(shortest < 1000000);
		MUST(prctl(PR_SET_TIMERSLACK, 1000000, 0, 0, 0));
		CHECK(sleep_takes(1) >= 1000000);
		MUST(prctl(PR_SET_TIMERSLACK, 20000000, 0, 0, 0));
		CHECK(sleep_takes(1000000) >= 20000000);
	}
	MUST(prctl(PR_SET_TIMERSLACK, 0, 0, 0, 0));
	CHECK_EQUAL(prctl(PR_GET_TIMERSLACK), 50000);
}

static void absolute_sleep(void)
{
	struct timespec until;
	long long wanted;

	MUST(clock_gettime(CLOCK_MONOTONIC, &until));
	until.tv_nsec += 4000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	wanted = (long long)until.tv_sec * 1000000000 + until.tv_nsec;
	CHECK_EQUAL(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL), 0);
	CHECK(nanoseconds(CLOCK_MONOTONIC) >= wanted);
	/* A date in the past returns at once. */
	CHECK_EQUAL(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL), 0);
}

static volatile sig_atomic_t ticks;

static void tick(int number)
{
	(void)number;
	ticks++;
}

static void interval_timer(void)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } }, now;

	CHECK(signal(SIGALRM, tick) != SIG_ERR);
	MUST(setitimer(ITIMER_REAL, &every, NULL));
	while (ticks < 5)
		pause();
	MUST(getitimer(ITIMER_REAL, &now));
	CHECK_EQUAL(now.it_interval.tv_usec, 3000);
	memset(&every, 0, sizeof(every));
	MUST(setitimer(ITIMER_REAL, &every, &now));
	MUST(getitimer(ITIMER_REAL, &now));
	CHECK_EQUAL(now.it_value.tv_sec + now.it_value.tv_usec, 0);
	CHECK_ERROR(setitimer(17, &every, NULL), EINVAL);
}

static void alarms(void)
{
	CHECK(signal(SIGALRM, tick) != SIG_ERR);
	alarm(100);
	CHECK(alarm(50) <= 100);
	CHECK(alarm(0) >= 49);
	CHECK_EQUAL(alarm(0), 0);
	alarm(1);
	pause();
	CHECK_EQUAL(ticks, 1);
}

static void interrupted_sleep_tells_the_rest(void)
{
	struct itimerval soon = { { 0, 0 }, { 0, 5000 } };
	struct timespec nap = { 10, 0 }, rest = { 0, 0 };

	CHECK(signal(SIGALRM, tick) != SIG_ERR);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	CHECK_ERROR(nanosleep(&nap, &rest), EINTR);
	CHECK(rest.tv_sec >= 8 && rest.tv_sec < 10);
}

static void virtual_timer(void)
{
	struct itimerval soon = { { 0, 0 }, { 0, 5000 } };

	CHECK(signal(SIGVTALRM, tick) != SIG_ERR);
	MUST(setitimer(ITIMER_VIRTUAL, &soon, NULL));
	while (!ticks)
		;
	CHECK_EQUAL(ticks, 1);
}

static void posix_timer(void)
{
	struct sigevent event;
	struct itimerspec soon = { { 0, 2000000 }, { 0, 2000000 } };
	timer_t timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGUSR1;
	CHECK(signal(SIGUSR1, tick) != SIG_ERR);
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	MUST(timer_settime(timer, 0, &soon, NULL));
	while (ticks < 3)
		pause();
	MUST(timer_delete(timer));
	CHECK_ERROR(timer_gettime(timer, &soon), EINVAL);
}

static void time_of_day(void)
{
	struct timeval a, b;
	time_t now = time(NULL);

	MUST(gettimeofday(&a, NULL));
	MUST(gettimeofday(&b, NULL));
	CHECK(a.tv_sec >= now);
	CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_usec >= a.tv_usec));
}

static void process_times(void)
{
	struct tms before, after;
	volatile unsigned int sink = 0;

	CHECK(times(&before) != (clock_t)-1);
	do {
		for (unsigned int i = 0; i < 100000; i++)
			sink += i;
		CHECK(times(&after) != (clock_t)-1);
	} while (after.tms_utime == before.tms_utime);
	CHECK(after.tms_utime > before.tms_utime);
}

/* A timer on the processor-time clock of this process, named by its number. */
static void timer_of_own_processor_time(void)
{
	struct itimerspec soon = { .it_value.tv_nsec = 20000000 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct timespec none = { 0, 0 };
	clockid_t clock;
	timer_t timer;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	CHECK_EQUAL(clock_getcpuclockid(getpid(), &clock), 0);
	MUST(timer_create(clock, &event, &timer));
	MUST(timer_settime(timer, 0, &soon, NULL));
	while (sigtimedwait(&set, NULL, &none) != SIGUSR1)
		;
	CHECK(nanoseconds(clock) >= 20000000);
	MUST(timer_delete(timer));
}

/* At a tick the kernel reads the instruction before the interrupted one, which may be on an untouched page. */
static void ticks_touch_no_page(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *unused = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *loop = unused + page;
	struct tms before, after;
	unsigned char present;

	CHECK(unused != MAP_FAILED);
	machine_loop_make(loop);
	machine_code_written(loop);
	CHECK(times(&before) != (clock_t)-1);
	do {
		machine_loop_run(loop, 1000000);
		CHECK(times(&after) != (clock_t)-1);
	} while (after.tms_utime < before.tms_utime + 2);
	MUST(mincore(unused, page, &present));
	CHECK_EQUAL(present & 1, 0);
	MUST(munmap(unused, 2 * page));
}

static const struct test_case cases[] = {
	CASE(clocks_go_forward), CASE(sleeping), CASE(short_sleeps), CASE(slack), CASE(absolute_sleep),
	CASE(interval_timer), CASE(alarms),
	CASE(interrupted_sleep_tells_the_rest), CASE(virtual_timer), CASE(posix_timer), CASE(time_of_day),
	CASE(process_times), CASE(timer_of_own_processor_time), CASE(ticks_touch_no_page),
};

TEST_MAIN("timer", cases)
