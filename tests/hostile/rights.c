/* Descriptors in flight: nested to any depth, in circles, by the thousand; and messages with a forged sender. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/attack.h"
#include "user/common/rights.h"

/* Nests sockets beyond the limit of files in flight; each level counts as two files. */
static void nested_to_the_limit(void)
{
	EACH_TYPE(type)
		nest_sockets(type, 450);
}

static int nest_until_refused(void *type)
{
	int ends[2], outer[2];

	socket_pair(*(int *)type, ends);
	for (int i = 0; i < 10000; i++) {
		socket_pair(*(int *)type, outer);
		if (send_files(outer[0], ends, 2) < 0) {
			CHECK_EQUAL(errno, ETOOMANYREFS);
			return 0;
		}
		close(ends[0]);
		close(ends[1]);
		memcpy(ends, outer, sizeof(ends));
	}
	return 1;
}

/* The process ends with all the files open. Afterwards all of them must be closed. */
static void nested_until_refused(void)
{
	EACH_TYPE(type)
		CHECK_EQUAL(test_in_child(nest_until_refused, &type), 0);
}

/* Two sockets in each other's queues, full of data, and both in the queue of a third. If they stayed, they would exceed
 * memory. */
static void circles(void)
{
	EACH_TYPE(type)
		for (int i = 0; i < 600; i++) {
			int ends[2], other[2];

			socket_pair(type, ends);
			socket_pair(type, other);
			MUST(send_files(ends[0], ends, 2));
			MUST(send_files(ends[1], other, 2));
			MUST(send_files(other[0], ends, 2));
			fill_socket(ends[0], SIZE_MAX);
			fill_socket(other[1], SIZE_MAX);
			close(ends[0]);
			close(ends[1]);
			close(other[0]);
			close(other[1]);
		}
}

static int leave_circles(void *argument)
{
	(void)argument;
	for (int i = 0; i < 100; i++) {
		int ends[2];

		socket_pair(SOCK_STREAM, ends);
		MUST(send_files(ends[0], ends, 2));
		MUST(send_files(ends[1], ends, 2));
		fill_socket(ends[0], SIZE_MAX);
		fill_socket(ends[1], SIZE_MAX);
	}
	return 0;
}

/* When a process ends, the circles that it made are freed. */
static void circles_of_processes(void)
{
	for (int i = 0; i < 8; i++)
		CHECK_EQUAL(test_in_child(leave_circles, NULL), 0);
}

static int send_until_too_many(void *argument)
{
	struct rlimit limit = { 30, 30 };
	int ends[2], sent = 0;

	(void)argument;
	socket_pair(SOCK_DGRAM, ends);
	MUST(setrlimit(RLIMIT_NOFILE, &limit));
	while (send_files(ends[0], (int[]){ 0, 0, 0, 0, 0, 0, 0, 0 }, 8) == 1) {
		char byte;

		/* Descriptors that arrive without room for them are closed. */
		if (sent++ >= 2)
			CHECK_EQUAL(recv(ends[1], &byte, 1, 0), 1);
		if (sent == 50)
			break;
	}
	CHECK_EQUAL(sent, 50);
	for (sent = 0; send_files(ends[0], (int[]){ 0, 0, 0, 0, 0, 0, 0, 0 }, 8) == 1;)
		sent++;
	CHECK_EQUAL(errno, ETOOMANYREFS);
	CHECK_EQUAL(sent, 2);
	return 0;
}

/* A user without privilege cannot have more files in flight than RLIMIT_NOFILE. */
static void limit(void)
{
	CHECK_EQUAL(test_in_child(send_until_too_many, NULL), 0);
}

/*
 * A chain of sockets, each in the queue of the next, as long as the limit of files in flight allows. Sends that are
 * refused search it, and the end of the process takes it apart. Other programs must run meanwhile.
 */
#define MS 1000000ll
#define REFUSED 8
/* The slices of two other tasks, of 10 ms each, and a half: the chain's, and the program's that runs the attacks. */
#define WAIT_MOST (25 * MS)

static volatile long long *longest;

static int sleep_and_measure(void *unused)
{
	const struct timespec nap = { 0, MS };

	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		long long begin = test_now(), took;

		nanosleep(&nap, NULL);
		took = test_now() - begin;
		if (took > *longest)
			*longest = took;
	}
	return 0;
}

static int make_chain(void *limit)
{
	int ends[2], outer[2];

	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ *(rlim_t *)limit, *(rlim_t *)limit }));
	socket_pair(SOCK_STREAM, ends);
	for (;;) {
		socket_pair(SOCK_DGRAM, outer);
		if (send_files(outer[0], ends, 2) < 0)
			break;
		close(ends[0]);
		close(ends[1]);
		memcpy(ends, outer, sizeof(ends));
	}
	for (int i = 0; i < REFUSED; i++)
		CHECK_EQUAL(send_files(outer[0], ends, 2), -1);
	CHECK_EQUAL(errno, ETOOMANYREFS);
	return 0;
}

