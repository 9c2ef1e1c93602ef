/* Options of sockets: what is set reads back and has its effect; interfaces, and what comes with a UDP datagram. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/if_arp.h>
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

static int open_socket(int type)
{
	return (int)MUST(socket(AF_INET, type, 0));
}

static void read_back(void)
{
	static const struct { int level, option, initial, value, back; } rows[] = {
		{ SOL_SOCKET, SO_REUSEADDR, 0, 7, 1 }, { SOL_SOCKET, SO_KEEPALIVE, 0, 1, 1 },
		{ SOL_SOCKET, SO_PRIORITY, 0, 3, 3 }, { SOL_SOCKET, SO_RCVLOWAT, 1, 5, 5 },
		{ SOL_SOCKET, SO_RCVLOWAT, 1, 0, 1 }, { SOL_SOCKET, SO_REUSEPORT, 0, 1, 1 },
		{ IPPROTO_IP, IP_TOS, 0, 19, 16 }, { IPPROTO_IP, IP_TTL, 64, 33, 33 },
		{ IPPROTO_IP, IP_TTL, 64, -1, 64 },
		{ IPPROTO_IP, IP_RECVTOS, 0, 1, 1 }, { IPPROTO_IP, IP_FREEBIND, 0, 1, 1 },
		{ IPPROTO_TCP, TCP_NODELAY, 0, 9, 1 }, { IPPROTO_TCP, TCP_CORK, 0, 1, 1 },
		{ IPPROTO_TCP, TCP_MAXSEG, 536, 1000, 1000 }, { IPPROTO_TCP, TCP_KEEPIDLE, 7200, 77, 77 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 75, 6, 6 }, { IPPROTO_TCP, TCP_KEEPCNT, 9, 5, 5 },
		{ IPPROTO_TCP, TCP_SYNCNT, 6, 3, 3 }, { IPPROTO_TCP, TCP_LINGER2, 60, -5, -1 },
		{ IPPROTO_TCP, TCP_LINGER2, 60, 1000, 120 }, { IPPROTO_TCP, TCP_QUICKACK, 1, 0, 0 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, 0, 1234, 1234 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = open_socket(SOCK_STREAM);

		CHECK_EQUAL(option_number(fd, rows[i].level, rows[i].option), rows[i].initial);
		MUST(set_option(fd, rows[i].level, rows[i].option, rows[i].value));
		CHECK_EQUAL(option_number(fd, rows[i].level, rows[i].option), rows[i].back);
		MUST(close(fd));
	}
}

static void wrong_values(void)
{
	static const struct { int level, option, value, error; } rows[] = {
		{ IPPROTO_IP, IP_TTL, 0, EINVAL }, { IPPROTO_IP, IP_TTL, 256, EINVAL },
		{ IPPROTO_IP, IP_MTU_DISCOVER, 6, EINVAL },
		{ IPPROTO_TCP, TCP_MAXSEG, 87, EINVAL }, { IPPROTO_TCP, TCP_MAXSEG, 32768, EINVAL },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 0, EINVAL }, { IPPROTO_TCP, TCP_KEEPCNT, 128, EINVAL },
		{ IPPROTO_TCP, TCP_SYNCNT, 128, EINVAL }, { IPPROTO_TCP, TCP_USER_TIMEOUT, -1, EINVAL },
		{ SOL_SOCKET, SO_TYPE, 1, ENOPROTOOPT }, { SOL_SOCKET, SO_ERROR, 1, ENOPROTOOPT },
		{ SOL_SOCKET, SO_SNDLOWAT, 1, ENOPROTOOPT }, { SOL_SOCKET, SO_ACCEPTCONN, 1, ENOPROTOOPT },
		{ IPPROTO_TCP, 99, 1, ENOPROTOOPT },
	};
	int fd = open_socket(SOCK_STREAM), udp = open_socket(SOCK_DGRAM), value = 1;
	socklen_t size = sizeof(value);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_ERROR(set_option(fd, rows[i].level, rows[i].option, rows[i].value), rows[i].error);
	CHECK_ERROR(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, 3), EINVAL);
	CHECK_ERROR(set_option(udp, IPPROTO_TCP, TCP_NODELAY, 1), ENOPROTOOPT);
	CHECK_EQUAL(getsockopt(fd, IPPROTO_TCP, 99, &value, &size), -1);
}

/* An accepted connection has its listener's options. */
static void inherited(void)
{
	int listener = open_socket(SOCK_STREAM), fd = open_socket(SOCK_STREAM), peer;
	struct linger linger = { 1, 3 }, back = { 0 };
	socklen_t size = sizeof(back);

	MUST(set_option(listener, SOL_SOCKET, SO_KEEPALIVE, 1));
	MUST(set_option(listener, IPPROTO_TCP, TCP_NODELAY, 1));
	MUST(set_option(listener, IPPROTO_TCP, TCP_KEEPIDLE, 11));
	MUST(setsockopt(listener, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	MUST(bind_to(listener, 0));
	MUST(listen(listener, 1));
	MUST(connect_to(fd, port_of(listener)));
	peer = (int)MUST(accept(listener, NULL, NULL));
	CHECK_EQUAL(option_number(peer, SOL_SOCKET, SO_KEEPALIVE), 1);
	CHECK_EQUAL(option_number(peer, IPPROTO_TCP, TCP_NODELAY), 1);
	CHECK_EQUAL(option_number(peer, IPPROTO_TCP, TCP_KEEPIDLE), 11);
	MUST(getsockopt(peer, SOL_SOCKET, SO_LINGER, &back, &size));
	CHECK_EQUAL(back.l_linger, 3);
}

static int sharer(int type, int port, int share)
{
	int fd = open_socket(type);

	if (share)
		MUST(set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1));
	return bind_to(fd, port) ? -1 : fd;
}

/* Listeners that share a port get connections each; a socket without the option cannot join them. */
static void shared_port(void)
{
	int one = sharer(SOCK_STREAM, 0, 1), port = port_of(one), two = sharer(SOCK_STREAM, port, 1), got[2] = { 0 };

	CHECK(two >= 0);
	CHECK_EQUAL(sharer(SOCK_STREAM, port, 0), -1);
	CHECK_EQUAL(errno, EADDRINUSE);
	MUST(listen(one, 64));
	MUST(listen(two, 64));
	MUST(fcntl(one, F_SETFL, O_NONBLOCK));
	MUST(fcntl(two, F_SETFL, O_NONBLOCK));
	for (int i = 0; i < 64; i++)
		MUST(connect_to(open_socket(SOCK_STREAM), port));
	while (accept(one, NULL, NULL) >= 0)
		got[0]++;
	while (accept(two, NULL, NULL) >= 0)
		got[1]++;
	CHECK_EQUAL(got[0] + got[1], 64);
	CHECK(got[0] > 4 && got[1] > 4);
	MUST(close(one));
	MUST(connect_to(open_socket(SOCK_STREAM), port));
}

static void shared_udp_port(void)
{
	int one = sharer(SOCK_DGRAM, 0, 1), port = port_of(one), two = sharer(SOCK_DGRAM, port, 1), got = 0;
	struct sockaddr_in to = loopback(port);
	char byte;

	CHECK(two >= 0);
	CHECK_EQUAL(sharer(SOCK_DGRAM, port, 0), -1);
	for (int i = 0; i < 64; i++)
		CHECK_EQUAL(sendto(open_socket(SOCK_DGRAM), "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	while (recv(one, &byte, 1, MSG_DONTWAIT) == 1)
		got++;
	CHECK(got > 4 && got < 60);
	while (recv(two, &byte, 1, MSG_DONTWAIT) == 1)
		got++;
	CHECK_EQUAL(got, 64);
}

static int readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	MUST(poll(&p, 1, 0));
	return p.revents;
}

static int send_in_two(void *fd)
{
	usleep(50000);
	return send(*(int *)fd, "cdef", 4, 0) != 4;
}

/* A read waits for so many bytes, or for its limit of time; poll of TCP waits too. */
static void low_water(int tcp)
{
	struct timeval limit = { .tv_usec = 20000 }, none = { 0 };
	int end[2];
	char data[8];
	pid_t child;

	if (tcp) {
		int listener = open_socket(SOCK_STREAM);

		MUST(bind_to(listener, 0));
		MUST(listen(listener, 1));
		end[0] = open_socket(SOCK_STREAM);
		MUST(connect_to(end[0], port_of(listener)));
		end[1] = (int)MUST(accept(listener, NULL, NULL));
	} else {
		MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, end));
	}
	MUST(set_option(end[0], SOL_SOCKET, SO_RCVLOWAT, 4));
	MUST(setsockopt(end[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	CHECK_EQUAL(send(end[1], "ab", 2, 0), 2);
	CHECK_EQUAL(readable(end[0]), tcp ? 0 : POLLIN);
	CHECK_EQUAL(recv(end[0], data, 8, MSG_DONTWAIT | MSG_PEEK), 2);
	CHECK_EQUAL(recv(end[0], data, 8, 0), 2);
	CHECK_EQUAL(send(end[1], "ab", 2, 0), 2);
	MUST(setsockopt(end[0], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)));
	child = test_child(send_in_two, &end[1]);
	CHECK_EQUAL(recv(end[0], data, 8, 0), 6);
	CHECK_EQUAL(test_wait(child), 0);
	CHECK_EQUAL(send(end[1], "abcd", 4, 0), 4);
	CHECK_EQUAL(readable(end[0]), POLLIN);
	CHECK_EQUAL(recv(end[0], data, 2, 0), 2);
	CHECK_EQUAL(readable(end[0]), tcp ? 0 : POLLIN);
	MUST(shutdown(end[1], SHUT_WR));
	CHECK_EQUAL(readable(end[0]), POLLIN);
	CHECK_EQUAL(recv(end[0], data, 8, 0), 2);
}

static void low_water_tcp(void)
{
	low_water(1);
}

static void low_water_unix(void)
{
	low_water(0);
}

/* A small buffer for sending fills early. */
static void buffers(void)
{
	static char block[4096];
	long put[2] = { 0, 0 };
	int end[2];

	for (int small = 0; small < 2; small++) {
		MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, end));
		if (small)
			MUST(set_option(end[0], SOL_SOCKET, SO_SNDBUF, 4096));
		for (long n; (n = send(end[0], block, 1024, 0)) > 0;)
			put[small] += n;
		CHECK_EQUAL(errno, EAGAIN);
		MUST(close(end[0]));
		MUST(close(end[1]));
	}
	CHECK(put[1] * 4 <= put[0]);
	/* A size below 0 is a large one. */
	for (int option = 0; option < 2; option++) {
		int fd = open_socket(SOCK_STREAM), name = option ? SO_RCVBUF : SO_SNDBUF;

		MUST(set_option(fd, SOL_SOCKET, name, 1));
		CHECK(option_number(fd, SOL_SOCKET, name) < 10000);
		MUST(set_option(fd, SOL_SOCKET, name, -5));
		CHECK(option_number(fd, SOL_SOCKET, name) >= 400000);
	}
}

