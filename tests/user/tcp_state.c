/* What TCP_INFO says of a socket, and what QEMU does not pass on: so it is tested on the kernel only. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"
#include "common/inet.h"

#ifndef SIOCOUTQNSD
#define SIOCOUTQNSD 0x894b
#endif
#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

static int open_socket(int flags)
{
	return (int)MUST(socket(AF_INET, SOCK_STREAM | flags, 0));
}

static int state(int fd)
{
	struct tcp_info info = { .tcpi_state = 99 };
	socklen_t size = sizeof(info);

	MUST(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
	return info.tcpi_state;
}

static void info(void)
{
	int listener = open_socket(0), fd = open_socket(0);
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	MUST(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
	CHECK(size >= 104 && size <= sizeof(info));	/* the C library may know a longer structure */
	CHECK_EQUAL(info.tcpi_state, TCP_CLOSE);
	MUST(bind_to(listener, 0));
	MUST(listen(listener, 7));
	MUST(connect_to(fd, port_of(listener)));
	MUST(getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size));
	CHECK_EQUAL(info.tcpi_state, TCP_LISTEN);
	CHECK_EQUAL(info.tcpi_unacked, 1);
	CHECK_EQUAL(info.tcpi_sacked, 7);
	MUST(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
	CHECK_EQUAL(info.tcpi_state, TCP_ESTABLISHED);
	size = 1;
	MUST(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
	CHECK_EQUAL(size, 1);
	CHECK_EQUAL(info.tcpi_state, TCP_ESTABLISHED);
}

static void states(void)
{
	int listener = open_socket(0), fd = open_socket(0), waiting = open_socket(SOCK_NONBLOCK), peer;

	MUST(bind_to(listener, 0));
	MUST(listen(listener, 0));
	MUST(connect_to(fd, port_of(listener)));
	CHECK_ERROR(connect_to(waiting, port_of(listener)), EINPROGRESS);
	CHECK_EQUAL(state(waiting), TCP_SYN_SENT);
	MUST(shutdown(waiting, SHUT_RDWR));
	CHECK_EQUAL(state(waiting), TCP_CLOSE);
	peer = (int)MUST(accept(listener, NULL, NULL));
	MUST(shutdown(fd, SHUT_WR));
	CHECK(state(fd) == TCP_FIN_WAIT1 || state(fd) == TCP_FIN_WAIT2);
	CHECK_EQUAL(state(peer), TCP_CLOSE_WAIT);
	MUST(shutdown(peer, SHUT_WR));
	CHECK_EQUAL(state(fd), TCP_CLOSE);
	CHECK_EQUAL(state(peer), TCP_CLOSE);
}

static void late_port(void)
{
	int fd = open_socket(0), listener = open_socket(0), one = 1;

	MUST(bind_to(listener, 0));
	MUST(listen(listener, 1));
	MUST(setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one)));
	MUST(bind_to(fd, 0));
	CHECK_EQUAL(port_of(fd), 0);
	MUST(connect_to(fd, port_of(listener)));
	CHECK(port_of(fd) != 0);
}

/* SIOCOUTQNSD counts what the sender holds back. */
static void unsent(void)
{
	int listener = open_socket(0), fd = open_socket(0), left = -1, on = 1;

	MUST(bind_to(listener, 0));
	MUST(listen(listener, 1));
	MUST(connect_to(fd, port_of(listener)));
	MUST(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)));
	CHECK_EQUAL(send(fd, "abcd", 4, 0), 4);
	MUST(ioctl(fd, SIOCOUTQNSD, &left));
	CHECK_EQUAL(left, 4);
	on = 0;
	MUST(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)));
	MUST(ioctl(fd, SIOCOUTQNSD, &left));
	CHECK_EQUAL(left, 0);
}

/* An accept that cannot give the name ends the connection; QEMU looks at the name first. */
static void accept_without_room(void)
{
	int listener = open_socket(SOCK_NONBLOCK), fd = open_socket(0);
	socklen_t size = (socklen_t)-1;
	struct sockaddr_in name;
	char byte;

	MUST(bind_to(listener, 0));
	MUST(listen(listener, 1));
	MUST(connect_to(fd, port_of(listener)));
	CHECK_ERROR(accept(listener, (struct sockaddr *)&name, &size), EINVAL);
	CHECK_ERROR(accept(listener, NULL, NULL), EAGAIN);
	CHECK_EQUAL(recv(fd, &byte, 1, 0), 0);
}

/* A shutdown before the connect does not end a direction of it. */
static void shut_before(void)
{
	int listener = open_socket(0), fd = open_socket(0);

	MUST(bind_to(listener, 0));
	MUST(listen(listener, 1));
	CHECK_ERROR(shutdown(fd, SHUT_WR), ENOTCONN);
	MUST(connect_to(fd, port_of(listener)));
	CHECK_EQUAL(state(fd), TCP_ESTABLISHED);
	CHECK_EQUAL(state((int)MUST(accept(listener, NULL, NULL))), TCP_ESTABLISHED);
}

/* Linux knows these options of TCP. Here they could not have their effect. */
static void unknown(void)
{
	static const int options[] = { TCP_WINDOW_CLAMP, TCP_DEFER_ACCEPT, TCP_FASTOPEN, 25 /* TCP_NOTSENT_LOWAT */ };
	int fd = open_socket(0), value = 1000;
	socklen_t size = sizeof(value);

	for (int i = 0; i < 4; i++) {
		CHECK_ERROR(setsockopt(fd, IPPROTO_TCP, options[i], &value, sizeof(value)), ENOPROTOOPT);
		CHECK_ERROR(getsockopt(fd, IPPROTO_TCP, options[i], &value, &size), ENOPROTOOPT);
	}
}

static void device_name(void)
{
	char name[16] = "";
	socklen_t size = sizeof(name);
	int fd = open_socket(0);

	MUST(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size));
	CHECK_EQUAL(size, 0);
	MUST(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2));
	size = sizeof(name) - 1;
	CHECK_ERROR(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size), EINVAL);
	size = sizeof(name);
	MUST(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size));
	CHECK_EQUAL(size, 3);
	MUST(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0));
	MUST(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2));
	CHECK(strcmp(name, "lo") == 0);
	/* Once bound, only the superuser may bind it anew. */
	MUST(setresuid(1000, 1000, 1000));
	CHECK_ERROR(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0), EPERM);
	MUST(setsockopt(open_socket(0), SOL_SOCKET, SO_BINDTODEVICE, "lo", 2));
}

static const struct test_case cases[] = {
	CASE(info), CASE(states), CASE(late_port), CASE(unsent), CASE(unknown), CASE(device_name),
	CASE(accept_without_room), CASE(shut_before),
};

TEST_MAIN("tcp_state", cases)