static long long time_of_chain(rlim_t limit)
{
	long long begin = test_now();

	CHECK_EQUAL(test_in_child(make_chain, &limit), 0);
	return test_now() - begin;
}

/* A chain that is four times as long takes about four times as long, and not the square of that. */
static void chains_let_others_run(void)
{
	pid_t victim;
	long long little, much;

	longest = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(longest != MAP_FAILED);
	victim = test_child(sleep_and_measure, NULL);
	little = time_of_chain(1000);
	much = time_of_chain(4000);
	if (test_is_timed()) {
		CHECK(*longest < WAIT_MOST);
		CHECK(much < 8 * little);
	}
	MUST(kill(victim, SIGKILL));
	CHECK_EQUAL(test_wait(victim), 1000 + SIGKILL);
}

/*
 * Many epolls watch one, which watches many others: a path leads from each of these to each of those. Too many are
 * refused.
 */
static int watch_each_other(void *lower)
{
	enum { MANY = 95 };
	struct epoll_event event = { .events = EPOLLIN };
	int top = (int)MUST(epoll_create1(0)), low = (int)MUST(epoll_create1(0));

	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 }));
	for (int i = 0; i < MANY; i++)
		MUST(epoll_ctl((int)MUST(epoll_create1(0)), EPOLL_CTL_ADD, low, &event));
	for (int i = 0; i < *(int *)lower; i++) {
		int one = (int)MUST(epoll_create1(0));

		MUST(epoll_ctl(low, EPOLL_CTL_ADD, one, &event));
	}
	if (epoll_ctl(top, EPOLL_CTL_ADD, low, &event) == 0)
		return 0;
	CHECK_EQUAL(errno, ELOOP);
	return 1;
}

static void epolls_let_others_run(void)
{
	int few = 900, many = 3000;
	pid_t victim;

	longest = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(longest != MAP_FAILED);
	victim = test_child(sleep_and_measure, NULL);
	CHECK_EQUAL(test_in_child(watch_each_other, &few), 0);
	CHECK_EQUAL(test_in_child(watch_each_other, &many), 1);
	if (test_is_timed())
		CHECK(*longest < WAIT_MOST);
	MUST(kill(victim, SIGKILL));
	CHECK_EQUAL(test_wait(victim), 1000 + SIGKILL);
}

static int forge(void *argument)
{
	int socket = *(int *)argument;

	CHECK_EQUAL(send_cred(socket, getpid(), ATTACKER, ATTACKER), 1);
	CHECK_ERROR(send_cred(socket, getppid(), ATTACKER, ATTACKER), EPERM);
	CHECK_ERROR(send_cred(socket, 1, ATTACKER, ATTACKER), EPERM);
	CHECK_ERROR(send_cred(socket, getpid(), 0, ATTACKER), EPERM);
	CHECK_ERROR(send_cred(socket, getpid(), ATTACKER, 0), EPERM);
	CHECK_EQUAL(send(socket, "z", 1, 0), 1);
	return 0;
}

static void credentials_cannot_be_forged(void)
{
	EACH_TYPE(type) {
		int ends[2], on = 1;
		struct ucred cred;
		char data[8];
		pid_t child;

		socket_pair(type, ends);
		MUST(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
		/* A stream never mixes bytes of different processes in one read. */
		CHECK_EQUAL(send(ends[0], "a", 1, 0), 1);
		child = test_child(forge, &ends[0]);
		CHECK_EQUAL(test_wait(child), 0);
		CHECK_EQUAL(receive_cred(ends[1], data, sizeof(data), &cred), 1);
		CHECK_EQUAL(cred.pid, getpid());
		for (int left = 2; left;) {
			left -= receive_cred(ends[1], data, 1, &cred);
			CHECK_EQUAL(cred.pid, child);
			CHECK_EQUAL(cred.uid, ATTACKER);
		}
		CHECK_EQUAL(receive_cred(ends[1], data, sizeof(data), &cred), -1);
		close(ends[0]);
		close(ends[1]);
	}
}

/* Epolls that watch epolls: no circles, at most five levels, and a bounded number of paths for one wake-up. */
static void epolls_in_epolls(void)
{
	enum { WIDTH = 12 };
	int level[6][WIDTH], pipe_ends[2], refused = 0;
	struct epoll_event event = { .events = EPOLLIN };

	MUST(pipe(pipe_ends));
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < WIDTH; j++)
			level[i][j] = (int)MUST(epoll_create1(0));
	for (int j = 0; j < WIDTH; j++)
		MUST(epoll_ctl(level[0][j], EPOLL_CTL_ADD, pipe_ends[0], &event));
	for (int i = 1; i < 6; i++)
		for (int j = 0; j < WIDTH; j++)
			for (int k = 0; k < WIDTH; k++)
				if (epoll_ctl(level[i][j], EPOLL_CTL_ADD, level[i - 1][k], &event) < 0) {
					CHECK(errno == EINVAL || errno == ELOOP);
					refused++;
				}
	CHECK(refused > 0);
	CHECK_ERROR(epoll_ctl(level[0][0], EPOLL_CTL_ADD, level[1][0], &event), ELOOP);
	CHECK_EQUAL(write(pipe_ends[1], "x", 1), 1);
	CHECK_EQUAL(epoll_wait(level[1][0], &event, 1, 0), 1);
}

