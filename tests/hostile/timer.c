/* Timers that expire again at once: other processes must still get the processor. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "common/attack.h"

#define TIMERS 32

static const struct itimerval soon = { { 0, 1 }, { 0, 1 } };
static const struct itimerspec at_once = { { 0, 1 }, { 0, 1 } };

static volatile sig_atomic_t taken;

static void count_signal(int n)
{
	(void)n;
	taken++;
}

static void set_handler(int sig, int flags, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	MUST(sigaction(sig, &action, NULL));
}

static int interval_timer(void *argument)
{
	(void)argument;
	set_handler(SIGALRM, 0, count_signal);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	for (;;)
		;
	return 0;
}

static int ignored_timer(void *argument)
{
	(void)argument;
	set_handler(SIGALRM, 0, SIG_IGN);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	for (;;)
		;
	return 0;
}

static int blocked_timer(void *argument)
{
	sigset_t set;

	(void)argument;
	sigfillset(&set);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	for (;;)
		;
	return 0;
}

/* Each handler is interrupted by the next one, until the stack is full. */
static int nested_timer(void *argument)
{
	(void)argument;
	set_handler(SIGALRM, SA_NODEFER, count_signal);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	for (;;)
		;
	return 0;
}

static int posix_timers(void *argument)
{
	int flags = *(const int *)argument;

	for (int i = 0; i < TIMERS; i++) {
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
			.sigev_signo = SIGRTMIN + i % (SIGRTMAX - SIGRTMIN) };
		timer_t timer;

		set_handler(event.sigev_signo, flags, count_signal);
		MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
		MUST(timer_settime(timer, 0, &at_once, NULL));
	}
	for (;;)
		;
	return 0;
}

static int timer_files(void *argument)
{
	int files[TIMERS];

	(void)argument;
	for (int i = 0; i < TIMERS; i++) {
		files[i] = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
		MUST(timerfd_settime(files[i], 0, &at_once, NULL));
	}
	for (;;) {
		for (int i = 0; i < TIMERS; i++) {
			uint64_t count;

			MUST(read(files[i], &count, sizeof(count)));
		}
	}
	return 0;
}

static int sleeper(void *argument)
{
	const struct timespec little = { 0, 1 };

	(void)argument;
	for (;;)
		MUST(nanosleep(&little, NULL));
	return 0;
}

/* A process beyond its processor-time limit handles the signal: it then gets one signal each second, not more. */
static int over_its_limit(void *argument)
{
	struct rlimit limit = { 0, 100 };

	(void)argument;
	set_handler(SIGXCPU, 0, count_signal);
	MUST(setrlimit(RLIMIT_CPU, &limit));
	for (;;)
		;
	return 0;
}

/* One thread locks a mutex and keeps it; the other waits with a timeout that has expired or with none. */
static int mutex_waits(void *argument)
{
	static const struct timespec past = { 0, 1 }, never = { 0x7fffffff, 999999999 };
	static uint32_t mutex;

	(void)argument;
	mutex = (uint32_t)getppid();
	set_handler(SIGALRM, 0, count_signal);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	for (int i = 0;; i++)
		(void)syscall(SYS_futex, &mutex, FUTEX_LOCK_PI, 0, i % 4 ? &past : &never, NULL, 0);
	return 0;
}

/* Timers of one nanosecond in epoll sets, and in sets of sets. */
static int timers_in_sets(void *argument)
{
	struct epoll_event event = { .events = EPOLLIN };
	int outer = (int)MUST(epoll_create1(0));

	(void)argument;
	for (int i = 0; i < TIMERS; i++) {
		int set = (int)MUST(epoll_create1(0)), fd = (int)MUST(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));

		MUST(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
		event.data.fd = fd;
		MUST(epoll_ctl(outer, EPOLL_CTL_ADD, set, &event));
		MUST(timerfd_settime(fd, 0, &at_once, NULL));
	}
	for (;;) {
		struct epoll_event ready;
		uint64_t count;

		MUST(epoll_wait(outer, &ready, 1, -1));
		(void)!read(ready.data.fd, &count, sizeof(count));
	}
	return 0;
}

static int handled = 0, nested = SA_NODEFER;

static const struct {
	const char *name;
	int (*run)(void *);
	void *argument;
} attacks[] = {
	{ "interval_timer", interval_timer, NULL },
	{ "ignored_timer", ignored_timer, NULL },
	{ "blocked_timer", blocked_timer, NULL },
	{ "nested_timer", nested_timer, NULL },
	{ "posix_timers", posix_timers, &handled },
	{ "nested_posix_timers", posix_timers, &nested },
	{ "timer_files", timer_files, NULL },
	{ "sleeper", sleeper, NULL },
	{ "over_its_limit", over_its_limit, NULL },
	{ "mutex_waits", mutex_waits, NULL },
	{ "timers_in_sets", timers_in_sets, NULL },
};

#define ATTACKERS 2

/* A program starts and ends beside the attackers; then the attackers are killed. */
static void others_get_their_turn(void)
{
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		pid_t attackers[ATTACKERS], child;

		for (int n = 0; n < ATTACKERS; n++)
			attackers[n] = test_child(attacks[i].run, attacks[i].argument);
		child = (pid_t)MUST(fork());
		if (child == 0) {
			execl("/bin/hello", "hello", attacks[i].name, (char *)NULL);
			_exit(1);
		}
		CHECK_EQUAL(test_wait(child), 0);
		for (int n = 0; n < ATTACKERS; n++)
			MUST(kill(attackers[n], SIGKILL));
		for (int n = 0; n < ATTACKERS; n++)
			CHECK(test_wait(attackers[n]) >= 1000);
	}
}

static volatile int *progress;

static int worker(void *argument)
{
	(void)argument;
	set_handler(SIGALRM, 0, count_signal);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	for (int i = 0; i < 2000; i++)
		*progress = i;
	return 0;
}

/* The program that set such a timer makes progress too. */
static void the_program_itself_goes_on(void)
{
	progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(progress != MAP_FAILED);
	CHECK_EQUAL(test_in_child(worker, NULL), 0);
}

/* The interval begins again when the signal is taken, and the timer shows the interval until then. */
static void the_interval_goes_on(void)
{
	const struct itimerval often = { { 0, 5000 }, { 0, 5000 } }, off = { { 0, 5000 }, { 0, 0 } };
	struct itimerval now;
	sigset_t set, old;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	set_handler(SIGALRM, 0, count_signal);
	MUST(setitimer(ITIMER_REAL, &often, NULL));
	while (taken < 5)
		pause();
	MUST(sigprocmask(SIG_BLOCK, &set, &old));
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(sigwait(&set, &sig), 0);
	MUST(getitimer(ITIMER_REAL, &now));
	CHECK(now.it_value.tv_usec > 0 || now.it_value.tv_sec > 0);
	CHECK_EQUAL(now.it_interval.tv_usec, 5000);
	MUST(setitimer(ITIMER_REAL, &off, NULL));
	MUST(getitimer(ITIMER_REAL, &now));
	CHECK_EQUAL(now.it_value.tv_usec, 0);
}

static const struct test_case cases[] = {
	CASE(others_get_their_turn),
	CASE(the_program_itself_goes_on),
	CASE(the_interval_goes_on),
};

ATTACK_MAIN("timer", cases)