static int set_device(int fd, const char *name, socklen_t size)
{
	return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, size);
}

/* A socket may be bound to the loopback device. */
static void device(void)
{
	int fd = open_socket(SOCK_DGRAM), from = open_socket(SOCK_DGRAM), pair[2];
	struct sockaddr_in to;
	char byte;

	MUST(set_device(fd, "lo", 3));
	MUST(bind_to(fd, 0));
	to = loopback(port_of(fd));
	CHECK_EQUAL(sendto(from, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	CHECK_EQUAL(recv(fd, &byte, 1, 0), 1);
	CHECK_ERROR(set_device(fd, "none", 5), ENODEV);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	MUST(set_device(pair[0], "lo", 3));
}

/* TCP says at once that there is no broadcast; UDP, that it was not asked for. */
static void broadcast(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = 0xffffffff };

	CHECK_ERROR(connect(open_socket(SOCK_STREAM), (struct sockaddr *)&to, sizeof(to)), ENETUNREACH);
	CHECK_ERROR(sendto(open_socket(SOCK_DGRAM), "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), EACCES);
}

/* A receiver that asks is told where a datagram was sent to, and with which lifetime and kind of service. */
static void packet_info(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET }, to;
	int fd = open_socket(SOCK_DGRAM), from = open_socket(SOCK_DGRAM), ttl = 0;
	char data[8], control[256];
	struct iovec vector = { data, sizeof(data) };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct in_pktinfo where = { 0 };
	unsigned char tos = 0;

	MUST(set_option(fd, IPPROTO_IP, IP_PKTINFO, 1));
	MUST(set_option(fd, IPPROTO_IP, IP_RECVTTL, 1));
	MUST(set_option(fd, IPPROTO_IP, IP_RECVTOS, 1));
	MUST(set_option(from, IPPROTO_IP, IP_TTL, 44));
	MUST(set_option(from, IPPROTO_IP, IP_TOS, 16));
	MUST(bind(fd, (struct sockaddr *)&any, sizeof(any)));
	to = loopback(port_of(fd));
	to.sin_addr.s_addr = htonl(0x7f000102);
	CHECK_EQUAL(sendto(from, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	CHECK_EQUAL(recvmsg(fd, &message, 0), 1);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		CHECK_EQUAL(c->cmsg_level, IPPROTO_IP);
		if (c->cmsg_type == IP_PKTINFO)
			memcpy(&where, CMSG_DATA(c), sizeof(where));
		if (c->cmsg_type == IP_TTL)
			memcpy(&ttl, CMSG_DATA(c), sizeof(ttl));
		if (c->cmsg_type == IP_TOS)
			memcpy(&tos, CMSG_DATA(c), sizeof(tos));
	}
	CHECK_EQUAL(where.ipi_addr.s_addr, to.sin_addr.s_addr);
	CHECK(where.ipi_ifindex != 0);
	CHECK(ttl != 0);
	CHECK_EQUAL(tos, 16);
}

/* IP_RECVERR: also a socket without a peer is told that nobody had the port, and gets its datagram back. */
static void errors(void)
{
	int fd = open_socket(SOCK_DGRAM), gone = open_socket(SOCK_DGRAM);
	char data[8], control[256];
	struct iovec vector = { data, sizeof(data) };
	struct sockaddr_in to, name = { 0 };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_name = &name,
				  .msg_controllen = sizeof(control), .msg_namelen = sizeof(name) };

	MUST(bind_to(gone, 0));
	to = loopback(port_of(gone));
	MUST(close(gone));
	MUST(set_option(fd, IPPROTO_IP, IP_RECVERR, 1));
	CHECK_ERROR(recvmsg(fd, &message, MSG_ERRQUEUE), EAGAIN);
	CHECK_EQUAL(sendto(fd, "lost", 4, 0, (struct sockaddr *)&to, sizeof(to)), 4);
	CHECK(readable(fd) & POLLERR);
	CHECK_EQUAL(recvmsg(fd, &message, MSG_ERRQUEUE), 4);
	CHECK(memcmp(data, "lost", 4) == 0);
	CHECK(message.msg_flags & MSG_ERRQUEUE);
	CHECK_EQUAL(name.sin_port, to.sin_port);
	CHECK_EQUAL(readable(fd), 0);
}

static void interfaces(void)
{
	int fd = open_socket(SOCK_DGRAM);
	struct ifreq one = { .ifr_name = "lo" };
	char name[IF_NAMESIZE] = "";

	CHECK_EQUAL(if_nametoindex("lo"), 1);
	CHECK_EQUAL(if_nametoindex("none"), 0);
	CHECK(if_indextoname(1, name) == name);
	CHECK(strcmp(name, "lo") == 0);
	MUST(ioctl(fd, SIOCGIFFLAGS, &one));
	CHECK_EQUAL(one.ifr_flags & (IFF_UP | IFF_LOOPBACK | IFF_RUNNING), IFF_UP | IFF_LOOPBACK | IFF_RUNNING);
	MUST(ioctl(fd, SIOCGIFMTU, &one));
	CHECK_EQUAL(one.ifr_mtu, 65536);
	MUST(ioctl(fd, SIOCGIFADDR, &one));
	CHECK_EQUAL(((struct sockaddr_in *)&one.ifr_addr)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	MUST(ioctl(fd, SIOCGIFNETMASK, &one));
	CHECK_EQUAL(((struct sockaddr_in *)&one.ifr_netmask)->sin_addr.s_addr, htonl(0xff000000));
	MUST(ioctl(fd, SIOCGIFHWADDR, &one));
	strcpy(one.ifr_name, "none");
	CHECK_ERROR(ioctl(fd, SIOCGIFFLAGS, &one), ENODEV);
}

static void interface_list(void)
{
	struct ifreq found[8];
	struct ifconf list = { .ifc_len = sizeof(found), .ifc_req = found };
	int fd = open_socket(SOCK_DGRAM), seen = 0;

	MUST(ioctl(fd, SIOCGIFCONF, &list));
	for (int i = 0; i < list.ifc_len / (int)sizeof(found[0]); i++)
		seen += !strcmp(found[i].ifr_name, "lo");
	CHECK_EQUAL(seen, 1);
}

static void small_ones(void)
{
	static char much[70000];
	int fd = open_socket(SOCK_DGRAM), raw = (int)MUST(socket(AF_UNIX, SOCK_RAW, 0)), left = -1;
	int listener = open_socket(SOCK_STREAM), tcp = open_socket(SOCK_STREAM);
	struct sockaddr_in to = loopback(9);

	CHECK_EQUAL(option_number(raw, SOL_SOCKET, SO_TYPE), SOCK_DGRAM);
	CHECK_ERROR(sendto(fd, much, sizeof(much), 0, (struct sockaddr *)&to, sizeof(to)), EMSGSIZE);
	MUST(bind_to(listener, 0));
	MUST(listen(listener, 1));
	MUST(connect_to(tcp, port_of(listener)));
	MUST(ioctl(tcp, TIOCOUTQ, &left));
	CHECK_EQUAL(left, 0);
	CHECK_ERROR(ioctl(listener, FIONREAD, &left), EINVAL);
	CHECK_ERROR(shutdown(fd, SHUT_RD), ENOTCONN);
	CHECK_ERROR(ioctl(fd, SIOCATMARK, &left), ENOTTY);
}

static const struct test_case cases[] = {
	CASE(read_back), CASE(wrong_values), CASE(inherited), CASE(shared_port), CASE(shared_udp_port),
	CASE(low_water_tcp), CASE(low_water_unix), CASE(buffers), CASE(packet_info), CASE(errors),
	CASE(interfaces), CASE(interface_list), CASE(small_ones), CASE(device), CASE(broadcast),
};

TEST_MAIN("option", cases)
