/* Effects of TCP's options: what a sender holds back, how long close and connect wait, who may listen. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/inet.h"

static int end[2];

static int open_socket(void)
{
	return (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
}

static int open_listener(int backlog)
{
	int fd = open_socket();

	MUST(bind_to(fd, 0));
	MUST(listen(fd, backlog));
	return fd;
}

/* A connection: the caller is end[0]. */
static void make_pair(void)
{
	int listener = open_listener(1);

	end[0] = open_socket();
	MUST(connect_to(end[0], port_of(listener)));
	end[1] = (int)MUST(accept(listener, NULL, NULL));
	MUST(close(listener));
}

static int ready_within(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLRDHUP };

	MUST(poll(&p, 1, ms));
	return p.revents;
}

/*
 * end[1] sees nothing of what was sent. Where the clock is the host's, the 200 ms after which held data goes out may
 * have passed already.
 */
static void check_held(void)
{
	if (!test_is_timed())
		return;
	CHECK_EQUAL(ready_within(end[1], 20), 0);
	CHECK_ERROR(recv(end[1], &(char){ 0 }, 1, MSG_DONTWAIT), EAGAIN);
}

/* end[1] gets so many bytes. */
static void check_arrived(int wanted)
{
	char data[64];

	CHECK_EQUAL(recv(end[1], data, (size_t)wanted, MSG_WAITALL), wanted);
	CHECK_ERROR(recv(end[1], data, 1, MSG_DONTWAIT), EAGAIN);
}

/* end[1] gets so many bytes and the end. */
static void check_last(int wanted)
{
	char data[64];

	CHECK_EQUAL(recv(end[1], data, sizeof(data), MSG_WAITALL), wanted);
}

static int queue(int fd, unsigned long request)
{
	int bytes = -1;

	MUST(ioctl(fd, request, &bytes));
	return bytes;
}

static void set(int fd, int option, int value)
{
	MUST(set_option(fd, IPPROTO_TCP, option, value));
}

static void corked(void)
{
	make_pair();
	set(end[0], TCP_CORK, 1);
	CHECK_EQUAL(send(end[0], "ab", 2, 0), 2);
	CHECK_EQUAL(send(end[0], "cd", 2, 0), 2);
	check_held();
	if (test_is_timed()) {
		CHECK_EQUAL(queue(end[1], FIONREAD), 0);
		CHECK_EQUAL(queue(end[0], TIOCOUTQ), 4);
	}
	set(end[0], TCP_CORK, 0);
	check_arrived(4);
	CHECK(queue(end[0], TIOCOUTQ) == 0 || !test_is_timed());
	CHECK_EQUAL(send(end[0], "ef", 2, 0), 2);
	check_arrived(2);
}

/* TCP_NODELAY sends what is held back, and the cork stays. */
static void cork_without_delay(void)
{
	make_pair();
	set(end[0], TCP_CORK, 1);
	CHECK_EQUAL(send(end[0], "ab", 2, 0), 2);
	set(end[0], TCP_NODELAY, 1);
	check_arrived(2);
	CHECK_EQUAL(send(end[0], "cd", 2, 0), 2);
	check_held();
	MUST(shutdown(end[0], SHUT_WR));
	check_last(2);
}

static void more(void)
{
	make_pair();
	CHECK_EQUAL(send(end[0], "ab", 2, MSG_MORE), 2);
	check_held();
	CHECK_EQUAL(send(end[0], "c", 1, 0), 1);
	check_arrived(3);
	CHECK_EQUAL(send(end[0], "de", 2, MSG_MORE), 2);
	check_held();
	MUST(close(end[0]));
	check_last(2);
}

/* What MSG_MORE holds back goes out when the peer sends a segment; what TCP_CORK holds back does not. */
static void more_until_an_answer(void)
{
	make_pair();
	CHECK_EQUAL(send(end[0], "ab", 2, MSG_MORE), 2);
	CHECK_EQUAL(send(end[1], "x", 1, 0), 1);
	CHECK_EQUAL(ready_within(end[1], 100), POLLIN);
	check_arrived(2);
	set(end[0], TCP_CORK, 1);
	CHECK_EQUAL(send(end[0], "cd", 2, 0), 2);
	CHECK_EQUAL(send(end[1], "x", 1, 0), 1);
	check_held();
	make_pair();
	CHECK_EQUAL(send(end[0], "ab", 2, MSG_MORE), 2);
	MUST(shutdown(end[1], SHUT_WR));
	CHECK_EQUAL(ready_within(end[1], 100), POLLIN);
	check_arrived(2);
}

