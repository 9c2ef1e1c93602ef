/* Special cases of connections: shutdown, a closed peer, full buffers, backlogs, peeking, timeouts, names. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

static int end[2];

static void make_pair(int type)
{
	MUST(socketpair(AF_UNIX, type, 0, end));
}

static short ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP };

	MUST(poll(&p, 1, 0));
	return p.revents;
}

static void half_closing(void)
{
	char buffer[8];

	make_pair(SOCK_STREAM);
	CHECK_EQUAL(write(end[0], "last", 4), 4);
	MUST(shutdown(end[0], SHUT_WR));
	CHECK_ERROR(send(end[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_EQUAL(ready(end[1]), POLLIN | POLLOUT | POLLRDHUP);
	CHECK_EQUAL(read(end[1], buffer, 8), 4);
	CHECK_EQUAL(read(end[1], buffer, 8), 0);
	CHECK_EQUAL(write(end[1], "back", 4), 4);
	CHECK_EQUAL(read(end[0], buffer, 8), 4);
	MUST(shutdown(end[1], SHUT_RDWR));
	CHECK(ready(end[1]) & POLLHUP);
	CHECK_ERROR(shutdown(end[0], 3), EINVAL);
}

static void the_other_end_goes(void)
{
	char buffer[8];

	make_pair(SOCK_STREAM);
	MUST(close(end[0]));
	CHECK(ready(end[1]) & POLLHUP);
	CHECK_EQUAL(read(end[1], buffer, 8), 0);
	signal(SIGPIPE, SIG_IGN);
	CHECK_ERROR(write(end[1], "x", 1), EPIPE);
	MUST(close(end[1]));
	/* Data that the closed side has not read is lost, and the other side gets an error. */
	make_pair(SOCK_STREAM);
	CHECK_EQUAL(write(end[1], "unread", 6), 6);
	MUST(close(end[0]));
	CHECK_ERROR(read(end[1], buffer, 8), ECONNRESET);
	CHECK_EQUAL(read(end[1], buffer, 8), 0);
}

static void full_buffers(void)
{
	static char block[4096];
	long put = 0, got = 0, n;

	make_pair(SOCK_STREAM);
	MUST(fcntl(end[0], F_SETFL, O_NONBLOCK));
	CHECK_ERROR(read(end[0], block, 1), EAGAIN);
	while ((n = write(end[0], block, sizeof(block))) > 0)
		put += n;
	CHECK_EQUAL(errno, EAGAIN);
	CHECK(put >= 16384);
	CHECK(!(ready(end[0]) & POLLOUT));
	while (got < put)
		got += MUST(read(end[1], block, sizeof(block)));
	CHECK_EQUAL(got, put);
	CHECK(ready(end[0]) & POLLOUT);
}

static void peeking(void)
{
	char buffer[16];
	int waiting;

	make_pair(SOCK_STREAM);
	CHECK_EQUAL(write(end[0], "abcdef", 6), 6);
	CHECK_EQUAL(recv(end[1], buffer, 3, MSG_PEEK), 3);
	MUST(ioctl(end[1], FIONREAD, &waiting));
	CHECK_EQUAL(waiting, 6);
	CHECK_EQUAL(recv(end[1], buffer, 16, MSG_DONTWAIT), 6);
	CHECK(memcmp(buffer, "abcdef", 6) == 0);
	CHECK_ERROR(recv(end[1], buffer, 1, MSG_DONTWAIT), EAGAIN);
	make_pair(SOCK_DGRAM);
	CHECK_EQUAL(send(end[0], "datagram", 8, 0), 8);
	CHECK_EQUAL(recv(end[1], buffer, 2, MSG_PEEK | MSG_TRUNC), 8);
	CHECK_EQUAL(recv(end[1], buffer, 16, 0), 8);
}

static int send_in_two(void *unused)
{
	(void)unused;
	if (write(end[0], "first", 5) != 5)
		return 1;
	usleep(20000);
	return write(end[0], "second", 6) != 6;
}

