/* Sockets: Unix stream and datagram, socket pairs, loopback TCP and UDP, passed descriptors. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/inet.h"

static void pair(void)
{
	int ends[2];
	char buffer[8];

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHECK_EQUAL(write(ends[0], "there", 5), 5);
	CHECK_EQUAL(write(ends[1], "back", 4), 4);
	CHECK_EQUAL(read(ends[1], buffer, sizeof(buffer)), 5);
	CHECK(memcmp(buffer, "there", 5) == 0);
	CHECK_EQUAL(read(ends[0], buffer, sizeof(buffer)), 4);
	MUST(close(ends[0]));
	CHECK_EQUAL(read(ends[1], buffer, 1), 0);
	CHECK_ERROR(send(ends[1], "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_ERROR(lseek(ends[1], 0, SEEK_SET), ESPIPE);
}

static void datagram_pair(void)
{
	int ends[2];
	char buffer[16];

	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	CHECK_EQUAL(send(ends[0], "one", 3, 0), 3);
	CHECK_EQUAL(send(ends[0], "three", 5, 0), 5);
	/* Datagrams keep their boundaries; the rest of one that does not fit is lost. */
	CHECK_EQUAL(recv(ends[1], buffer, 2, 0), 2);
	CHECK_EQUAL(recv(ends[1], buffer, sizeof(buffer), 0), 5);
	CHECK_EQUAL(recv(ends[1], buffer, 1, MSG_DONTWAIT) == -1 ? errno : 0, EAGAIN);
}

static socklen_t unix_name(struct sockaddr_un *address, const char *path)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
}

static int echo(int listener)
{
	char buffer[256];
	int peer = (int)MUST(accept(listener, NULL, NULL));
	ssize_t n;

	while ((n = read(peer, buffer, sizeof(buffer))) > 0)
		CHECK_EQUAL(write(peer, buffer, (size_t)n), n);
	MUST(close(peer));
	return 0;
}

static int unix_client(void *argument)
{
	struct sockaddr_un address;
	socklen_t length = unix_name(&address, argument);
	char buffer[8];
	int fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));

	MUST(connect(fd, (struct sockaddr *)&address, length));
	CHECK_EQUAL(write(fd, "message", 7), 7);
	MUST(shutdown(fd, SHUT_WR));
	for (size_t got = 0; got < 7;)
		got += (size_t)MUST(read(fd, buffer + got, 7 - got));
	CHECK(memcmp(buffer, "message", 7) == 0);
	CHECK_EQUAL(read(fd, buffer, 1), 0);
	return 0;
}

static void unix_stream(void)
{
	struct sockaddr_un address;
	const char *path = test_path("socket");
	socklen_t length = unix_name(&address, path);
	int listener = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	pid_t child;

	CHECK_ERROR(connect(listener, (struct sockaddr *)&address, length), ENOENT);
	MUST(bind(listener, (struct sockaddr *)&address, length));
	MUST(listen(listener, 4));
	child = test_child(unix_client, (void *)path);
	CHECK_EQUAL(echo(listener), 0);
	CHECK_EQUAL(test_wait(child), 0);
	MUST(close(listener));
	listener = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	CHECK_ERROR(bind(listener, (struct sockaddr *)&address, length), EADDRINUSE);
	CHECK_ERROR(connect(listener, (struct sockaddr *)&address, length), ECONNREFUSED);
}

static void unix_datagram(void)
{
	struct sockaddr_un server_name, client_name, from;
	socklen_t server_length = unix_name(&server_name, test_path("server"));
	socklen_t client_length = unix_name(&client_name, test_path("client")), from_length = sizeof(from);
	int server = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0)), client = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
	char buffer[16];

	MUST(bind(server, (struct sockaddr *)&server_name, server_length));
	MUST(bind(client, (struct sockaddr *)&client_name, client_length));
	CHECK_EQUAL(sendto(client, "ask", 3, 0, (struct sockaddr *)&server_name, server_length), 3);
	CHECK_EQUAL(recvfrom(server, buffer, sizeof(buffer), 0, (struct sockaddr *)&from, &from_length), 3);
	CHECK(strcmp(from.sun_path, client_name.sun_path) == 0);
	CHECK_EQUAL(sendto(server, "answer", 6, 0, (struct sockaddr *)&from, from_length), 6);
	CHECK_EQUAL(recv(client, buffer, sizeof(buffer), 0), 6);
}

