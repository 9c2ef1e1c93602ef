/* Urgent data (MSG_OOB) on streams: TCP and Unix sockets behave the same except in three details. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"

#ifndef SIOCATMARK
#define SIOCATMARK 0x8905
#endif

static void tcp_pair(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));

	MUST(bind(listener, (struct sockaddr *)&address, size));
	MUST(listen(listener, 1));
	MUST(getsockname(listener, (struct sockaddr *)&address, &size));
	ends[0] = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(connect(ends[0], (struct sockaddr *)&address, size));
	ends[1] = (int)MUST(accept(listener, NULL, NULL));
	close(listener);
}

static void make_pair(int family, int ends[2])
{
	if (family == AF_INET)
		tcp_pair(ends);
	else
		MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}

static void close_pair(const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

#define EACH_FAMILY(family) for (int family = AF_UNIX; family <= AF_INET; family += AF_INET - AF_UNIX)

static void put(int fd, const char *text, int flags)
{
	CHECK_EQUAL(send(fd, text, strlen(text), flags), (ssize_t)strlen(text));
}

/* Checks that exactly `text` is received, or nothing if `text` is NULL. */
static void get(int fd, int flags, size_t most, const char *text)
{
	char data[64];
	ssize_t n = recv(fd, data, most, flags | MSG_DONTWAIT);

	if (!text) {
		CHECK_EQUAL(n, -1);
		CHECK_EQUAL(errno, flags & MSG_OOB ? EINVAL : EAGAIN);
		return;
	}
	CHECK_EQUAL(n, (ssize_t)strlen(text));
	CHECK_EQUAL(memcmp(data, text, strlen(text)), 0);
}

static int mark(int fd)
{
	int at = -1;

	MUST(ioctl(fd, SIOCATMARK, &at));
	return at;
}

static int ready(int fd)
{
	struct pollfd asked = { .fd = fd, .events = POLLIN | POLLPRI };

	MUST(poll(&asked, 1, 0));
	return asked.revents;
}

static void await_urgent(int fd)
{
	struct pollfd asked = { .fd = fd, .events = POLLPRI };

	CHECK_EQUAL(poll(&asked, 1, 5000), 1);
	CHECK_EQUAL(asked.revents, POLLPRI);
}

static void out_of_line(void)
{
	EACH_FAMILY(family) {
		int ends[2];

		make_pair(family, ends);
		get(ends[1], MSG_OOB, 1, NULL);
		put(ends[0], "ab", 0);
		put(ends[0], "xyZ", MSG_OOB);
		put(ends[0], "cd", 0);
		await_urgent(ends[1]);
		CHECK_EQUAL(ready(ends[1]), POLLIN | POLLPRI);
		CHECK_EQUAL(mark(ends[1]), 0);
		get(ends[1], MSG_OOB | MSG_PEEK, 1, "Z");
		get(ends[1], 0, 2, "ab");
		CHECK_EQUAL(mark(ends[1]), 0);
		get(ends[1], 0, 20, "xy");
		CHECK_EQUAL(mark(ends[1]), 1);
		get(ends[1], MSG_OOB, 5, "Z");
		get(ends[1], MSG_OOB, 1, NULL);
		CHECK_EQUAL(ready(ends[1]), POLLIN);
		get(ends[1], MSG_PEEK, 20, "cd");
		get(ends[1], 0, 20, "cd");
		CHECK_EQUAL(ready(ends[1]), 0);
		CHECK_EQUAL(mark(ends[1]), 0);
		get(ends[1], 0, 20, NULL);
		close_pair(ends);
	}
}

/* Reading past the urgent byte skips it, and then it is lost. */
static void left_out(void)
{
	EACH_FAMILY(family) {
		int ends[2];

		make_pair(family, ends);
		put(ends[0], "abX", MSG_OOB);
		put(ends[0], "cd", 0);
		await_urgent(ends[1]);
		get(ends[1], MSG_PEEK, 20, "ab");
		get(ends[1], 0, 20, "ab");
		get(ends[1], 0, 20, "cd");
		get(ends[1], MSG_OOB, 1, NULL);
		put(ends[0], "X", MSG_OOB);
		await_urgent(ends[1]);
		CHECK_EQUAL(mark(ends[1]), 1);
		CHECK_EQUAL(ready(ends[1]), family == AF_UNIX ? POLLIN | POLLPRI : POLLPRI);
		get(ends[1], 0, 20, NULL);
		CHECK_EQUAL(mark(ends[1]), 0);
		CHECK_EQUAL(ready(ends[1]), 0);
		get(ends[1], MSG_OOB, 1, NULL);
		close_pair(ends);
	}
}

