/* How long interrupts wait in calls and timers of a process with many threads. Uses guest time, so only our kernel can
 * pass. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/latency.h"
#include "common/threads.h"

#define TIMERS 64

static void spin(long ms)
{
	long long end = test_now() + ms * 1000000ll;

	while (test_now() < end)
		;
}

static void send_to_process(void)
{
	test_start_threads();
	MUST(kill(getpid(), SIGUSR1));
	MUST(kill(getpid(), SIGCONT));
	MUST(sigqueue(getpid(), SIGRTMIN, (union sigval){ 1 }));
}

static void expire_alarm(void)
{
	test_start_threads();
	MUST(setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 10000 } }, NULL));
	spin(30);
}

/* Many timers at one moment, each with a signal for which the kernel must find a thread. */
static void expire_timers(clockid_t clock, int signal)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
	const struct itimerspec soon = { { 0, 1000000 }, { 0, 10000000 } };
	timer_t timers[TIMERS];

	test_start_threads();
	for (int i = 0; i < TIMERS; i++)
		MUST(timer_create(clock, &event, &timers[i]));
	for (int i = 0; i < TIMERS; i++)
		MUST(timer_settime(timers[i], 0, &soon, NULL));
	spin(60);
	for (int i = 0; i < TIMERS; i++)
		MUST(timer_delete(timers[i]));
}

static void expire_real_timers(void)
{
	expire_timers(CLOCK_MONOTONIC, SIGUSR1);
}

static void continue_by_timers(void)
{
	expire_timers(CLOCK_MONOTONIC, SIGCONT);
}

static void expire_processor_timers(void)
{
	expire_timers(CLOCK_PROCESS_CPUTIME_ID, SIGUSR1);
}

static void expire_processor_alarms(void)
{
	const struct itimerval soon = { { 0, 10000 }, { 0, 10000 } };

	test_start_threads();
	MUST(setitimer(ITIMER_VIRTUAL, &soon, NULL));
	MUST(setitimer(ITIMER_PROF, &soon, NULL));
	MUST(setrlimit(RLIMIT_CPU, &(struct rlimit){ 1000, 1000 }));
	spin(60);
}

static int die_by_a_timer(void *argument)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	const struct itimerspec soon = { { 0, 0 }, { 0, 10000000 } };
	timer_t timer;

	(void)argument;
	test_start_threads();
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	MUST(timer_settime(timer, 0, &soon, NULL));
	spin(1000);
	return 0;
}

static void be_killed_by_a_timer(void)
{
	CHECK_EQUAL(test_in_child(die_by_a_timer, NULL), 1000 + SIGKILL);
}

static int have_threads(void *argument)
{
	test_start_threads();
	CHECK_EQUAL(write(*(int *)argument, "x", 1), 1);
	for (;;)
		pause();
	return 0;
}

/* A child that has all its threads. */
static pid_t start_child(void)
{
	int both[2];
	pid_t child;
	char byte;

	MUST(pipe(both));
	child = test_child(have_threads, &both[1]);
	CHECK_EQUAL(read(both[0], &byte, 1), 1);
	return child;
}

static void stop_and_continue(void)
{
	pid_t child = start_child();

	for (int i = 0; i < 2; i++) {
		MUST(kill(child, SIGSTOP));
		CHECK_EQUAL(waitpid(child, NULL, WUNTRACED), child);
		MUST(kill(child, SIGCONT));
		CHECK_EQUAL(waitpid(child, NULL, WCONTINUED), child);
	}
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static int abort_with_threads(void *argument)
{
	(void)argument;
	test_start_threads();
	abort();
}

static void leave_a_core(void)
{
	MUST(chdir(test_path("")));
	MUST(setrlimit(RLIMIT_CORE, &(struct rlimit){ 65536, 65536 }));
	CHECK_EQUAL(test_in_child(abort_with_threads, NULL), 1000 + SIGABRT);
	CHECK(access("core", F_OK) == 0);
}

/* A stop reaches a thread that is traced beside those that are not. */
static void stop_seized_threads(void)
{
	pid_t child = start_child();

	MUST(ptrace(PTRACE_SEIZE, child, 0, 0));
	MUST(kill(child, SIGSTOP));
	CHECK_EQUAL(waitpid(child, NULL, 0), child);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static void ignore_a_signal(void)
{
	test_start_threads();
	signal(SIGUSR1, SIG_IGN);
}

static void end_together(void)
{
	test_start_threads();
	_exit(0);
}

static void replace_the_program(void)
{
	test_start_threads();
	execl("/bin/hello", "/bin/hello", NULL);
	CHECK(0);
}

static void ask_for_usage(void)
{
	static char text[65536];
	static const char *const files[] = { "/proc/self/stat", "/proc/self/status", "/proc/loadavg", "/proc/stat" };
	struct timespec time;
	struct rusage usage;
	int fd;

	test_start_threads();
	MUST(getrusage(RUSAGE_SELF, &usage));
	MUST(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		CHECK(test_read_file(files[i], text, sizeof(text)) > 0);
	fd = (int)MUST(open("/proc/self/task", O_RDONLY | O_DIRECTORY));
	while (MUST(syscall(SYS_getdents64, fd, text, sizeof(text))) > 0)
		;
	MUST(setrlimit(RLIMIT_DATA, &(struct rlimit){ 1 << 28, 1 << 28 }));
	MUST(setpriority(PRIO_USER, 0, 1));
}

static const struct test_case calls[] = {
	CASE(send_to_process), CASE(expire_alarm), CASE(expire_real_timers), CASE(continue_by_timers),
	CASE(expire_processor_timers), CASE(expire_processor_alarms), CASE(be_killed_by_a_timer),
	CASE(stop_and_continue),
	CASE(stop_seized_threads), CASE(ignore_a_signal), CASE(leave_a_core),
	CASE(end_together),
	CASE(replace_the_program), CASE(ask_for_usage),
};

static void interrupts_wait_little(void)
{
	latency_check(calls, sizeof(calls) / sizeof(calls[0]));
}

static const struct test_case cases[] = {
	CASE(interrupts_wait_little),
};

TEST_MAIN("latency_threads", cases)
