/* A timer keeps the number of a thread that has ended, or a terminal that of a process group. Another process that is
 * given the number gets none of their signals. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pty.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/attack.h"
#include "machine.h"

#define NUMBERS 32768
#define LEAST   300     /* after NUMBERS, the kernel begins again here */

static pid_t use_a_number(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	MUST(waitpid(child, NULL, 0));
	return child;
}

/* A process with this number, in a session of its own. */
static pid_t make_with_number(pid_t number)
{
	pid_t child;

	for (int i = 0; use_a_number() != number - 1; i++)
		CHECK(i <= NUMBERS);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		setsid();
		signal(SIGWINCH, exit);
		for (;;)
			pause();
	}
	CHECK_EQUAL(child, number);
	usleep(20000);
	CHECK_EQUAL(getsid(child), child);
	return child;
}

static void check_lives(pid_t child)
{
	usleep(50000);
	CHECK_EQUAL(waitpid(child, NULL, WNOHANG), 0);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static void *make_timer(void *timer)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGKILL };
	pid_t number = (pid_t)syscall(SYS_gettid);

	MACHINE_EVENT_THREAD(event) = number;
	MUST(timer_create(CLOCK_MONOTONIC, &event, timer));
	return (void *)(long)number;
}

/* In the child of forkpty: makes another group the foreground one, which then ends. */
static void leave_a_group(void)
{
	pid_t child;

	signal(SIGTTOU, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	use_a_number();         /* the one before the group's must be free */
	child = (pid_t)MUST(fork());
	if (child == 0)
		for (;;)
			pause();
	MUST(setpgid(child, child));
	MUST(tcsetpgrp(0, child));
	MUST(kill(child, SIGKILL));
	MUST(waitpid(child, NULL, 0));
	for (;;)
		pause();
}

/* The end of a socket whose readiness kills this process or (negative) group; *other: the end that makes it ready. */
static int owned_socket(pid_t owner, int *other)
{
	int pair[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	MUST(fcntl(pair[0], F_SETOWN, owner));
	MUST(fcntl(pair[0], F_SETSIG, SIGKILL));
	MUST(fcntl(pair[0], F_SETFL, O_ASYNC));
	*other = pair[1];
	return pair[0];
}

static void given_again(void)
{
	const struct itimerspec soon = { .it_value = { 0, 1000000 } };
	const struct winsize size = { .ws_row = 7, .ws_col = 30 };
	pid_t leader, group, owner, of_thread, of_group, of_owner;
	int owned[2], other[2];
	pthread_t thread;
	int controller;
	timer_t timer;
	void *number;

	while (use_a_number() <= LEAST)
		;
	CHECK_EQUAL(pthread_create(&thread, NULL, make_timer, &timer), 0);
	CHECK_EQUAL(pthread_join(thread, &number), 0);
	leader = (pid_t)MUST(forkpty(&controller, NULL, NULL, NULL));
	if (leader == 0)
		leave_a_group();
	usleep(20000);
	MUST(ioctl(controller, TIOCGPGRP, &group));
	CHECK(group != leader);
	use_a_number();
	owner = (pid_t)MUST(fork());
	if (owner == 0)
		for (;;)
			pause();
	MUST(setpgid(owner, owner));
	owned[0] = owned_socket(owner, &other[0]);
	owned[1] = owned_socket(-owner, &other[1]);
	CHECK_EQUAL(fcntl(owned[1], F_GETOWN), -owner);
	MUST(kill(owner, SIGKILL));
	MUST(waitpid(owner, NULL, 0));

	of_thread = make_with_number((pid_t)(long)number);
	of_group = make_with_number(group);
	of_owner = make_with_number(owner);
	MUST(timer_settime(timer, 0, &soon, NULL));
	check_lives(of_thread);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(fcntl(owned[i], F_GETOWN), 0);
		CHECK_EQUAL(write(other[i], "!", 1), 1);
		MUST(close(owned[i]));
		MUST(close(other[i]));
	}
	check_lives(of_owner);
	CHECK_EQUAL(write(controller, "\3", 1), 1);
	MUST(ioctl(controller, TIOCSIG, SIGQUIT));
	MUST(ioctl(controller, TIOCSWINSZ, &size));
	MUST(kill(leader, SIGKILL));
	MUST(waitpid(leader, NULL, 0));
	MUST(close(controller));
	check_lives(of_group);
}

static const struct test_case cases[] = {
	CASE(given_again),
};

ATTACK_MAIN("number", cases)