static void pass_descriptor(void)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { (void *)"d", 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int ends[2], pipe_ends[2], received;
	struct cmsghdr *header;
	char byte;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	MUST(pipe(pipe_ends));
	memset(&control, 0, sizeof(control));
	header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &pipe_ends[1], sizeof(int));
	CHECK_EQUAL(sendmsg(ends[0], &message, 0), 1);
	MUST(close(pipe_ends[1]));
	data.iov_base = &byte;
	memset(&control, 0, sizeof(control));
	CHECK_EQUAL(recvmsg(ends[1], &message, 0), 1);
	header = CMSG_FIRSTHDR(&message);
	CHECK(header != NULL && header->cmsg_type == SCM_RIGHTS);
	memcpy(&received, CMSG_DATA(header), sizeof(int));
	CHECK_EQUAL(write(received, "p", 1), 1);
	CHECK_EQUAL(read(pipe_ends[0], &byte, 1), 1);
	CHECK_EQUAL(byte, 'p');
	MUST(close(received));
	CHECK_EQUAL(read(pipe_ends[0], &byte, 1), 0);
}

/* Binds to a port that the kernel chooses; returns the port. */
static int bind_somewhere(int fd)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);

	MUST(bind_to(fd, 0));
	MUST(getsockname(fd, (struct sockaddr *)&address, &length));
	CHECK_EQUAL(address.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	CHECK(address.sin_port != 0);
	return ntohs(address.sin_port);
}

static int tcp_client(void *argument)
{
	struct sockaddr_in address = loopback(*(int *)argument), peer;
	socklen_t length = sizeof(peer);
	static unsigned char out[20000], in[20000];
	int fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), one = 1;

	MUST(connect(fd, (struct sockaddr *)&address, sizeof(address)));
	MUST(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	MUST(getpeername(fd, (struct sockaddr *)&peer, &length));
	CHECK_EQUAL(peer.sin_port, address.sin_port);
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (unsigned char)(i * 13);
	for (size_t sent = 0, got = 0; got < sizeof(in);) {
		size_t n = sizeof(out) - sent < 1000 ? sizeof(out) - sent : 1000;

		if (n) {
			CHECK_EQUAL(send(fd, out + sent, n, 0), n);
			sent += n;
		}
		got += (size_t)MUST(read(fd, in + got, sizeof(in) - got));
	}
	CHECK(memcmp(in, out, sizeof(in)) == 0);
	return 0;
}

static void tcp(void)
{
	int listener = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), port, one = 1;
	pid_t child;

	MUST(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	port = bind_somewhere(listener);
	MUST(listen(listener, 5));
	child = test_child(tcp_client, &port);
	CHECK_EQUAL(echo(listener), 0);
	CHECK_EQUAL(test_wait(child), 0);
}

static void tcp_refused(void)
{
	int holder = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	int port = bind_somewhere(holder);
	struct sockaddr_in address = loopback(port);

	MUST(close(holder));
	CHECK_ERROR(connect(fd, (struct sockaddr *)&address, sizeof(address)), ECONNREFUSED);
}

static void udp(void)
{
	int server = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0)), client = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in address = loopback(bind_somewhere(server)), from;
	socklen_t length = sizeof(from);
	char buffer[32];

	MUST(connect(client, (struct sockaddr *)&address, sizeof(address)));
	CHECK_EQUAL(send(client, "question", 8, 0), 8);
	CHECK_EQUAL(send(client, "", 0, 0), 0);
	CHECK_EQUAL(recvfrom(server, buffer, sizeof(buffer), 0, (struct sockaddr *)&from, &length), 8);
	CHECK_EQUAL(recv(server, buffer, sizeof(buffer), 0), 0);
	CHECK_EQUAL(sendto(server, "reply", 5, 0, (struct sockaddr *)&from, length), 5);
	CHECK_EQUAL(recv(client, buffer, sizeof(buffer), 0), 5);
	CHECK(memcmp(buffer, "reply", 5) == 0);
}

