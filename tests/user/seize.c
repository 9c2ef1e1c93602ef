/* ptrace: attaching to running processes, seizing them, stops of a whole process, and threads. qemu-ppc offers none. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/tracee.h"
#include "machine.h"

static void attached(void)
{
	volatile uint32_t *word;
	uint32_t before;
	char status[2048];
	pid_t child;
	char path[64];

	child = start_counter(&word);
	while (!*word)
		sched_yield();
	CHECK_ERROR(ptrace(PTRACE_PEEKUSER, child, AT(MACHINE_PC_WORD), NULL), ESRCH);
	MUST(ptrace(PTRACE_ATTACH, child, NULL, NULL));
	tracee_stops(child, SIGSTOP);
	CHECK_ERROR(ptrace(PTRACE_ATTACH, child, NULL, NULL), EPERM);
	snprintf(path, sizeof(path), "/proc/%d/status", child);
	test_read_file(path, status, sizeof(status));
	CHECK(strstr(status, "State:\tt (tracing stop)\n") != NULL);
	before = *word;
	usleep(20000);
	CHECK_EQUAL(*word, before);
	MUST(ptrace(PTRACE_DETACH, child, NULL, NULL));
	while (*word == before)
		sched_yield();
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
	CHECK_ERROR(ptrace(PTRACE_ATTACH, getpid(), NULL, NULL), EPERM);
	CHECK_ERROR(ptrace(PTRACE_ATTACH, 0x3fffffff, NULL, NULL), ESRCH);
}

/* The first process may be traced. Its tracer sees the signals sent to it and can stop it, but not end it. */
static void first_process_attached(void)
{
	MUST(ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	tracee_stops(1, SIGSTOP);
	CHECK(tracee_word(1, MACHINE_PC_WORD) != 0);
	MUST(kill(1, SIGTERM));
	MUST(kill(1, SIGKILL));
	MUST(ptrace(PTRACE_CONT, 1, NULL, (void *)SIGSTOP));
	tracee_stops(1, SIGSTOP);
	MUST(ptrace(PTRACE_CONT, 1, NULL, NULL));
	tracee_stops(1, SIGTERM);
	MUST(ptrace(PTRACE_CONT, 1, NULL, (void *)SIGTERM));
	MUST(kill(1, SIGUSR1));
	tracee_stops(1, SIGUSR1);
	MUST(ptrace(PTRACE_DETACH, 1, NULL, NULL));
	MUST(kill(1, SIGCONT));
}

static int is_traced(void *tracee)
{
	pid_t child = (pid_t)(intptr_t)tracee;

	MUST(ptrace(PTRACE_ATTACH, child, NULL, NULL));
	tracee_stops(child, SIGSTOP);
	return 0;
}

/* When a tracer ends, its tracee continues. A stopped tracee can be killed. */
static void tracer_ends(void)
{
	volatile uint32_t *word;
	uint32_t before;
	pid_t child;

	child = start_counter(&word);
	CHECK_EQUAL(test_in_child(is_traced, (void *)(intptr_t)child), 0);
	before = *word;
	while (*word == before)
		sched_yield();
	MUST(ptrace(PTRACE_ATTACH, child, NULL, NULL));
	tracee_stops(child, SIGSTOP);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

/* The wait status of a stop without a signal of its own: a stop of the whole process, or one by PTRACE_INTERRUPT. */
#define EVENT_STOP(number) (0x7f | (number) << 8 | 128 << 16)

static void seized(void)
{
	volatile uint32_t *word;
	uint32_t before;
	siginfo_t info;
	pid_t child;

	child = start_counter(&word);
	CHECK_ERROR(ptrace(PTRACE_SEIZE, child, (void *)4, NULL), EIO);
	CHECK_ERROR(ptrace(PTRACE_SEIZE, child, NULL, (void *)0x80000000u), EIO);
	CHECK_ERROR(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), ESRCH);
	MUST(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	CHECK_ERROR(ptrace(PTRACE_SEIZE, child, NULL, NULL), EPERM);
	before = *word;
	while (*word == before)
		sched_yield();
	CHECK_ERROR(ptrace(PTRACE_PEEKUSER, child, AT(MACHINE_PC_WORD), NULL), ESRCH);
	for (int again = 0; again < 2; again++) {
		MUST(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
		CHECK_EQUAL(tracee_stop(child), EVENT_STOP(SIGTRAP));
		MUST(ptrace(PTRACE_GETSIGINFO, child, NULL, &info));
		CHECK_EQUAL(info.si_signo, SIGTRAP);
		CHECK_EQUAL(info.si_code, SIGTRAP | 128 << 8);
		before = *word;
		usleep(20000);
		CHECK_EQUAL(*word, before);
		MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
		while (*word == before)
			sched_yield();
	}
	/* PTRACE_INTERRUPT during a stop makes the tracee stop once more after it continues. */
	MUST(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
	CHECK_EQUAL(tracee_stop(child), EVENT_STOP(SIGTRAP));
	MUST(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(tracee_stop(child), EVENT_STOP(SIGTRAP));
	MUST(ptrace(PTRACE_DETACH, child, NULL, NULL));
	before = *word;
	while (*word == before)
		sched_yield();
	/* These requests are refused for a tracee that was attached, not seized. */
	MUST(ptrace(PTRACE_ATTACH, child, NULL, NULL));
	tracee_stops(child, SIGSTOP);
	CHECK_ERROR(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), EIO);
	CHECK_ERROR(ptrace(PTRACE_LISTEN, child, NULL, NULL), EIO);
	MUST(ptrace(PTRACE_KILL, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static int sleeps_a_while(void *unused)
{
	struct timespec some = { 0, 50000000 };

	(void)unused;
	return nanosleep(&some, NULL) == 0 ? 12 : 13;
}

/* An interrupted call is restarted. */
static void sleeper_interrupted(void)
{
	pid_t child = test_child(sleeps_a_while, NULL);

	MUST(ptrace(PTRACE_SEIZE, child, NULL, (void *)PTRACE_O_TRACESYSGOOD));
	usleep(10000);
	MUST(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
	CHECK_EQUAL(tracee_stop(child), EVENT_STOP(SIGTRAP));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 12);
}

/* A seized tracee stays stopped as long as its process is stopped, and its tracer is told of SIGCONT. */
static void stop_of_a_process(void)
{
	volatile uint32_t *word;
	uint32_t before;
	pid_t child;

	child = start_counter(&word);
	MUST(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	MUST(kill(child, SIGSTOP));
	tracee_stops(child, SIGSTOP);
	CHECK_ERROR(ptrace(PTRACE_LISTEN, child, NULL, NULL), EIO);
	MUST(ptrace(PTRACE_CONT, child, NULL, (void *)SIGSTOP));
	CHECK_EQUAL(tracee_stop(child), EVENT_STOP(SIGSTOP));
	MUST(ptrace(PTRACE_LISTEN, child, NULL, NULL));
	CHECK_ERROR(ptrace(PTRACE_PEEKUSER, child, AT(MACHINE_PC_WORD), NULL), ESRCH);
	CHECK_ERROR(ptrace(PTRACE_CONT, child, NULL, NULL), ESRCH);
	before = *word;
	usleep(20000);
	CHECK_EQUAL(*word, before);
	MUST(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
	CHECK_EQUAL(tracee_stop(child), EVENT_STOP(SIGSTOP));
	MUST(ptrace(PTRACE_LISTEN, child, NULL, NULL));
	MUST(kill(child, SIGCONT));
	CHECK_EQUAL(tracee_stop(child), EVENT_STOP(SIGTRAP));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	tracee_stops(child, SIGCONT);
	CHECK_EQUAL(*word, before);
	MUST(ptrace(PTRACE_CONT, child, NULL, (void *)SIGCONT));
	while (*word == before)
		sched_yield();
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

/* A tracee seized while its process is stopped reports the stop, and is still stopped after PTRACE_DETACH. */
static void seized_while_stopped(void)
{
	volatile uint32_t *word;
	uint32_t before;
	pid_t child;
	int status;

	child = start_counter(&word);
	MUST(kill(child, SIGSTOP));
	CHECK_EQUAL(waitpid(child, &status, WUNTRACED), child);
	CHECK_EQUAL(status, 0x7f | SIGSTOP << 8);
	MUST(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	CHECK_EQUAL(tracee_stop(child), EVENT_STOP(SIGSTOP));
	MUST(ptrace(PTRACE_DETACH, child, NULL, NULL));
	before = *word;
	usleep(20000);
	CHECK_EQUAL(*word, before);
	MUST(kill(child, SIGCONT));
	CHECK_EQUAL(waitpid(child, &status, WCONTINUED), child);
	CHECK(WIFCONTINUED(status));
	while (*word == before)
		sched_yield();
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

/* Children of a seized tracee are seized too. They begin with a stop without a signal; exec makes no stop. */
static void children_seized(void)
{
	unsigned long message;
	pid_t child, grandchild;
	int ends[2];
	char byte;

	MUST(pipe(ends));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		MUST(read(ends[0], &byte, 1));
		grandchild = fork();
		_exit(grandchild ? test_wait(grandchild) : tracee_executes());
	}
	MUST(ptrace(PTRACE_SEIZE, child, NULL, (void *)PTRACE_O_TRACEFORK));
	MUST(write(ends[1], "x", 1));
	CHECK_EQUAL(tracee_stop(child), 0x7f | SIGTRAP << 8 | PTRACE_EVENT_FORK << 16);
	MUST(ptrace(PTRACE_GETEVENTMSG, child, NULL, &message));
	grandchild = (pid_t)message;
	CHECK_EQUAL(tracee_stop(grandchild), EVENT_STOP(SIGTRAP));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	MUST(ptrace(PTRACE_CONT, grandchild, NULL, NULL));
	CHECK_EQUAL(tracee_stop(grandchild) & 0x7f, 0);
	tracee_stops(child, SIGCHLD);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 0);
}

static void *ends(void *unused)
{
	return unused;
}

static int runs_a_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, ends, NULL) || pthread_join(thread, NULL))
		return 1;
	return 8;
}

static void threads(void)
{
	pid_t child = start_tracee(runs_a_thread), thread, other;
	unsigned long message;
	int status, ended = 0;

	MUST(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACECLONE));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(tracee_stop(child) >> 8, SIGTRAP | PTRACE_EVENT_CLONE << 8);
	MUST(ptrace(PTRACE_GETEVENTMSG, child, NULL, &message));
	thread = (pid_t)message;
	tracee_stops(thread, SIGSTOP);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	MUST(ptrace(PTRACE_CONT, thread, NULL, NULL));
	/* The tracer is told of both ends: the thread's with the thread's number. */
	for (int i = 0; i < 2; i++) {
		other = (pid_t)MUST(waitpid(-1, &status, __WALL));
		CHECK(WIFEXITED(status));
		CHECK_EQUAL(WEXITSTATUS(status), other == child ? 8 : 0);
		ended |= other == child ? 1 : other == thread ? 2 : 4;
	}
	CHECK_EQUAL(ended, 3);
}

static void *counts_on(void *words)
{
	((volatile uint32_t *)words)[2] = (uint32_t)gettid();
	tracee_count(words);
	return NULL;
}

/* One thread reports the stop signal; then every thread reports the stop. */
static void stop_of_threads(void)
{
	volatile uint32_t *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child, thread, first, second;
	int status;

	CHECK(words != MAP_FAILED);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		pthread_t made;

		CHECK_EQUAL(pthread_create(&made, NULL, counts_on, (void *)words), 0);
		tracee_count((void *)(words + 1));
	}
	while (!words[0] || !words[1])
		sched_yield();
	thread = (pid_t)words[2];
	MUST(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	MUST(ptrace(PTRACE_SEIZE, thread, NULL, NULL));
	MUST(kill(child, SIGTSTP));
	first = (pid_t)MUST(waitpid(-1, &status, __WALL));
	CHECK_EQUAL(status, 0x7f | SIGTSTP << 8);
	CHECK_EQUAL(waitpid(-1, &status, __WALL | WNOHANG), 0);
	MUST(ptrace(PTRACE_CONT, first, NULL, (void *)SIGSTOP));
	first = (pid_t)MUST(waitpid(-1, &status, __WALL));
	CHECK_EQUAL(status, EVENT_STOP(SIGSTOP));
	second = (pid_t)MUST(waitpid(-1, &status, __WALL));
	CHECK_EQUAL(status, EVENT_STOP(SIGSTOP));
	CHECK_EQUAL(first + second, child + thread);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(tracee_stop(thread), SIGKILL);
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static int forks_while_stepped(void *unused)
{
	pid_t child;

	(void)unused;
	MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	raise(SIGSTOP);
	child = fork();
	if (child == 0) {
		for (volatile int i = 0; i < 10; i++)
			;
		_exit(9);
	}
	return test_wait(child);
}

/* Single steps are the tracer's of one process: what that process forks runs freely. */
static void a_child_is_not_stepped(void)
{
	pid_t child = test_child(forks_while_stepped, NULL);
	int status;

	CHECK_EQUAL(waitpid(child, &status, 0), child);
	while (WIFSTOPPED(status)) {
		MUST(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL));
		CHECK_EQUAL(waitpid(child, &status, 0), child);
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

static const struct test_case cases[] = {
	CASE(attached), CASE(first_process_attached), CASE(tracer_ends), CASE(seized), CASE(sleeper_interrupted),
	CASE(stop_of_a_process), CASE(seized_while_stopped), CASE(children_seized), CASE(threads),
	CASE(stop_of_threads), CASE(a_child_is_not_stepped),
};

TEST_MAIN("seize", cases)