static void waiting_for_all(void)
{
	char buffer[16];
	pid_t child;

	make_pair(SOCK_STREAM);
	child = test_child(send_in_two, NULL);
	CHECK_EQUAL(recv(end[1], buffer, 11, MSG_WAITALL), 11);
	CHECK(memcmp(buffer, "firstsecond", 11) == 0);
	CHECK_EQUAL(test_wait(child), 0);
}

static void time_limits(void)
{
	struct timeval limit = { 0, 20000 }, back;
	socklen_t size = sizeof(back);
	char buffer[4];

	make_pair(SOCK_STREAM);
	MUST(setsockopt(end[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	MUST(getsockopt(end[0], SOL_SOCKET, SO_RCVTIMEO, &back, &size));
	CHECK_EQUAL(back.tv_usec, 20000);
	CHECK_ERROR(read(end[0], buffer, 4), EAGAIN);
	limit.tv_usec = 1000000;
	CHECK_ERROR(setsockopt(end[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), EDOM);
}

static struct sockaddr_un name(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	strcpy(a.sun_path, path);
	return a;
}

/* Shuts the socket down for sending, again and again, which wakes who receives from it. */
static int wake_often(void *socket)
{
	for (int i = 0; i < 20; i++) {
		usleep(50000);
		shutdown(*(int *)socket, SHUT_WR);
	}
	return 0;
}

/* A time limit does not begin anew when the socket wakes its reader for nothing. */
static void time_limits_pass(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = 9 };
	int fd = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	struct timeval limit = { .tv_usec = 100000 };
	long long begin;
	pid_t child;
	char byte;

	MUST(connect(fd, (struct sockaddr *)&name, sizeof(name)));
	MUST(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	child = test_child(wake_often, &fd);
	begin = test_now();
	CHECK_ERROR(recv(fd, &byte, 1, 0), EAGAIN);
	CHECK(!test_is_timed() || test_now() - begin < 500000000);
	CHECK_EQUAL(test_wait(child), 0);
}

static void names(void)
{
	struct sockaddr_un a = name(test_path("s")), got;
	socklen_t size = sizeof(got);
	int listener = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)), client, server;
	int other = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	int datagram = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));

	CHECK_ERROR(listen(listener, 1), EINVAL);
	MUST(bind(listener, (struct sockaddr *)&a, sizeof(a)));
	CHECK_ERROR(bind(other, (struct sockaddr *)&a, sizeof(a)), EADDRINUSE);
	CHECK_ERROR(connect(other, (struct sockaddr *)&a, sizeof(a)), ECONNREFUSED);
	CHECK_ERROR(accept(listener, NULL, NULL), EINVAL);
	MUST(listen(listener, 1));
	CHECK_ERROR(connect(datagram, (struct sockaddr *)&a, sizeof(a)), EPROTOTYPE);
	client = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	CHECK_ERROR(getpeername(client, (struct sockaddr *)&got, &size), ENOTCONN);
	CHECK_ERROR(recv(client, &got, 1, 0), EINVAL);
	MUST(connect(client, (struct sockaddr *)&a, sizeof(a)));
	CHECK_ERROR(connect(client, (struct sockaddr *)&a, sizeof(a)), EISCONN);
	CHECK(ready(listener) & POLLIN);
	server = (int)MUST(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	CHECK_EQUAL(fcntl(server, F_GETFD), FD_CLOEXEC);
	CHECK(fcntl(server, F_GETFL) & O_NONBLOCK);
	size = sizeof(got);
	MUST(getpeername(client, (struct sockaddr *)&got, &size));
	CHECK(strcmp(got.sun_path, a.sun_path) == 0);
	MUST(unlink(a.sun_path));
	CHECK_ERROR(connect(other, (struct sockaddr *)&a, sizeof(a)), ENOENT);
	CHECK_EQUAL(write(client, "still", 5), 5);
	CHECK_EQUAL(read(server, &got, 5), 5);
}

static void abstract_names(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "\0pagewalk-stream" };
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + 16;
	int listener = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)), client = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));

	CHECK_ERROR(connect(client, (struct sockaddr *)&a, size), ECONNREFUSED);
	MUST(bind(listener, (struct sockaddr *)&a, size));
	MUST(listen(listener, 4));
	MUST(connect(client, (struct sockaddr *)&a, size));
	MUST(close(listener));
	/* Closing the listener has closed the unaccepted connection. */
	CHECK(ready(client) & POLLHUP);
}