/* A UDP socket that is connected to port 0 is connected, though its peer has no name. */
static void udp_port_zero(void)
{
	int fd = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in name;
	socklen_t size = sizeof(name);

	CHECK_ERROR(send(fd, "x", 1, MSG_NOSIGNAL), EDESTADDRREQ);
	CHECK_ERROR(shutdown(fd, SHUT_WR), ENOTCONN);
	fd = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	MUST(connect_to(fd, 0));
	CHECK_ERROR(getpeername(fd, (struct sockaddr *)&name, &size), ENOTCONN);
	CHECK_EQUAL(send(fd, "x", 1, 0), 1);
	CHECK_ERROR(send(fd, "x", 1, 0), ECONNREFUSED);
	MUST(shutdown(fd, SHUT_WR));
	CHECK_ERROR(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	name = loopback(0);
	CHECK_ERROR(sendto(fd, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&name, sizeof(name)), EINVAL);
}

/* A long datagram, and urgent data, which UDP has not. */
static void udp_arguments(void)
{
	static char data[65508];
	int fd = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in own = loopback(bind_somewhere(fd));
	char byte;

	CHECK_ERROR(sendto(fd, data, sizeof(data), 0, NULL, 0), EDESTADDRREQ);
	CHECK_ERROR(sendto(fd, data, sizeof(data), 0, (struct sockaddr *)&own, sizeof(own)), EMSGSIZE);
	CHECK_ERROR(recv(fd, &byte, 1, MSG_OOB | MSG_DONTWAIT), EAGAIN);
	CHECK_EQUAL(sendto(fd, "ab", 2, 0, (struct sockaddr *)&own, sizeof(own)), 2);
	CHECK_EQUAL(recv(fd, &byte, 1, MSG_OOB), 1);
}

static void protocols(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		CHECK_ERROR(socket(AF_INET, types[i], -1), EINVAL);
		CHECK_ERROR(socket(AF_INET, types[i], 1000), EINVAL);
	}
	CHECK_ERROR(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
	CHECK_ERROR(socket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), EPROTONOSUPPORT);
	CHECK_ERROR(socket(AF_INET, SOCK_STREAM, 136), EPROTONOSUPPORT);	/* UDP-Lite */
	CHECK_ERROR(socket(AF_INET, SOCK_RAW, 0), EPROTONOSUPPORT);
	CHECK_ERROR(socket(AF_INET, SOCK_RDM, 0), ESOCKTNOSUPPORT);
}

static void arguments(void)
{
	int fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), file, type = 0;
	socklen_t length = sizeof(type);

	CHECK_EQUAL(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	MUST(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length));
	CHECK_EQUAL(type, SOCK_STREAM);
	CHECK_ERROR(socket(1234, SOCK_STREAM, 0), EAFNOSUPPORT);
	CHECK_ERROR(listen(99, 1), EBADF);
	file = (int)MUST(open("/dev/null", O_RDWR));
	CHECK_ERROR(listen(file, 1), ENOTSOCK);
	CHECK_ERROR(accept(fd, NULL, NULL), EINVAL);
	CHECK_ERROR(send(fd, "x", 1, MSG_NOSIGNAL), ENOTCONN);
}

static void much_data(void)
{
	static unsigned char block[30011];
	int ends[2];
	pid_t child;
	size_t total = 600000, got = 0;
	ssize_t n;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		close(ends[0]);
		for (size_t sent = 0; sent < total;) {
			size_t m = sizeof(block) < total - sent ? sizeof(block) : total - sent;

			for (size_t i = 0; i < m; i++)
				block[i] = (unsigned char)((sent + i) * 29 >> 2);
			CHECK_EQUAL(write(ends[1], block, m), m);
			sent += m;
		}
		_exit(0);
	}
	close(ends[1]);
	while ((n = MUST(read(ends[0], block, sizeof(block)))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			CHECK_EQUAL(block[i], (unsigned char)((got + (size_t)i) * 29 >> 2));
		got += (size_t)n;
	}
	CHECK_EQUAL(got, total);
	CHECK_EQUAL(test_wait(child), 0);
}

