/* The promises of fork, exit and wait. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

static int return_argument(void *argument)
{
	return *(int *)argument;
}

static void exit_status(void)
{
	for (int status = 0; status < 256; status += 51)
		CHECK_EQUAL(test_in_child(return_argument, &status), status);
}

static void kill_status(void)
{
	pid_t child = (pid_t)MUST(fork());
	int status;

	if (child == 0)
		for (;;)
			pause();
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQUAL(WTERMSIG(status), SIGKILL);
}

static void wait_without_children(void)
{
	CHECK_ERROR(wait(NULL), ECHILD);
	CHECK_ERROR(waitpid(-1, NULL, WNOHANG), ECHILD);
	CHECK_ERROR(waitpid(getppid(), NULL, 0), ECHILD);
	CHECK_ERROR(waitpid(-1, NULL, 0x40000), EINVAL);
}

static void wait_no_hang(void)
{
	int ends[2], status;
	char byte;
	pid_t child;

	MUST(pipe(ends));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? 7 : 8);
	}
	close(ends[0]);
	CHECK_EQUAL(waitpid(child, &status, WNOHANG), 0);
	close(ends[1]);
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK_EQUAL(WEXITSTATUS(status), 7);
}

static void wait_for_any(void)
{
	enum { CHILDREN = 20 };
	pid_t children[CHILDREN];
	int seen = 0, status;

	for (int i = 0; i < CHILDREN; i++)
		children[i] = test_child(return_argument, &i);
	for (int n = 0; n < CHILDREN; n++) {
		pid_t dead = (pid_t)MUST(wait(&status));

		CHECK(WIFEXITED(status));
		CHECK_EQUAL(children[WEXITSTATUS(status)], dead);
		seen |= 1 << WEXITSTATUS(status);
	}
	CHECK_EQUAL(seen, (1 << CHILDREN) - 1);
	CHECK_ERROR(wait(NULL), ECHILD);
}

static void wait_by_group(void)
{
	int status, one = 1, two = 2;
	pid_t first, second;

	first = test_child(return_argument, &one);
	MUST(setpgid(first, first) == 0 || errno == EACCES || errno == ESRCH ? 0 : -1);
	test_wait(first);

	second = (pid_t)MUST(fork());
	if (second == 0) {
		setpgid(0, 0);
		_exit(two);
	}
	setpgid(second, second);
	CHECK_EQUAL(waitpid(-second, &status, 0), second);
	CHECK_EQUAL(WEXITSTATUS(status), 2);
}

static void stop_and_continue(void)
{
	pid_t child = (pid_t)MUST(fork());
	int status;

	if (child == 0)
		for (;;)
			pause();
	MUST(kill(child, SIGSTOP));
	CHECK_EQUAL(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	CHECK_EQUAL(WSTOPSIG(status), SIGSTOP);
	CHECK_EQUAL(waitpid(child, &status, WNOHANG | WUNTRACED), 0);
	MUST(kill(child, SIGCONT));
	CHECK_EQUAL(waitpid(child, &status, WCONTINUED), child);
	CHECK(WIFCONTINUED(status));
	MUST(kill(child, SIGTERM));
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void waitid_forms(void)
{
	int status = 33;
	pid_t child = test_child(return_argument, &status);
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	MUST(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
	CHECK_EQUAL(info.si_pid, child);
	CHECK_EQUAL(info.si_code, CLD_EXITED);
	CHECK_EQUAL(info.si_status, 33);
	CHECK_EQUAL(info.si_signo, SIGCHLD);
	/* WNOWAIT left the child: it can be waited for once more, and only once. */
	MUST(waitid(P_ALL, 0, &info, WEXITED));
	CHECK_EQUAL(info.si_pid, child);
	CHECK_ERROR(waitid(P_PID, (id_t)child, &info, WEXITED), ECHILD);
	CHECK_ERROR(waitid(P_PID, (id_t)child, &info, 0), EINVAL);
}

static int orphan_maker(void *argument)
{
	int *ends = argument;
	pid_t parent = getpid();

	if (fork() == 0) {
		/* Waits until its parent has ended, then reports its new parent. */
		while (getppid() == parent)
			usleep(1000);
		parent = getppid();
		if (write(ends[1], &parent, sizeof(parent)) != sizeof(parent))
			_exit(1);
		_exit(0);
	}
	return 5;
}

