/* Reading from timerfd and signalfd descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

static uint64_t expiries(int fd)
{
	uint64_t count = 0;

	CHECK_EQUAL(read(fd, &count, sizeof(count)), (ssize_t)sizeof(count));
	return count;
}

static void timer(void)
{
	int fd = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	struct itimerspec once = { .it_value.tv_nsec = 2000000 }, now, stop = { .it_value.tv_sec = 0 };
	struct pollfd asked = { .fd = fd, .events = POLLIN };

	CHECK_EQUAL(poll(&asked, 1, 0), 0);
	MUST(timerfd_settime(fd, 0, &once, NULL));
	MUST(timerfd_gettime(fd, &now));
	CHECK(now.it_value.tv_sec == 0 && now.it_value.tv_nsec <= 2000000);
	CHECK_EQUAL(poll(&asked, 1, -1), 1);
	CHECK_EQUAL(asked.revents, POLLIN);
	CHECK_EQUAL(expiries(fd), 1);
	CHECK_EQUAL(poll(&asked, 1, 0), 0);
	MUST(timerfd_gettime(fd, &now));
	CHECK(now.it_value.tv_sec == 0 && now.it_value.tv_nsec == 0);

	once.it_value.tv_sec = 1000;
	MUST(timerfd_settime(fd, 0, &once, NULL));
	MUST(timerfd_settime(fd, 0, &stop, &now));
	CHECK(now.it_value.tv_sec >= 999);
}

static void periodic_timer(void)
{
	int fd = (int)MUST(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	struct itimerspec often = { .it_value.tv_nsec = 1, .it_interval.tv_nsec = 100000 };
	struct timespec nap = { 0, 5000000 };
	uint64_t count;

	CHECK_ERROR(read(fd, &count, sizeof(count)), EAGAIN);
	CHECK_ERROR(read(fd, &count, 4), EINVAL);
	MUST(timerfd_settime(fd, 0, &often, NULL));
	MUST(nanosleep(&nap, NULL));
	CHECK(expiries(fd) >= 50);
	MUST(nanosleep(&nap, NULL));
	CHECK(expiries(fd) >= 49);
}

static void timer_at_a_date(void)
{
	int fd = (int)MUST(timerfd_create(CLOCK_REALTIME, 0));
	struct itimerspec past = { .it_value.tv_sec = 1 };

	MUST(timerfd_settime(fd, TFD_TIMER_ABSTIME, &past, NULL));
	CHECK_EQUAL(expiries(fd), 1);
	past.it_value.tv_nsec = 1000000000;
	CHECK_ERROR(timerfd_settime(fd, 0, &past, NULL), EINVAL);
	past.it_value.tv_nsec = 0;
	CHECK_ERROR(timerfd_settime(fd, 0x100, &past, NULL), EINVAL);
	CHECK_ERROR(timerfd_settime(0, 0, &past, NULL), EINVAL);
	CHECK_ERROR(timerfd_settime(-1, 0, &past, NULL), EBADF);
	CHECK_ERROR(timerfd_create(99, 0), EINVAL);
}

static void block(int one, int two)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, one);
	sigaddset(&set, two);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
}

static int signals(int one, int two, int flags)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, one);
	sigaddset(&set, two);
	return (int)MUST(signalfd(-1, &set, flags));
}

static void signal_is_read(void)
{
	struct signalfd_siginfo info[2];
	union sigval value = { .sival_int = 77 };
	int fd;

	block(SIGUSR1, SIGRTMIN + 1);
	fd = signals(SIGUSR1, SIGRTMIN + 1, SFD_NONBLOCK);
	CHECK_ERROR(read(fd, info, sizeof(info)), EAGAIN);
	CHECK_ERROR(read(fd, info, sizeof(info[0]) - 1), EINVAL);
	MUST(kill(getpid(), SIGUSR1));
	MUST(sigqueue(getpid(), SIGRTMIN + 1, value));
	CHECK_EQUAL(read(fd, info, sizeof(info)), (ssize_t)sizeof(info));
	CHECK_EQUAL(info[0].ssi_signo, SIGUSR1);
	CHECK_EQUAL(info[0].ssi_code, SI_USER);
	CHECK_EQUAL(info[0].ssi_pid, getpid());
	CHECK_EQUAL(info[1].ssi_signo, SIGRTMIN + 1);
	CHECK_EQUAL(info[1].ssi_code, SI_QUEUE);
	CHECK_EQUAL(info[1].ssi_int, 77);
	CHECK_ERROR(read(fd, info, sizeof(info)), EAGAIN);
}

static int send_to_parent(void *argument)
{
	(void)argument;
	MUST(kill(getppid(), SIGUSR2));
	return 5;
}

static void reader_waits_for_a_signal(void)
{
	struct signalfd_siginfo info;
	pid_t child;
	int fd;

	block(SIGUSR2, SIGCHLD);
	fd = signals(SIGUSR2, SIGCHLD, 0);
	child = test_child(send_to_parent, NULL);
	for (int got = 0; got != 3;) {
		CHECK_EQUAL(read(fd, &info, sizeof(info)), (ssize_t)sizeof(info));
		CHECK_EQUAL(info.ssi_pid, child);
		got |= info.ssi_signo == SIGUSR2 ? 1 : 2;
		if (info.ssi_signo == SIGCHLD)
			CHECK_EQUAL(info.ssi_status, 5);
	}
	CHECK_EQUAL(test_wait(child), 5);
}

static void signal_wakes_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN }, got;
	int epoll = (int)MUST(epoll_create1(0)), fd;
	struct signalfd_siginfo info;
	pid_t child;

	block(SIGUSR2, SIGUSR1);
	fd = signals(SIGUSR2, SIGUSR1, 0);
	MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	CHECK_EQUAL(epoll_wait(epoll, &got, 1, 0), 0);
	child = test_child(send_to_parent, NULL);
	CHECK_EQUAL(epoll_wait(epoll, &got, 1, -1), 1);
	CHECK_EQUAL(read(fd, &info, sizeof(info)), (ssize_t)sizeof(info));
	CHECK_EQUAL(info.ssi_signo, SIGUSR2);
	CHECK_EQUAL(test_wait(child), 5);
}

static void other_signals(void)
{
	sigset_t set;
	struct signalfd_siginfo info;
	int fd;

	block(SIGUSR1, SIGUSR2);
	fd = signals(SIGUSR1, SIGUSR1, SFD_NONBLOCK);
	MUST(kill(getpid(), SIGUSR2));
	CHECK_ERROR(read(fd, &info, sizeof(info)), EAGAIN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK_EQUAL(signalfd(fd, &set, 0), fd);
	CHECK_EQUAL(read(fd, &info, sizeof(info)), (ssize_t)sizeof(info));
	CHECK_ERROR(signalfd(0, &set, 0), EINVAL);
	CHECK_ERROR(signalfd(99, &set, 0), EBADF);
	CHECK_ERROR(signalfd(-1, &set, 0x10), EINVAL);
}

static const struct test_case cases[] = {
	CASE(timer), CASE(periodic_timer), CASE(timer_at_a_date), CASE(signal_is_read), CASE(reader_waits_for_a_signal),
	CASE(signal_wakes_epoll), CASE(other_signals),
};

TEST_MAIN("descriptor", cases)