/* A reset comes instead of what is held back. */
static void held_until_a_reset(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct linger linger = { 1, 0 };
	char byte;

	for (int way = 0; way < 3 && test_is_timed(); way++) {
		make_pair();
		if (way == 0) {
			CHECK_EQUAL(send(end[1], "x", 1, 0), 1);
			CHECK_EQUAL(ready_within(end[0], 1000), POLLIN);
		}
		CHECK_EQUAL(send(end[0], "a", 1, 0), 1);
		set(end[0], TCP_CORK, 1);
		CHECK_EQUAL(send(end[0], "bc", 2, 0), 2);
		if (way == 1)
			MUST(setsockopt(end[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
		if (way == 2)
			MUST(connect(end[0], &none, sizeof(none)));
		MUST(close(end[0]));
		CHECK_EQUAL(recv(end[1], &byte, 1, 0), 1);
		CHECK_ERROR(recv(end[1], &byte, 1, 0), ECONNRESET);
		CHECK_EQUAL(recv(end[1], &byte, 1, 0), 0);
	}
}

static void spliced_more(void)
{
	int pipe_end[2];

	make_pair();
	MUST(pipe(pipe_end));
	CHECK_EQUAL(write(pipe_end[1], "abc", 3), 3);
	CHECK_EQUAL(splice(pipe_end[0], NULL, end[0], NULL, 3, SPLICE_F_MORE), 3);
	check_held();
	CHECK_EQUAL(send(end[0], "d", 1, 0), 1);
	check_arrived(4);
}

/* What is held back goes out after 200 ms: a blocked read and a poll see it. */
static void hold_ends(void)
{
	char data[8];
	long long before;

	make_pair();
	for (int polls = 0; polls < 2; polls++) {
		before = test_now();
		CHECK_EQUAL(send(end[0], "abc", 3, MSG_MORE), 3);
		if (polls)
			CHECK_EQUAL(ready_within(end[1], 20000), POLLIN);
		CHECK_EQUAL(recv(end[1], data, sizeof(data), 0), 3);
		CHECK(test_now() - before >= 100000000);
		CHECK(!test_is_timed() || test_now() - before < 400000000);
	}
}

/* Whole segments go out. */
static void whole_segments(void)
{
	static char data[3000];

	make_pair();
	set(end[0], TCP_CORK, 1);
	CHECK_EQUAL(send(end[0], data, sizeof(data), 0), sizeof(data));
	check_held();
	MUST(close(end[0]));
	MUST(close(end[1]));
	end[0] = open_socket();
	set(end[0], TCP_MAXSEG, 1012);
	{
		int listener = open_listener(1);

		MUST(connect_to(end[0], port_of(listener)));
		end[1] = (int)MUST(accept(listener, NULL, NULL));
	}
	set(end[0], TCP_CORK, 1);
	CHECK_EQUAL(send(end[0], data, 600, 0), 600);
	check_held();
	CHECK_EQUAL(send(end[0], data, 600, 0), 600);
	CHECK_EQUAL(recv(end[1], data, 1000, MSG_WAITALL), 1000);
	check_held();
	set(end[0], TCP_CORK, 0);
	CHECK_EQUAL(recv(end[1], data, 200, MSG_WAITALL), 200);
}

/* A full buffer sends what is held back, so that a reader makes room. */
static int fill(void *unused)
{
	static char data[3 << 20];
	size_t left = sizeof(data);

	(void)unused;
	while (left)
		left -= (size_t)MUST(send(end[0], data, left < 5000 ? left : 5000, MSG_MORE));
	return 0;
}

static void full_hold(void)
{
	static char data[1 << 16];
	size_t got = 0;
	pid_t child;

	make_pair();
	child = test_child(fill, NULL);
	MUST(close(end[0]));
	for (ssize_t n; (n = MUST(recv(end[1], data, sizeof(data), 0))) > 0;)
		got += (size_t)n;
	CHECK_EQUAL(got, 3 << 20);
	CHECK_EQUAL(test_wait(child), 0);
}

/* A datagram of UDP grows until a send without MSG_MORE. */
static void more_of_a_datagram(void)
{
	int to = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0)), fd = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	static char much[65000];
	struct sockaddr_in where;
	char data[8];

	MUST(bind_to(to, 0));
	where = loopback(port_of(to));
	CHECK_EQUAL(sendto(fd, "ab", 2, MSG_MORE, (struct sockaddr *)&where, sizeof(where)), 2);
	CHECK_ERROR(recv(to, data, sizeof(data), MSG_DONTWAIT), EAGAIN);
	CHECK_EQUAL(send(fd, "cd", 2, MSG_MORE), 2);
	CHECK_EQUAL(send(fd, "e", 1, 0), 1);
	CHECK_EQUAL(ready_within(to, 1000), POLLIN);
	CHECK_EQUAL(recv(to, data, sizeof(data), 0), 5);
	CHECK(memcmp(data, "abcde", 5) == 0);
	CHECK_ERROR(send(fd, "x", 1, 0), EDESTADDRREQ);
	MUST(connect_to(fd, port_of(to)));
	CHECK_EQUAL(send(fd, much, sizeof(much), MSG_MORE), sizeof(much));
	CHECK_ERROR(send(fd, much, sizeof(much), MSG_MORE), EMSGSIZE);
	CHECK_EQUAL(send(fd, "x", 1, 0), 1);
	CHECK_EQUAL(recv(to, data, sizeof(data), 0), 1);
	CHECK_EQUAL(send(fd, "lost", 4, MSG_MORE), 4);
}

/* A socket that connects to its own address is connected to itself. */
static void own_peer(void)
{
	int fd = open_socket(), other;
	char data[8];

	MUST(bind_to(fd, 0));
	MUST(connect_to(fd, port_of(fd)));
	CHECK_ERROR(connect_to(fd, port_of(fd)), EISCONN);
	CHECK_EQUAL(ready_within(fd, 0), 0);
	CHECK_EQUAL(send(fd, "me", 2, 0), 2);
	CHECK_EQUAL(ready_within(fd, 1000), POLLIN);
	CHECK_EQUAL(recv(fd, data, sizeof(data), 0), 2);
	CHECK_EQUAL(send(fd, "last", 4, 0), 4);
	MUST(shutdown(fd, SHUT_WR));
	CHECK_ERROR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_EQUAL(recv(fd, data, sizeof(data), 0), 4);
	CHECK_EQUAL(recv(fd, data, sizeof(data), 0), 0);
	MUST(close(fd));
	/* Unread data, a port of the kernel's choice, and a full buffer. */
	fd = open_socket();
	MUST(bind_to(fd, 0));
	MUST(connect_to(fd, port_of(fd)));
	CHECK_EQUAL(send(fd, "lost", 4, 0), 4);
	other = (int)MUST(dup(fd));
	MUST(close(fd));
	MUST(fcntl(other, F_SETFL, O_NONBLOCK));
	while (send(other, data, sizeof(data), 0) > 0)
		;
	CHECK_EQUAL(errno, EAGAIN);
	MUST(close(other));
}

static long long close_takes(int fd)
{
	long long before = test_now();

	MUST(close(fd));
	return test_now() - before;
}

static void *read_soon(void *unused)
{
	static char data[1 << 16];

	usleep(100000);
	while (MUST(recv(end[1], data, sizeof(data), 0)) > 0)
		;
	return unused;
}

/* With SO_LINGER close waits for what the peer's window does not take, and no longer than it was told. */
static void lingers(void)
{
	static char data[1 << 16];
	struct linger linger = { 1, 1 };
	pthread_t reader;

	make_pair();
	MUST(setsockopt(end[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	CHECK_EQUAL(send(end[0], "few", 3, 0), 3);
	CHECK(close_takes(end[0]) < 500000000 || !test_is_timed());
	MUST(close(end[1]));

	make_pair();
	MUST(setsockopt(end[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	while (send(end[0], data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	CHECK(close_takes(end[0]) >= 900000000);
	CHECK_EQUAL(recv(end[1], data, 1, 0), 1);
	MUST(close(end[1]));

	make_pair();
	linger.l_linger = 60;
	MUST(setsockopt(end[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	while (send(end[0], data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	CHECK_EQUAL(pthread_create(&reader, NULL, read_soon, NULL), 0);
	CHECK(close_takes(end[0]) < 30000000000LL);
	CHECK_EQUAL(pthread_join(reader, NULL), 0);
}

static int end_with_data(void *unused)
{
	static char data[1 << 16];
	struct linger linger = { 1, 1000 };

	(void)unused;
	make_pair();
	MUST(setsockopt(end[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	while (send(end[0], data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	return 0;
}

/* A process that ends waits for nobody, even if it closes the sender before the receiver. */
static void end_does_not_linger(void)
{
	CHECK_EQUAL(test_in_child(end_with_data, NULL), 0);
}

/* TCP_LINGER2 below 0: a close resets the connection if the peer has not closed its direction. */
static void no_half_open(void)
{
	char byte;

	/* Linux acknowledges the end of the data late, and only then knows that the peer has not closed. */
	for (useconds_t wait = 60000;; wait *= 2) {
		make_pair();
		set(end[0], TCP_LINGER2, -1);
		MUST(shutdown(end[0], SHUT_WR));
		CHECK(ready_within(end[1], 10000) & POLLRDHUP);
		CHECK_EQUAL(recv(end[1], &byte, 1, 0), 0);
		usleep(wait);
		MUST(close(end[0]));
		usleep(wait);
		if (ready_within(end[1], 0) & POLLHUP)
			break;
		CHECK(!test_is_timed() && wait < 8000000);
		MUST(close(end[1]));
	}
	CHECK_ERROR(send(end[1], "x", 1, MSG_NOSIGNAL), EPIPE);
}

/* Two sockets with SO_REUSEADDR have one address until one of them listens. */
static void one_listens(void)
{
	int first = open_socket(), second = open_socket(), third = open_socket();

	MUST(set_option(first, SOL_SOCKET, SO_REUSEADDR, 1));
	MUST(set_option(second, SOL_SOCKET, SO_REUSEADDR, 1));
	MUST(set_option(third, SOL_SOCKET, SO_REUSEADDR, 1));
	MUST(bind_to(first, 0));
	MUST(bind_to(second, port_of(first)));
	MUST(listen(second, 1));
	CHECK_ERROR(listen(first, 1), EADDRINUSE);
	CHECK_ERROR(bind_to(third, port_of(first)), EADDRINUSE);
	MUST(close(second));
	MUST(listen(first, 1));
	MUST(connect_to(open_socket(), port_of(first)));
}

/* TCP_SYNCNT: a connect to a full listener asks so often again, after 1 s, 2 s and so on, and then gives up. */
static void gives_up(void)
{
	int listener = open_listener(0), port = port_of(listener), waiting = open_socket();
	long long before;

	MUST(connect_to(open_socket(), port));
	MUST(fcntl(waiting, F_SETFL, O_NONBLOCK));
	set(waiting, TCP_SYNCNT, 1);
	before = test_now();
	CHECK_ERROR(connect_to(waiting, port), EINPROGRESS);
	CHECK_EQUAL(ready_within(waiting, 60000), POLLIN | POLLERR | POLLHUP | POLLRDHUP);
	CHECK(test_now() - before >= 2500000000LL);
	CHECK(test_now() - before < 4000000000LL || !test_is_timed());
	CHECK_EQUAL(option_number(waiting, SOL_SOCKET, SO_ERROR), ETIMEDOUT);
	waiting = open_socket();
	set(waiting, TCP_SYNCNT, 1);
	CHECK_ERROR(connect_to(waiting, port), ETIMEDOUT);
	/* Who gets a place in time is connected. */
	waiting = open_socket();
	MUST(fcntl(waiting, F_SETFL, O_NONBLOCK));
	CHECK_ERROR(connect_to(waiting, port), EINPROGRESS);
	MUST(accept(listener, NULL, NULL));
	CHECK_EQUAL(ready_within(waiting, 100), 0);
	MUST(accept(listener, NULL, NULL));
	usleep(1000);
	CHECK_EQUAL(option_number(waiting, SOL_SOCKET, SO_ERROR), 0);
}

/* TCP_USER_TIMEOUT ends a connect to a full listener, and a connection whose receiver does not read. */
static void user_timeout(void)
{
	static char data[1 << 16];
	int listener = open_listener(0), waiting = open_socket();
	long long before = test_now();

	MUST(connect_to(open_socket(), port_of(listener)));
	set(waiting, TCP_USER_TIMEOUT, 1500);
	CHECK_ERROR(connect_to(waiting, port_of(listener)), ETIMEDOUT);
	CHECK(test_now() - before >= 1000000000);
	CHECK(test_now() - before < 5000000000LL || !test_is_timed());

	make_pair();
	set(end[0], TCP_USER_TIMEOUT, 500);
	before = test_now();
	while (send(end[0], data, sizeof(data), MSG_NOSIGNAL) > 0)
		;
	CHECK_EQUAL(errno, ETIMEDOUT);
	CHECK(test_now() - before >= 400000000);
	CHECK(test_now() - before < 5000000000LL || !test_is_timed());
	CHECK_ERROR(send(end[0], data, 1, MSG_NOSIGNAL), EPIPE);
}

static const struct test_case cases[] = {
	CASE(corked), CASE(cork_without_delay), CASE(more), CASE(more_until_an_answer), CASE(held_until_a_reset),
	CASE(spliced_more), CASE(hold_ends), CASE(whole_segments), CASE(full_hold),
	CASE(more_of_a_datagram), CASE(own_peer), CASE(lingers), CASE(end_does_not_linger), CASE(no_half_open),
	CASE(one_listens), CASE(gives_up), CASE(user_timeout),
};

TEST_MAIN("tcp_option", cases)
