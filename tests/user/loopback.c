/* Rarer calls on sockets of one machine: peeks that wait, errors of UDP, names without bytes, ports that are held. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/check.h"
#include "common/inet.h"

#define FAR 0x7f000002u		/* another address of the loopback device */

static int end[2];

static int open_socket(int type)
{
	return (int)MUST(socket(AF_INET, type, 0));
}

static int open_listener(void)
{
	int fd = open_socket(SOCK_STREAM | SOCK_NONBLOCK);

	MUST(bind_to(fd, 0));
	MUST(listen(fd, 5));
	return fd;
}

/* A connection: the caller is end[0]. */
static void make_pair(void)
{
	int listener = open_listener();

	end[0] = open_socket(SOCK_STREAM);
	MUST(connect_to(end[0], port_of(listener)));
	end[1] = (int)MUST(accept(listener, NULL, NULL));
	MUST(close(listener));
}

static struct sockaddr_in at(uint32_t address, int port)
{
	struct sockaddr_in name = loopback(port);

	name.sin_addr.s_addr = htonl(address);
	return name;
}

static int bind_at(int fd, uint32_t address, int port)
{
	struct sockaddr_in name = at(address, port);

	return bind(fd, (struct sockaddr *)&name, sizeof(name));
}

static int connect_at(int fd, uint32_t address, int port)
{
	struct sockaddr_in name = at(address, port);

	return connect(fd, (struct sockaddr *)&name, sizeof(name));
}

static uint32_t peer_of(int fd)
{
	struct sockaddr_in name;
	socklen_t size = sizeof(name);

	MUST(getpeername(fd, (struct sockaddr *)&name, &size));
	return ntohl(name.sin_addr.s_addr);
}

static int send_later(void *unused)
{
	(void)unused;
	usleep(50000);
	CHECK_EQUAL(send(end[0], "twenty bytes of more.", 20, 0), 20);
	return 0;
}

static void peek_waits(void)
{
	char data[64];

	for (int water = 0; water < 2; water++) {
		pid_t child;

		make_pair();
		CHECK_EQUAL(send(end[0], "ten bytes.", 10, 0), 10);
		child = test_child(send_later, NULL);
		if (water)
			MUST(set_option(end[1], SOL_SOCKET, SO_RCVLOWAT, 25));
		CHECK_EQUAL(recv(end[1], data, water ? 64 : 30, MSG_PEEK | (water ? 0 : MSG_WAITALL)), 30);
		CHECK_EQUAL(test_wait(child), 0);
		CHECK_EQUAL(recv(end[1], data, 64, MSG_PEEK | MSG_WAITALL | MSG_DONTWAIT), 30);
	}
	MUST(close(end[0]));
	CHECK_EQUAL(recv(end[1], data, 64, MSG_PEEK | MSG_WAITALL), 30);
}

/* TCP's MSG_TRUNC reads without a copy. */
static void truncated_read(void)
{
	char data[8];

	make_pair();
	CHECK_EQUAL(send(end[0], "abcdefgh", 8, 0), 8);
	CHECK_EQUAL(recv(end[1], NULL, 50, MSG_TRUNC | MSG_PEEK), 8);
	CHECK_EQUAL(recv(end[1], NULL, 3, MSG_TRUNC), 3);
	CHECK_EQUAL(recv(end[1], data, 2, 0), 2);
	CHECK(memcmp(data, "de", 2) == 0);
	CHECK_EQUAL(recv(end[1], NULL, 50, MSG_TRUNC), 3);
	CHECK_ERROR(recv(end[1], data, 1, MSG_DONTWAIT), EAGAIN);
}