static void who_is_there(void)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	make_pair(SOCK_STREAM);
	MUST(getsockopt(end[0], SOL_SOCKET, SO_PEERCRED, &who, &size));
	CHECK_EQUAL(who.pid, getpid());
	CHECK_EQUAL(who.uid, geteuid());
}

static struct sockaddr_in local(unsigned short port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static void tcp_ports(void)
{
	struct sockaddr_in a = local(0), got;
	socklen_t size = sizeof(got);
	int listener = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), other = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	int client = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), server;

	MUST(bind(listener, (struct sockaddr *)&a, sizeof(a)));
	MUST(getsockname(listener, (struct sockaddr *)&a, &size));
	CHECK(ntohs(a.sin_port) != 0);
	CHECK_ERROR(bind(listener, (struct sockaddr *)&a, sizeof(a)), EINVAL);
	CHECK_ERROR(bind(other, (struct sockaddr *)&a, sizeof(a)), EADDRINUSE);
	MUST(listen(listener, 3));
	MUST(connect(client, (struct sockaddr *)&a, sizeof(a)));
	server = (int)MUST(accept(listener, (struct sockaddr *)&got, &size));
	size = sizeof(a);
	MUST(getsockname(client, (struct sockaddr *)&a, &size));
	CHECK_EQUAL(a.sin_port, got.sin_port);
	CHECK_EQUAL(ntohl(a.sin_addr.s_addr), INADDR_LOOPBACK);
	CHECK_EQUAL(write(server, "hi", 2), 2);
	CHECK_EQUAL(read(client, &got, 8), 2);
	MUST(close(server));
	CHECK_EQUAL(read(client, &got, 8), 0);
	CHECK_ERROR(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
	CHECK_ERROR(socket(77, SOCK_STREAM, 0), EAFNOSUPPORT);
	a = local(1);
	CHECK_ERROR(connect(other, (struct sockaddr *)&a, sizeof(a)), ECONNREFUSED);
	CHECK_ERROR(send(other, "x", 1, MSG_NOSIGNAL), EPIPE);
}

static void udp_peers(void)
{
	struct sockaddr_in a = local(0), from;
	socklen_t size = sizeof(a);
	int one = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0)), two = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	int stranger = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	char buffer[16];

	CHECK_ERROR(send(stranger, "x", 1, 0), EDESTADDRREQ);
	MUST(bind(one, (struct sockaddr *)&a, sizeof(a)));
	MUST(getsockname(one, (struct sockaddr *)&a, &size));
	MUST(connect(two, (struct sockaddr *)&a, sizeof(a)));
	CHECK_EQUAL(send(two, "hello", 5, 0), 5);
	CHECK_EQUAL(recvfrom(one, buffer, 16, 0, (struct sockaddr *)&from, &size), 5);
	MUST(connect(one, (struct sockaddr *)&from, sizeof(from)));
	/* A connected socket receives from its peer only. */
	CHECK_EQUAL(sendto(stranger, "spam", 4, 0, (struct sockaddr *)&a, sizeof(a)), 4);
	CHECK_ERROR(recv(one, buffer, 16, MSG_DONTWAIT), EAGAIN);
	CHECK_EQUAL(send(one, "", 0, 0), 0);
	CHECK_EQUAL(recv(two, buffer, 16, 0), 0);
	MUST(close(one));
	CHECK_EQUAL(send(two, "lost", 4, 0), 4);
	CHECK_ERROR(send(two, "again", 5, 0), ECONNREFUSED);
}

static const struct test_case cases[] = {
	CASE(half_closing), CASE(the_other_end_goes), CASE(full_buffers), CASE(peeking), CASE(waiting_for_all),
	CASE(time_limits), CASE(time_limits_pass), CASE(names), CASE(abstract_names), CASE(who_is_there),
	CASE(tcp_ports), CASE(udp_peers),
};

TEST_MAIN("stream", cases)
