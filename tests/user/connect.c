/* Connections of TCP and Unix sockets: how they begin without waiting, how listeners refuse, and how they end. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/check.h"

static struct sockaddr_in there;

static int tcp_socket(int flags)
{
	return (int)MUST(socket(AF_INET, SOCK_STREAM | flags, 0));
}

/* A listener at `there`. */
static int tcp_listener(int backlog)
{
	socklen_t size = sizeof(there);
	int fd = tcp_socket(0);

	there = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	MUST(bind(fd, (struct sockaddr *)&there, size));
	MUST(getsockname(fd, (struct sockaddr *)&there, &size));
	if (backlog >= 0)
		MUST(listen(fd, backlog));
	return fd;
}

static int call(int fd)
{
	return connect(fd, (struct sockaddr *)&there, sizeof(there));
}

static int leave(int fd)
{
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };

	return connect(fd, &nowhere, sizeof(nowhere));
}

static int caller(void)
{
	int fd = tcp_socket(0);

	MUST(call(fd));
	return fd;
}

static int end[2];

/* end[0] has called, end[1] was accepted. */
static void make_tcp_pair(void)
{
	int listener = tcp_listener(5);

	end[0] = caller();
	end[1] = (int)MUST(accept(listener, NULL, NULL));
	MUST(close(listener));
}

static int ready_within(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP };

	MUST(poll(&p, 1, ms));
	return p.revents;
}

static int ready(int fd)
{
	return ready_within(fd, 0);
}

static int number(int fd, int level, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	MUST(getsockopt(fd, level, option, &value, &size));
	return value;
}

static int error_of(int fd)
{
	return number(fd, SOL_SOCKET, SO_ERROR);
}

static void hard_end(int fd)
{
	struct linger hard = { 1, 0 };

	MUST(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)));
	MUST(close(fd));
}

/* A connect that does not wait is under way, even to this machine. */
static void in_progress(void)
{
	int listener = tcp_listener(5), fd = tcp_socket(SOCK_NONBLOCK);

	CHECK_EQUAL(ready(fd), POLLOUT | POLLHUP);
	CHECK_ERROR(call(fd), EINPROGRESS);
	CHECK_EQUAL(ready_within(fd, 2000), POLLOUT);
	CHECK_EQUAL(error_of(fd), 0);
	CHECK_EQUAL(call(fd), 0);
	CHECK_ERROR(call(fd), EISCONN);
	CHECK_ERROR(call(listener), EISCONN);
}