static int packet_client(void *argument)
{
	struct sockaddr_un address;
	socklen_t length = unix_name(&address, argument);
	char buffer[16];
	int fd = (int)MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0));

	CHECK_EQUAL(send(fd, "x", 1, MSG_NOSIGNAL) == -1 ? errno : 0, ENOTCONN);
	MUST(connect(fd, (struct sockaddr *)&address, length));
	CHECK_EQUAL(send(fd, "first", 5, 0), 5);
	CHECK_EQUAL(send(fd, "second", 6, 0), 6);
	CHECK_EQUAL(recv(fd, buffer, sizeof(buffer), 0), 5);
	MUST(shutdown(fd, SHUT_WR));
	CHECK_EQUAL(recv(fd, buffer, sizeof(buffer), 0), 0);
	return 0;
}

static void packets(void)
{
	const char *path = test_path("packets");
	struct sockaddr_un address;
	socklen_t length = unix_name(&address, path);
	int listener = (int)MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0)), peer;
	char buffer[16];
	pid_t child;

	MUST(bind(listener, (struct sockaddr *)&address, length));
	MUST(listen(listener, 1));
	child = test_child(packet_client, (void *)path);
	peer = (int)MUST(accept(listener, NULL, NULL));
	CHECK_EQUAL(recv(peer, buffer, sizeof(buffer), 0), 5);
	/* The rest of a packet that does not fit is lost. */
	CHECK_EQUAL(recv(peer, buffer, 2, MSG_TRUNC), 6);
	CHECK_EQUAL(send(peer, "reply", 5, 0), 5);
	CHECK_EQUAL(recv(peer, buffer, sizeof(buffer), 0), 0);
	MUST(close(peer));
	CHECK_EQUAL(test_wait(child), 0);
}

static void packet_pair(void)
{
	int ends[2];
	char buffer[16];

	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	CHECK_EQUAL(write(ends[0], "one", 3), 3);
	CHECK_EQUAL(write(ends[0], "three", 5), 5);
	CHECK_EQUAL(read(ends[1], buffer, sizeof(buffer)), 3);
	CHECK_EQUAL(read(ends[1], buffer, sizeof(buffer)), 5);
	MUST(close(ends[0]));
	CHECK_EQUAL(read(ends[1], buffer, sizeof(buffer)), 0);
	CHECK_ERROR(send(ends[1], "x", 1, MSG_NOSIGNAL), EPIPE);
}

/* A type that there cannot be; a name that is longer than any; a datagram that no socket takes. */
static void out_of_range(void)
{
	int ends[2];
	size_t much = 1 << 20;
	char name[200] = { 0 }, *block = mmap(NULL, much, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec vector = { name, 4 };
	struct msghdr message = { .msg_name = name, .msg_namelen = sizeof(name), .msg_iov = &vector, .msg_iovlen = 1 };
	struct sockaddr_un nowhere = { .sun_family = AF_UNIX, .sun_path = "/nowhere" };

	CHECK_ERROR(socket(AF_INET, 11, 0), EINVAL);
	CHECK_ERROR(socket(AF_UNIX, 15, 0), EINVAL);
	CHECK_ERROR(socket(AF_INET, 7, 0), ESOCKTNOSUPPORT);
	CHECK_ERROR(socket(46, 15, 0), EAFNOSUPPORT);
	CHECK_ERROR(socketpair(AF_UNIX, 11, 0, ends), EINVAL);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHECK_ERROR(sendmsg(ends[0], &message, 0), EISCONN);
	message.msg_name = NULL;
	CHECK_EQUAL(sendmsg(ends[0], &message, 0), 4);
	CHECK(block != MAP_FAILED);
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	CHECK_ERROR(send(ends[0], block, much, 0), EMSGSIZE);
	CHECK_ERROR(sendto(ends[0], block, much, 0, (struct sockaddr *)&nowhere, sizeof(nowhere)), EMSGSIZE);
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	CHECK_ERROR(send(ends[0], block, much, 0), EMSGSIZE);
}

static const struct test_case cases[] = {
	CASE(pair), CASE(datagram_pair), CASE(packets), CASE(packet_pair), CASE(unix_stream), CASE(unix_datagram),
	CASE(pass_descriptor), CASE(tcp), CASE(tcp_refused), CASE(udp), CASE(udp_port_zero),
	CASE(udp_arguments), CASE(protocols), CASE(arguments), CASE(much_data), CASE(out_of_range),
};

TEST_MAIN("socket", cases)