/* A connected UDP socket gets no error for what it sends elsewhere. */
static void udp_elsewhere(void)
{
	int receiver = open_socket(SOCK_DGRAM), dead = open_socket(SOCK_DGRAM), fd = open_socket(SOCK_DGRAM);
	struct sockaddr_in to;
	char byte;

	MUST(bind_to(receiver, 0));
	MUST(bind_to(dead, 0));
	to = loopback(port_of(dead));
	MUST(close(dead));
	MUST(connect_to(fd, port_of(receiver)));
	CHECK_EQUAL(sendto(fd, "a", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	CHECK_EQUAL(send(fd, "b", 1, 0), 1);
	CHECK_EQUAL(recv(receiver, &byte, 1, 0), 1);
	CHECK_EQUAL(byte, 'b');
	to = loopback(port_of(receiver));
	to.sin_family = AF_UNSPEC;
	CHECK_EQUAL(sendto(fd, "c", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	CHECK_EQUAL(recv(receiver, &byte, 1, 0), 1);
	to.sin_family = AF_UNIX;
	CHECK_ERROR(sendto(fd, "c", 1, 0, (struct sockaddr *)&to, sizeof(to)), EAFNOSUPPORT);
	CHECK_ERROR(sendto(fd, "c", 1, 0, (struct sockaddr *)&to, 0), EINVAL);
}

/* A bind takes AF_UNSPEC, but only with the address "any". */
static void bind_without_family(void)
{
	struct sockaddr_in name = { .sin_family = AF_UNSPEC };
	int fd = open_socket(SOCK_DGRAM);

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_ERROR(bind(fd, (struct sockaddr *)&name, sizeof(name)), EAFNOSUPPORT);
	name.sin_addr.s_addr = 0;
	MUST(bind(fd, (struct sockaddr *)&name, sizeof(name)));
	CHECK(port_of(fd) != 0);
}

/* The address "any" as destination means the socket's own. */
static void any_destination(void)
{
	int listener = open_socket(SOCK_STREAM), fd = open_socket(SOCK_STREAM), from = open_socket(SOCK_DGRAM),
		to = open_socket(SOCK_DGRAM);
	struct sockaddr_in any = at(INADDR_ANY, 0);
	char data[4];

	MUST(bind_at(listener, FAR, 0));
	MUST(listen(listener, 1));
	MUST(bind_at(fd, FAR, 0));
	MUST(connect_at(fd, INADDR_ANY, port_of(listener)));
	CHECK_EQUAL(peer_of(fd), FAR);
	MUST(bind_at(from, FAR, 0));
	MUST(bind_at(to, FAR, 0));
	any.sin_port = htons((unsigned short)port_of(to));
	CHECK_EQUAL(sendto(from, "abc", 3, 0, (struct sockaddr *)&any, sizeof(any)), 3);
	CHECK_EQUAL(recv(to, data, sizeof(data), 0), 3);
	MUST(connect_at(from, INADDR_ANY, port_of(to)));
	CHECK_EQUAL(peer_of(from), FAR);
}

/* Addresses that name no single machine can be bound; data to the device's broadcast needs SO_BROADCAST, and UDP. */
static void group_addresses(void)
{
	static const uint32_t groups[] = { 0xe0000001u, 0xffffffffu, 0x7fffffffu };
	int udp = open_socket(SOCK_DGRAM);

	for (int i = 0; i < 3; i++) {
		MUST(bind_at(open_socket(SOCK_STREAM), groups[i], 0));
		MUST(bind_at(open_socket(SOCK_DGRAM), groups[i], 0));
	}
	CHECK_ERROR(connect_at(open_socket(SOCK_STREAM), 0x7fffffffu, 9), ENETUNREACH);
	CHECK_ERROR(connect_at(udp, 0x7fffffffu, 9), EACCES);
	MUST(set_option(udp, SOL_SOCKET, SO_BROADCAST, 1));
	MUST(connect_at(udp, 0x7fffffffu, 9));
}

/* A sender without a name has a name of no bytes. */
static void unnamed_senders(void)
{
	static const int types[] = { SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM };

	for (int i = 0; i < 3; i++) {
		struct sockaddr_un name;
		socklen_t size = sizeof(name);
		char data[8];
		struct iovec vector = { data, sizeof(data) };
		struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_name = &name,
			.msg_namelen = sizeof(name) };

		MUST(socketpair(AF_UNIX, types[i], 0, end));
		CHECK_EQUAL(send(end[0], "abc", 3, 0), 3);
		CHECK_EQUAL(recvfrom(end[1], data, sizeof(data), 0, (struct sockaddr *)&name, &size), 3);
		CHECK_EQUAL(size, 0);
		CHECK_EQUAL(send(end[0], "abc", 3, 0), 3);
		CHECK_EQUAL(recvmsg(end[1], &message, 0), 3);
		CHECK_EQUAL(message.msg_namelen, 0);
	}
}

/* What ioctl and MSG_OOB say of sequenced packets. */
static void packets(void)
{
	int bytes, alone = (int)MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0));
	char data[30] = "";

	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, end));
	CHECK_EQUAL(send(end[0], data, 10, 0), 10);
	CHECK_EQUAL(send(end[0], data, 20, 0), 20);
	MUST(ioctl(end[1], FIONREAD, &bytes));
	CHECK_EQUAL(bytes, 30);
	CHECK_ERROR(send(alone, data, 1, MSG_OOB | MSG_NOSIGNAL), ENOTCONN);
	CHECK_ERROR(recv(alone, data, 1, MSG_OOB), ENOTCONN);
	CHECK_ERROR(send(end[0], data, 1, MSG_OOB), EOPNOTSUPP);
	CHECK_ERROR(recv(end[1], data, 1, MSG_OOB), EOPNOTSUPP);
}