static void taken_first(void)
{
	EACH_FAMILY(family) {
		char data[8];
		int ends[2];

		make_pair(family, ends);
		put(ends[0], "abX", MSG_OOB);
		put(ends[0], "cd", 0);
		await_urgent(ends[1]);
		get(ends[1], MSG_OOB, 1, "X");
		CHECK_EQUAL(mark(ends[1]), 0);
		/* A read stops at the mark, even if it waits for more. */
		CHECK_EQUAL(recv(ends[1], data, 4, MSG_WAITALL), 2);
		CHECK_EQUAL(mark(ends[1]), 1);
		get(ends[1], 0, 20, "cd");
		CHECK_EQUAL(mark(ends[1]), 0);
		close_pair(ends);
	}
}

/* Only the last of two urgent bytes is urgent. */
static void two(void)
{
	EACH_FAMILY(family) {
		int ends[2];

		make_pair(family, ends);
		put(ends[0], "aX", MSG_OOB);
		await_urgent(ends[1]);
		put(ends[0], "bY", MSG_OOB);
		usleep(10000);
		get(ends[1], MSG_OOB, 1, "Y");
		get(ends[1], 0, 20, "aXb");
		get(ends[1], 0, 20, NULL);
		close_pair(ends);
	}
}

static void in_line(void)
{
	EACH_FAMILY(family) {
		int ends[2], on = 1;

		make_pair(family, ends);
		MUST(setsockopt(ends[1], SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)));
		put(ends[0], "abX", MSG_OOB);
		put(ends[0], "cd", 0);
		await_urgent(ends[1]);
		CHECK_EQUAL(ready(ends[1]), POLLIN | POLLPRI);
		get(ends[1], MSG_OOB, 1, NULL);
		get(ends[1], 0, 20, "ab");
		CHECK_EQUAL(mark(ends[1]), 1);
		get(ends[1], 0, 20, "Xcd");
		CHECK_EQUAL(mark(ends[1]), 0);
		CHECK_EQUAL(ready(ends[1]), 0);
		close_pair(ends);
	}
}

static void at_the_end(void)
{
	EACH_FAMILY(family) {
		int ends[2];

		make_pair(family, ends);
		put(ends[0], "abX", MSG_OOB);
		await_urgent(ends[1]);
		close(ends[0]);
		usleep(10000);
		get(ends[1], 0, 20, "ab");
		get(ends[1], 0, 20, "");
		get(ends[1], MSG_OOB, 1, NULL);
		close(ends[1]);
	}
}

static volatile sig_atomic_t urgent_signals;

static void count(int signal)
{
	(void)signal;
	urgent_signals++;
}

static void signals(void)
{
	MUST(signal(SIGURG, count) == SIG_ERR ? -1 : 0);
	EACH_FAMILY(family) {
		struct timeval long_enough = { 5, 0 };
		fd_set except;
		int ends[2];

		make_pair(family, ends);
		urgent_signals = 0;
		MUST(fcntl(ends[1], F_SETOWN, getpid()));
		put(ends[0], "abc", 0);
		put(ends[0], "abX", MSG_OOB);
		await_urgent(ends[1]);
		CHECK_EQUAL(urgent_signals, 1);
		FD_ZERO(&except);
		FD_SET(ends[1], &except);
		CHECK_EQUAL(select(ends[1] + 1, NULL, NULL, &except, &long_enough), 1);
		close_pair(ends);
	}
}

static void not_on_messages(void)
{
	static const int types[] = { SOCK_DGRAM, SOCK_SEQPACKET };
	int ends[2];

	for (int i = 0; i < 2; i++) {
		MUST(socketpair(AF_UNIX, types[i], 0, ends));
		CHECK_ERROR(send(ends[0], "x", 1, MSG_OOB), EOPNOTSUPP);
		CHECK_ERROR(recv(ends[0], ends, 1, MSG_OOB | MSG_DONTWAIT), EOPNOTSUPP);
	}
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHECK_ERROR(send(ends[0], "", 0, MSG_OOB), EOPNOTSUPP);
	tcp_pair(ends);
	CHECK_EQUAL(send(ends[0], "", 0, MSG_OOB), 0);
}

/* A listener is not connected; a socket that never was has no urgent byte. */
static void listeners(void)
{
	int fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	char byte;

	CHECK_ERROR(recv(fd, &byte, 1, MSG_OOB), EINVAL);
	MUST(listen(fd, 1));
	CHECK_ERROR(recv(fd, &byte, 1, MSG_OOB), ENOTCONN);
	MUST(shutdown(fd, SHUT_RD));
	CHECK_ERROR(recv(fd, &byte, 1, MSG_OOB), EINVAL);
	CHECK_ERROR(recv(fd, &byte, 1, 0), ENOTCONN);
}

static const struct test_case cases[] = {
	CASE(out_of_line),
	CASE(left_out),
	CASE(taken_first),
	CASE(two),
	CASE(in_line),
	CASE(at_the_end),
	CASE(signals),
	CASE(not_on_messages),
	CASE(listeners),
};

TEST_MAIN("urgent", cases)