static void refused(void)
{
	int holder = tcp_listener(-1), fd = tcp_socket(SOCK_NONBLOCK), other = tcp_socket(SOCK_NONBLOCK);
	char byte;

	CHECK_ERROR(call(fd), EINPROGRESS);
	CHECK_EQUAL(ready_within(fd, 2000), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	CHECK_EQUAL(error_of(fd), ECONNREFUSED);
	CHECK_EQUAL(error_of(fd), 0);
	CHECK_EQUAL(ready(fd), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
	CHECK_EQUAL(recv(fd, &byte, 1, 0), 0);
	/* Who has read the error does not get it from the next connect, which ends the attempt. */
	CHECK_ERROR(call(fd), ECONNABORTED);
	CHECK_EQUAL(ready(fd), POLLOUT | POLLHUP);
	CHECK_ERROR(call(other), EINPROGRESS);
	CHECK_ERROR(call(other), ECONNREFUSED);
	CHECK_EQUAL(error_of(other), 0);
	MUST(listen(holder, 1));
	CHECK_ERROR(call(fd), EINPROGRESS);
	CHECK_EQUAL(call(fd), 0);
}

static void refused_while_waiting(void)
{
	int holder = tcp_listener(-1), fd = tcp_socket(0);

	CHECK_ERROR(call(fd), ECONNREFUSED);
	CHECK_EQUAL(error_of(fd), 0);
	CHECK_EQUAL(ready(fd), POLLOUT | POLLHUP);
	CHECK_ERROR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_ERROR(recv(fd, &holder, 1, 0), ENOTCONN);
}

/* A listener without a place keeps its callers waiting. */
static void full_queue(void)
{
	int listener = tcp_listener(0), first = caller(), second = tcp_socket(SOCK_NONBLOCK), third = tcp_socket(0);
	struct timeval limit = { .tv_usec = 20000 };
	struct sockaddr_in name;
	socklen_t size = sizeof(name);

	CHECK_ERROR(call(second), EINPROGRESS);
	CHECK_EQUAL(ready(second), 0);
	CHECK_ERROR(call(second), EALREADY);
	CHECK_ERROR(send(second, "x", 1, MSG_NOSIGNAL), EAGAIN);
	CHECK_ERROR(recv(second, &name, 1, 0), EAGAIN);
	CHECK_ERROR(getpeername(second, (struct sockaddr *)&name, &size), ENOTCONN);
	MUST(getsockname(second, (struct sockaddr *)&name, &size));
	CHECK(name.sin_port != 0);
	CHECK_EQUAL(name.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	MUST(setsockopt(third, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)));
	CHECK_ERROR(call(third), EINPROGRESS);
	CHECK_ERROR(call(third), EALREADY);
	CHECK_EQUAL(shutdown(third, SHUT_RDWR), 0);
	CHECK_EQUAL(error_of(third), ECONNRESET);
	MUST(accept(listener, NULL, NULL));
	CHECK_EQUAL(ready_within(second, 20000), POLLOUT);
	CHECK_EQUAL(call(second), 0);
	CHECK_EQUAL(send(second, "x", 1, 0), 1);
	CHECK_EQUAL(send(first, "x", 1, 0), 1);
}

/* The end of a listener refuses who waits for a place. */
static void queue_goes(void)
{
	int listener = tcp_listener(0), first = caller(), second = tcp_socket(SOCK_NONBLOCK);

	CHECK_ERROR(call(second), EINPROGRESS);
	MUST(close(listener));
	CHECK_EQUAL(error_of(first), ECONNRESET);
	CHECK_EQUAL(ready_within(second, 20000), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	CHECK_EQUAL(error_of(second), ECONNREFUSED);
}

static int connect_later(void *unused)
{
	(void)unused;
	MUST(call(tcp_socket(0)));
	return 0;
}

static void waiting_call(void)
{
	int listener = tcp_listener(0);
	pid_t child;

	caller();
	child = test_child(connect_later, NULL);
	MUST(accept(listener, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 0);
	MUST(accept(listener, NULL, NULL));
}

/* SO_LINGER with no time: the peer gets an error behind the data. */
static void reset(void)
{
	char data[8];

	make_tcp_pair();
	CHECK_EQUAL(send(end[0], "data", 4, 0), 4);
	hard_end(end[0]);
	CHECK_EQUAL(ready_within(end[1], 2000), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	CHECK_EQUAL(recv(end[1], data, 8, 0), 4);
	CHECK_ERROR(recv(end[1], data, 8, 0), ECONNRESET);
	CHECK_EQUAL(recv(end[1], data, 8, 0), 0);
	CHECK_ERROR(send(end[1], data, 1, MSG_NOSIGNAL), EPIPE);
	CHECK_ERROR(shutdown(end[1], SHUT_WR), ENOTCONN);
	CHECK_ERROR(call(end[1]), EISCONN);
}

/* Whoever has had the orderly end of the data reads no error, but the next send reports it. */
static void reset_after_end(void)
{
	char data[8];

	make_tcp_pair();
	MUST(shutdown(end[0], SHUT_WR));
	hard_end(end[0]);
	CHECK_EQUAL(ready_within(end[1], 2000), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	CHECK_EQUAL(recv(end[1], data, 8, 0), 0);
	CHECK_EQUAL(error_of(end[1]), EPIPE);
}

static void reset_unaccepted(void)
{
	int listener = tcp_listener(5), fd = caller();
	char byte;

	MUST(close(listener));
	CHECK_EQUAL(ready_within(fd, 2000), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	CHECK_ERROR(recv(fd, &byte, 1, 0), ECONNRESET);
}

/* A connection whose caller has gone can still be accepted. */
static void accept_reset(void)
{
	int listener = tcp_listener(5), fd = caller(), peer;
	struct sockaddr_in name = { 0 };
	socklen_t size = sizeof(name);
	char byte;

	hard_end(fd);
	peer = (int)MUST(accept(listener, (struct sockaddr *)&name, &size));
	CHECK(name.sin_port != 0);
	CHECK_ERROR(getpeername(peer, (struct sockaddr *)&name, &size), ENOTCONN);
	CHECK_ERROR(recv(peer, &byte, 1, 0), ECONNRESET);
}

static volatile sig_atomic_t broken;

static void on_pipe(int number)
{
	broken = number;
}

/* The first send after the peer's orderly close goes out; the peer's answer is a reset. */
static void send_after_close(void)
{
	make_tcp_pair();
	MUST(close(end[0]));
	signal(SIGPIPE, on_pipe);
	CHECK_EQUAL(ready_within(end[1], 2000), POLLIN | POLLOUT | POLLRDHUP);
	/* A send of nothing is not answered. */
	CHECK_EQUAL(send(end[1], "", 0, 0), 0);
	CHECK_EQUAL(ready(end[1]), POLLIN | POLLOUT | POLLRDHUP);
	CHECK_EQUAL(send(end[1], "first", 5, 0), 5);
	CHECK_EQUAL(broken, 0);
	CHECK_EQUAL(ready_within(end[1], 2000) & POLLERR, POLLERR);
	CHECK_ERROR(send(end[1], "second", 6, 0), EPIPE);
	CHECK_EQUAL(broken, SIGPIPE);
	CHECK_EQUAL(error_of(end[1]), 0);
}

static void *accept_there(void *listener)
{
	CHECK_ERROR(accept(*(int *)listener, NULL, NULL), EINVAL);
	return NULL;
}

/* Shutting a listener down wakes who waits in accept, and leaves a socket that can listen again. */
static void shut_listener(void)
{
	int listener = tcp_listener(5), fd;
	pthread_t thread;

	MUST(shutdown(listener, SHUT_WR));
	CHECK_EQUAL(ready(listener), 0);
	fd = caller();
	MUST(accept(listener, NULL, NULL));
	MUST(close(fd));
	CHECK_EQUAL(pthread_create(&thread, NULL, accept_there, &listener), 0);
	usleep(50000);
	MUST(shutdown(listener, SHUT_RDWR));
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(ready(listener), POLLOUT | POLLHUP);
	CHECK_EQUAL(number(listener, SOL_SOCKET, SO_ACCEPTCONN), 0);
	CHECK_ERROR(accept(listener, NULL, NULL), EINVAL);
	CHECK_ERROR(shutdown(listener, SHUT_RDWR), ENOTCONN);
	MUST(listen(listener, 1));
	CHECK_EQUAL(number(listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
}

/* Each end shuts one direction down, in all orders. */
static void shut_directions(void)
{
	char data[8];

	make_tcp_pair();
	MUST(shutdown(end[0], SHUT_RD));
	CHECK_EQUAL(ready(end[0]), POLLIN | POLLOUT | POLLRDHUP);
	CHECK_EQUAL(recv(end[0], data, 8, 0), 0);
	/* The peer knows nothing of it, and what it sends can be read. */
	CHECK_EQUAL(send(end[1], "late", 4, 0), 4);
	CHECK_EQUAL(recv(end[0], data, 8, 0), 4);
	MUST(shutdown(end[0], SHUT_WR));
	CHECK_EQUAL(ready_within(end[1], 2000), POLLIN | POLLOUT | POLLRDHUP);
	CHECK_EQUAL(ready(end[0]), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
	/* Now it has said that it reads and sends no more: data ends the connection for both. */
	CHECK_EQUAL(send(end[1], "x", 1, 0), 1);
	CHECK_EQUAL(ready_within(end[1], 2000), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	CHECK_EQUAL(error_of(end[1]), EPIPE);
	CHECK_EQUAL(error_of(end[0]), ECONNRESET);
}

static void shut_both(void)
{
	char byte;

	make_tcp_pair();
	MUST(shutdown(end[0], SHUT_WR));
	MUST(shutdown(end[1], SHUT_WR));
	CHECK_EQUAL(ready_within(end[1], 2000), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
	CHECK_ERROR(shutdown(end[1], SHUT_RD), ENOTCONN);
	CHECK_ERROR(shutdown(end[0], SHUT_RD), ENOTCONN);
	CHECK_EQUAL(recv(end[0], &byte, 1, 0), 0);
	CHECK_EQUAL(error_of(end[0]), 0);
}

/* A socket that is disconnected can be used anew. */
static void disconnected(void)
{
	int listener = tcp_listener(5), fd = caller(), peer = (int)MUST(accept(listener, NULL, NULL));
	char byte;

	MUST(leave(fd));
	CHECK_EQUAL(error_of(fd), ECONNRESET);
	CHECK_EQUAL(ready(fd), POLLOUT | POLLHUP);
	CHECK_ERROR(recv(peer, &byte, 1, 0), ECONNRESET);
	MUST(call(fd));
	MUST(accept(listener, NULL, NULL));
	MUST(leave(listener));
	CHECK_ERROR(accept(listener, NULL, NULL), EINVAL);
	CHECK_EQUAL(send(fd, "x", 1, 0), 1);
}

static void *read_there(void *fd)
{
	char byte;

	/* The error depends on the age of Linux: ECONNRESET or EPIPE. */
	CHECK_EQUAL(recv(*(int *)fd, &byte, 1, 0), -1);
	return NULL;
}

/* Another thread disconnects the socket from which this one reads. */
static void disconnected_reader(void)
{
	pthread_t thread;

	make_tcp_pair();
	CHECK_EQUAL(pthread_create(&thread, NULL, read_there, &end[0]), 0);
	usleep(50000);
	MUST(leave(end[0]));
	MUST(close(end[1]));
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static int events_of(int epoll)
{
	struct epoll_event event;
	int n = (int)MUST(epoll_wait(epoll, &event, 1, 2000));

	return n ? (int)event.events : 0;
}

/* An epoll by edges reports each step of a connection. */
static void edges(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	int listener = tcp_listener(0), first = caller(), fd = tcp_socket(SOCK_NONBLOCK);
	int epoll = (int)MUST(epoll_create1(0)), peer;

	CHECK_ERROR(call(fd), EINPROGRESS);
	MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	CHECK_EQUAL(epoll_wait(epoll, &event, 1, 0), 0);
	MUST(close((int)MUST(accept(listener, NULL, NULL))));
	CHECK_EQUAL(ready_within(fd, 20000), POLLOUT);
	CHECK_EQUAL(events_of(epoll), EPOLLOUT);
	CHECK_EQUAL(epoll_wait(epoll, &event, 1, 0), 0);
	peer = (int)MUST(accept(listener, NULL, NULL));
	CHECK_EQUAL(send(peer, "x", 1, 0), 1);
	CHECK_EQUAL(events_of(epoll), EPOLLIN | EPOLLOUT);
	MUST(shutdown(peer, SHUT_WR));
	CHECK_EQUAL(events_of(epoll), EPOLLIN | EPOLLOUT | EPOLLRDHUP);
	hard_end(peer);
	CHECK_EQUAL(events_of(epoll), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLERR | EPOLLHUP);
	MUST(close(first));
}

static void edge_of_listener(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int listener = tcp_listener(5), epoll = (int)MUST(epoll_create1(0));

	MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event));
	CHECK_EQUAL(epoll_wait(epoll, &event, 1, 0), 0);
	caller();
	CHECK_EQUAL(events_of(epoll), EPOLLIN);
	MUST(shutdown(listener, SHUT_RD));
	CHECK_EQUAL(events_of(epoll), EPOLLHUP);
}

static void shut_before(void)
{
	int fd = tcp_socket(0), local = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));

	CHECK_ERROR(shutdown(fd, SHUT_RD), ENOTCONN);
	CHECK_EQUAL(ready(fd), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
	CHECK_EQUAL(shutdown(local, SHUT_WR), 0);
	CHECK_EQUAL(ready(local), POLLOUT | POLLHUP);
}

static struct sockaddr_un place;
static const socklen_t place_size = sizeof(place);

static int unix_listener(int type, int backlog)
{
	int fd = (int)MUST(socket(AF_UNIX, type, 0));

	place = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strcpy(place.sun_path, test_path("place"));
	unlink(place.sun_path);
	MUST(bind(fd, (struct sockaddr *)&place, place_size));
	MUST(listen(fd, backlog));
	return fd;
}

static int unix_call(int fd)
{
	return connect(fd, (struct sockaddr *)&place, place_size);
}

static void unix_queue(int type)
{
	int listener = unix_listener(type, 0), first = (int)MUST(socket(AF_UNIX, type, 0));
	int second = (int)MUST(socket(AF_UNIX, type | SOCK_NONBLOCK, 0));
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	char byte;

	MUST(unix_call(first));
	CHECK_ERROR(unix_call(second), EAGAIN);
	CHECK_EQUAL(ready(second), POLLOUT | POLLHUP);
	CHECK_ERROR(connect(first, &nowhere, sizeof(nowhere)), EINVAL);
	/* A listener that reads no more takes no more callers, but hands out those that wait. */
	MUST(shutdown(listener, SHUT_RD));
	CHECK_ERROR(unix_call(second), ECONNREFUSED);
	CHECK_EQUAL(ready(listener) & (POLLIN | POLLRDHUP), POLLIN | POLLRDHUP);
	MUST(close((int)MUST(accept(listener, NULL, NULL))));
	CHECK_ERROR(accept(listener, NULL, NULL), EINVAL);
	CHECK_EQUAL(recv(first, &byte, 1, 0), 0);
	MUST(close(listener));
	listener = unix_listener(type, 1);
	MUST(unix_call(second));
	MUST(close(listener));
	CHECK_EQUAL(ready(second), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	CHECK_ERROR(recv(second, &byte, 1, 0), ECONNRESET);
	CHECK_EQUAL(recv(second, &byte, 1, 0), 0);
}

static void unix_streams(void)
{
	unix_queue(SOCK_STREAM);
}

static void unix_packets(void)
{
	unix_queue(SOCK_SEQPACKET);
}

static void *unix_accept_there(void *listener)
{
	CHECK_ERROR(accept(*(int *)listener, NULL, NULL), EINVAL);
	return NULL;
}

static void unix_shut_listener(void)
{
	int listener = unix_listener(SOCK_STREAM, 5);
	pthread_t thread;

	CHECK_EQUAL(pthread_create(&thread, NULL, unix_accept_there, &listener), 0);
	usleep(50000);
	MUST(shutdown(listener, SHUT_RDWR));
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(ready(listener), POLLIN | POLLHUP | POLLRDHUP);
}

/* Datagrams: a call that does not wait reports no end, and who leaves its peer loses what it has not read. */
static void datagram_ends(void)
{
	int ends[2];
	char byte;
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };

	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	CHECK_EQUAL(send(ends[0], "x", 1, 0), 1);
	MUST(connect(ends[1], &nowhere, sizeof(nowhere)));
	CHECK_ERROR(recv(ends[1], &byte, 1, MSG_DONTWAIT), EAGAIN);
	CHECK_EQUAL(error_of(ends[0]), ECONNRESET);
	MUST(shutdown(ends[1], SHUT_RD));
	CHECK_EQUAL(ready(ends[1]), POLLIN | POLLOUT | POLLRDHUP);
	CHECK_ERROR(recv(ends[1], &byte, 1, MSG_DONTWAIT), EAGAIN);
	CHECK_EQUAL(recv(ends[1], &byte, 1, 0), 0);
	/* No SIGPIPE: that is for streams. */
	CHECK_ERROR(send(ends[0], "x", 1, 0), EPIPE);
}

/* A listener's poll tells of connections only, not of an error from before. */
static void error_of_listener(void)
{
	make_tcp_pair();
	MUST(leave(end[0]));
	CHECK_EQUAL(ready(end[0]), POLLOUT | POLLERR | POLLHUP);
	MUST(listen(end[0], 1));
	CHECK_EQUAL(ready(end[0]), 0);
	CHECK_EQUAL(error_of(end[0]), ECONNRESET);
}

/* A connection that has ended gives back a port that the kernel chose: the socket can be bound. */
static void bound_anew(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int holder = tcp_listener(-1), fd = tcp_socket(SOCK_NONBLOCK);
	socklen_t size = sizeof(any);

	CHECK_ERROR(call(fd), EINPROGRESS);
	CHECK_EQUAL(ready_within(fd, 2000), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	MUST(bind(fd, (struct sockaddr *)&any, sizeof(any)));
	CHECK_ERROR(bind(fd, (struct sockaddr *)&any, sizeof(any)), EINVAL);
	MUST(getsockname(fd, (struct sockaddr *)&any, &size));
	CHECK_ERROR(call(fd), ECONNREFUSED);
	CHECK_ERROR(bind(fd, (struct sockaddr *)&any, sizeof(any)), EINVAL);
	MUST(listen(fd, 1));
	there = any;
	MUST(close(caller()));
	any.sin_port = 0;
	MUST(close(holder));
	make_tcp_pair();
	CHECK_ERROR(bind(end[0], (struct sockaddr *)&any, sizeof(any)), EINVAL);
	hard_end(end[1]);
	CHECK_EQUAL(ready_within(end[0], 2000), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	MUST(bind(end[0], (struct sockaddr *)&any, sizeof(any)));
	CHECK_ERROR(call(end[0]), EISCONN);
}

/* read() of no bytes takes nothing and waits for nothing; recv() of no bytes from a stream waits for data. */
static void no_bytes(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	int pair[2], udp = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	char byte;

	CHECK_EQUAL(read(udp, &byte, 0), 0);
	for (int i = 0; i < 3; i++) {
		MUST(socketpair(AF_UNIX, types[i], 0, pair));
		CHECK_EQUAL(read(pair[0], &byte, 0), 0);
		CHECK_ERROR(recv(pair[0], &byte, 0, MSG_DONTWAIT), EAGAIN);
		CHECK_EQUAL(send(pair[1], "x", 1, 0), 1);
		CHECK_EQUAL(read(pair[0], &byte, 0), 0);
		CHECK_EQUAL(recv(pair[0], &byte, 1, MSG_DONTWAIT), 1);
	}
	make_tcp_pair();
	CHECK_ERROR(recv(end[0], &byte, 0, MSG_DONTWAIT), EAGAIN);
	CHECK_EQUAL(send(end[1], "x", 1, 0), 1);
	CHECK_EQUAL(ready_within(end[0], 2000) & POLLIN, POLLIN);
	CHECK_EQUAL(recv(end[0], &byte, 0, 0), 0);
	CHECK_EQUAL(recv(end[0], &byte, 1, 0), 1);
	MUST(shutdown(end[1], SHUT_WR));
	CHECK_EQUAL(recv(end[0], &byte, 0, 0), 0);
}

static const struct test_case cases[] = {
	CASE(in_progress), CASE(refused), CASE(refused_while_waiting), CASE(full_queue), CASE(queue_goes),
	CASE(waiting_call),
	CASE(reset), CASE(reset_after_end), CASE(reset_unaccepted), CASE(accept_reset), CASE(send_after_close),
	CASE(shut_listener), CASE(shut_directions), CASE(shut_both), CASE(disconnected), CASE(disconnected_reader),
	CASE(edges), CASE(edge_of_listener), CASE(shut_before), CASE(unix_streams), CASE(unix_packets),
	CASE(unix_shut_listener), CASE(datagram_ends), CASE(error_of_listener), CASE(bound_anew), CASE(no_bytes),
};

TEST_MAIN("connect", cases)