static void orphans_are_adopted(void)
{
	int ends[2];
	pid_t parent;

	MUST(pipe(ends));
	CHECK_EQUAL(test_in_child(orphan_maker, ends), 5);
	CHECK_EQUAL(read(ends[0], &parent, sizeof(parent)), sizeof(parent));
	CHECK(parent > 0 && parent != getpid());
	CHECK_ERROR(wait(NULL), ECHILD);
}

static void forks_in_a_row(void)
{
	for (int i = 0; i < 200; i++) {
		int status = i % 100;

		CHECK_EQUAL(test_in_child(return_argument, &status), status);
	}
}

static int fork_deeper(void *argument)
{
	int *depth = argument;

	if (--*depth == 0)
		return 1;
	return 1 + test_in_child(fork_deeper, depth);
}

static void forks_in_depth(void)
{
	int depth = 20;

	CHECK_EQUAL(test_in_child(fork_deeper, &depth), 20);
}

static void vfork_shares_until_exit(void)
{
	volatile int shared = 1;
	pid_t child = vfork();
	int status;

	if (child == 0) {
		shared = 2;
		_exit(3);
	}
	MUST(child);
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK_EQUAL(WEXITSTATUS(status), 3);
	CHECK(shared == 1 || shared == 2); /* an emulator may turn vfork into fork */
}

static int same_ids(void *argument)
{
	pid_t parent = *(pid_t *)argument;

	CHECK_EQUAL(getppid(), parent);
	CHECK(getpid() != parent);
	return 0;
}

static void identity(void)
{
	pid_t self = getpid();

	CHECK_EQUAL(test_in_child(same_ids, &self), 0);
	CHECK_EQUAL(getpid(), self);
	CHECK_EQUAL(getuid(), geteuid());
	CHECK_EQUAL(getgid(), getegid());
	CHECK_EQUAL(getpgid(0), getpgrp());
	CHECK_EQUAL(getsid(0), getsid(self));
	CHECK_ERROR(getpgid(99999999), ESRCH);
	CHECK_ERROR(kill(99999999, 0), ESRCH);
	MUST(kill(self, 0));
}

static int new_session(void *argument)
{
	(void)argument;
	CHECK_EQUAL(setsid(), getpid());
	CHECK_EQUAL(getsid(0), getpid());
	CHECK_EQUAL(getpgrp(), getpid());
	CHECK_ERROR(setsid(), EPERM);
	return 0;
}

static void sessions(void)
{
	CHECK_EQUAL(test_in_child(new_session, NULL), 0);
}

static void children_times(void)
{
	struct rusage usage;
	int status = 0;
	volatile unsigned int sink = 0;
	pid_t child = (pid_t)MUST(fork());

	if (child == 0) {
		for (unsigned int i = 0; i < 200000; i++)
			sink += i;
		_exit(0);
	}
	CHECK_EQUAL(wait4(child, &status, 0, &usage), child);
	CHECK_EQUAL(status, 0);
	CHECK(usage.ru_utime.tv_sec >= 0 && usage.ru_utime.tv_usec < 1000000);
	MUST(getrusage(RUSAGE_CHILDREN, &usage));
	CHECK_ERROR(getrusage(1234, &usage), EINVAL);
}

static void yielding(void)
{
	volatile int *turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	CHECK(turn != MAP_FAILED);
	child = (pid_t)MUST(fork());
	for (int i = 0; i < 100; i++) {
		while (*turn % 2 != (child == 0))
			sched_yield();
		++*turn;
	}
	if (child == 0)
		_exit(0);
	CHECK_EQUAL(test_wait(child), 0);
	CHECK_EQUAL(*turn, 200);
}

/* Two processes that never give up the processor both make progress. */
static void preemption(void)
{
	volatile int *progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	CHECK(progress != MAP_FAILED);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		while (!progress[0])
			progress[1] = 1;
		_exit(0);
	}
	while (!progress[1])
		;
	progress[0] = 1;
	CHECK_EQUAL(test_wait(child), 0);
}

static const struct test_case cases[] = {
	CASE(exit_status), CASE(kill_status), CASE(wait_without_children), CASE(wait_no_hang), CASE(wait_for_any),
	CASE(wait_by_group), CASE(stop_and_continue), CASE(waitid_forms), CASE(orphans_are_adopted),
	CASE(forks_in_a_row), CASE(forks_in_depth), CASE(vfork_shares_until_exit), CASE(identity), CASE(sessions),
	CASE(children_times), CASE(yielding), CASE(preemption),
};

TEST_MAIN("process", cases)