/* TCP_MAXSEG of a connection is what both ends had before it: the smaller. */
static void segment_of_a_connection(void)
{
	int listener = open_listener(), before;
	char data[2500] = "";

	end[0] = open_socket(SOCK_STREAM);
	MUST(connect_to(end[0], port_of(listener)));
	end[1] = (int)MUST(accept(listener, NULL, NULL));
	before = option_number(end[0], IPPROTO_TCP, TCP_MAXSEG);
	MUST(set_option(end[0], IPPROTO_TCP, TCP_MAXSEG, 1000));
	CHECK_EQUAL(option_number(end[0], IPPROTO_TCP, TCP_MAXSEG), before);
	MUST(set_option(end[0], IPPROTO_TCP, TCP_CORK, 1));
	CHECK_EQUAL(send(end[0], data, sizeof(data), 0), sizeof(data));
	if (test_is_timed())
		CHECK_ERROR(recv(end[1], data, 1, MSG_DONTWAIT), EAGAIN);
	MUST(set_option(listener, IPPROTO_TCP, TCP_MAXSEG, 1012));
	end[0] = open_socket(SOCK_STREAM);
	MUST(connect_to(end[0], port_of(listener)));
	CHECK_EQUAL(option_number(end[0], IPPROTO_TCP, TCP_MAXSEG), 1000);
}

/* A socket whose connect was refused shows the port that it had, but does not hold it. */
static void port_of_a_refused(void)
{
	int holder = open_socket(SOCK_STREAM), fd = open_socket(SOCK_STREAM);
	struct sockaddr_in name;
	socklen_t size = sizeof(name);

	MUST(bind_to(holder, 0));
	CHECK_ERROR(connect_to(fd, port_of(holder)), ECONNREFUSED);
	MUST(getsockname(fd, (struct sockaddr *)&name, &size));
	CHECK(name.sin_port != 0);
	CHECK_EQUAL(name.sin_addr.s_addr, 0);
	MUST(bind_to(open_socket(SOCK_STREAM), ntohs(name.sin_port)));
}

/* A connection that was accepted holds its listener's port, unless both sockets have SO_REUSEADDR. */
static void held_port(void)
{
	for (int reuse = 0; reuse < 2; reuse++) {
		int listener = open_socket(SOCK_STREAM), fd = open_socket(SOCK_STREAM), port;

		MUST(set_option(listener, SOL_SOCKET, SO_REUSEADDR, reuse));
		MUST(bind_to(listener, 0));
		MUST(listen(listener, 1));
		port = port_of(listener);
		end[0] = open_socket(SOCK_STREAM);
		MUST(connect_to(end[0], port));
		end[1] = (int)MUST(accept(listener, NULL, NULL));
		MUST(close(listener));
		CHECK_ERROR(bind_to(fd, port), EADDRINUSE);
		MUST(set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1));
		if (!reuse) {
			CHECK_ERROR(bind_to(fd, port), EADDRINUSE);
			MUST(close(end[0]));
			MUST(shutdown(end[1], SHUT_WR));
		}
		MUST(bind_to(fd, port));
		MUST(listen(fd, 1));
	}
}

/* Two connections differ in one of their addresses and ports. */
static void same_connection(void)
{
	static const int sharing[] = { SO_REUSEADDR, SO_REUSEPORT };

	for (int i = 0; i < 2; i++) {
		int listener = open_listener(), one = open_socket(SOCK_STREAM), two = open_socket(SOCK_STREAM);

		MUST(set_option(one, SOL_SOCKET, sharing[i], 1));
		MUST(set_option(two, SOL_SOCKET, sharing[i], 1));
		MUST(bind_to(one, 0));
		MUST(bind_to(two, port_of(one)));
		MUST(connect_to(one, port_of(listener)));
		CHECK_ERROR(connect_to(two, port_of(listener)), EADDRNOTAVAIL);
		MUST(accept(listener, NULL, NULL));
		CHECK_ERROR(accept(listener, NULL, NULL), EAGAIN);
		MUST(connect_to(two, port_of(open_listener())));
	}
}

/* An option of a level that the socket has not. */
static void unknown_level(void)
{
	CHECK_ERROR(getsockopt(open_socket(SOCK_STREAM), 200, 1, NULL, (socklen_t *)8), EOPNOTSUPP);
	CHECK_ERROR(getsockopt((int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)), 200, 1, NULL, (socklen_t *)8), EOPNOTSUPP);
}

static void length_of_a_name(void)
{
	struct sockaddr_un name;
	socklen_t size = (socklen_t)-1;
	char byte;

	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, end));
	CHECK_EQUAL(send(end[0], "x", 1, 0), 1);
	CHECK_ERROR(recvfrom(end[1], &byte, 1, 0, (struct sockaddr *)&name, &size), EINVAL);
}

static const struct test_case cases[] = {
	CASE(peek_waits), CASE(truncated_read), CASE(udp_elsewhere), CASE(bind_without_family), CASE(any_destination),
	CASE(group_addresses), CASE(unnamed_senders), CASE(packets), CASE(segment_of_a_connection),
	CASE(port_of_a_refused), CASE(held_port), CASE(same_connection), CASE(unknown_level), CASE(length_of_a_name),
};

TEST_MAIN("loopback", cases)