/* Messages that nobody receives are limited for each user, and so is the size that queues may reach. */
static void message_queues(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
	char name[32];
	int made = 0;

	for (;; made++) {
		mqd_t queue;

		snprintf(name, sizeof(name), "/hostile-%d", made);
		queue = mq_open(name, O_CREAT | O_RDWR | O_NONBLOCK, 0600, &attributes);
		if (queue < 0)
			break;
		while (mq_send(queue, (char[8192]){ 0 }, 8192, 0) == 0)
			continue;
		CHECK_EQUAL(errno, EAGAIN);
		MUST(mq_close(queue));
	}
	CHECK_EQUAL(errno, EMFILE);
	CHECK_EQUAL(made, 9);	/* RLIMIT_MSGQUEUE is 819200 bytes */
	while (made--) {
		snprintf(name, sizeof(name), "/hostile-%d", made);
		MUST(mq_unlink(name));
	}
}

static int asks_unlinks_and_ends(void *queue)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };

	MUST(mq_notify(*(mqd_t *)queue, &event));
	MUST(mq_unlink("/hostile"));
	return 0;
}

static int wait_for_signal(void *unused)
{
	(void)unused;
	return pause();
}

/* A queue without a name forgets a process that has ended: a new process with the same number gets no notification. */
static void a_queue_without_a_name(void)
{
	mqd_t queue = (mqd_t)MUST(mq_open("/hostile", O_CREAT | O_RDWR, 0600, NULL));
	char line[100] = "";
	pid_t others[8];
	int status;

	MUST(fcntl(queue, F_SETFD, 0));
	CHECK_EQUAL(test_in_child(asks_unlinks_and_ends, &queue), 0);
	CHECK_ERROR(mq_unlink("/hostile"), ENOENT);
	CHECK(read(queue, line, sizeof(line) - 1) > 0);
	CHECK(strstr(line, "NOTIFY_PID:0 "));
	for (int i = 0; i < 8; i++)
		others[i] = test_child(wait_for_signal, NULL);
	MUST(mq_send(queue, "x", 1, 0));
	usleep(1000);
	for (int i = 0; i < 8; i++) {
		CHECK_EQUAL(waitpid(others[i], &status, WNOHANG), 0);
		MUST(kill(others[i], SIGKILL));
		MUST(waitpid(others[i], &status, 0));
	}
}

/* A signalfd that requests a signal when it is readable. Such a signal, if sent, would make it readable again for
 * ever. */
static void signalfd_that_signals(void)
{
	sigset_t set;
	int fd, pidfd;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	fd = (int)MUST(signalfd(-1, &set, SFD_NONBLOCK));
	pidfd = (int)MUST(syscall(SYS_pidfd_open, getpid(), 0));
	for (int i = 0; i < 2; i++) {
		MUST(fcntl(i ? pidfd : fd, F_SETOWN, getpid()));
		MUST(fcntl(i ? pidfd : fd, F_SETSIG, SIGRTMIN + 3));
		MUST(fcntl(i ? pidfd : fd, F_SETFL, O_ASYNC | O_NONBLOCK));
		CHECK_EQUAL(fcntl(i ? pidfd : fd, F_GETFL) & O_ASYNC, 0);
	}
	MUST(kill(getpid(), SIGRTMIN + 3));
	for (int i = 0; i < 2; i++) {
		struct signalfd_siginfo info;

		CHECK_EQUAL(read(fd, &info, sizeof(info)), i ? -1 : (ssize_t)sizeof(info));
	}
}

static const struct test_case cases[] = {
	CASE(signalfd_that_signals),
	CASE(nested_to_the_limit),
	CASE(nested_until_refused),
	CASE(circles),
	CASE(circles_of_processes),
	CASE(limit),
	CASE(chains_let_others_run),
	CASE(epolls_let_others_run),
	CASE(credentials_cannot_be_forged),
	CASE(epolls_in_epolls),
	CASE(message_queues),
	CASE(a_queue_without_a_name),
};

ATTACK_MAIN("rights", cases)
