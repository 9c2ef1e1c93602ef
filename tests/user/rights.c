/* Descriptors sent over Unix sockets, nested and in circles, and credentials of the sender. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/check.h"
#include "common/rights.h"

/* Receives the next byte and its descriptors; returns how many came. */
static size_t receive_files(int socket, int *files, size_t most)
{
	char byte, control[CMSG_SPACE(253 * sizeof(int))];
	struct iovec piece = { &byte, 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = CMSG_SPACE(most * sizeof(int)) };
	struct cmsghdr *header;
	size_t count;

	CHECK_EQUAL(recvmsg(socket, &message, MSG_DONTWAIT), 1);
	header = CMSG_FIRSTHDR(&message);
	if (!header)
		return 0;
	CHECK_EQUAL(header->cmsg_type, SCM_RIGHTS);
	count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(files, CMSG_DATA(header), count * sizeof(int));
	return count;
}

static void deep(void)
{
	EACH_TYPE(type)
		nest_sockets(type, 400);
}

/* Nested sockets can be received again. */
static void unpacked(void)
{
	EACH_TYPE(type) {
		int ends[2], outer[2], files[4];

		socket_pair(type, ends);
		for (int i = 0; i < 40; i++) {
			socket_pair(type, outer);
			CHECK_EQUAL(send_files(outer[0], ends, 2), 1);
			close(ends[0]);
			close(ends[1]);
			memcpy(ends, outer, sizeof(ends));
		}
		for (int i = 0; i < 40; i++) {
			CHECK_EQUAL(receive_files(ends[1], files, 2), 2);
			close(ends[0]);
			close(ends[1]);
			memcpy(ends, files, sizeof(ends));
		}
		CHECK_EQUAL(write(ends[0], "end", 3), 3);
		close(ends[0]);
		close(ends[1]);
	}
}

/* Makes more circles than memory has room for, so the kernel must free earlier ones. */
static void circles(void)
{
	EACH_TYPE(type)
		for (int i = 0; i < 700; i++) {
			int ends[2];

			socket_pair(type, ends);
			CHECK_EQUAL(send_files(ends[0], &ends[1], 1), 1);
			CHECK_EQUAL(send_files(ends[1], &ends[0], 1), 1);
			fill_socket(ends[0], SIZE_MAX);
			close(ends[0]);
			close(ends[1]);
		}
}

/* Puts sockets into their own queues, with `bytes` bytes of data each. */
static void own_queues(int type, int count, size_t bytes)
{
	for (int i = 0; i < count; i++) {
		int ends[2];

		socket_pair(type, ends);
		CHECK_EQUAL(send_files(ends[0], &ends[1], 1), 1);
		fill_socket(ends[0], bytes);
		close(ends[0]);
		close(ends[1]);
	}
}

static void own_queue(void)
{
	EACH_TYPE(type)
		own_queues(type, 1500, SIZE_MAX);
}

/* Three sockets in a ring, one of which is open: all can be received. */
static void reachable_circle(void)
{
	EACH_TYPE(type) {
		int ends[3][2], got[3] = { -1, -1, -1 };

		for (int i = 0; i < 3; i++)
			socket_pair(type, ends[i]);
		for (int i = 0; i < 3; i++)
			CHECK_EQUAL(send_files(ends[i][0], &ends[(i + 1) % 3][1], 1), 1);
		for (int i = 0; i < 3; i++) {
			close(ends[i][0]);
			if (i)
				close(ends[i][1]);
		}
		own_queues(type, 20, 1);	/* each is freed when it is closed */
		CHECK_EQUAL(receive_files(ends[0][1], &got[0], 1), 1);
		CHECK_EQUAL(receive_files(got[0], &got[1], 1), 1);
		CHECK_EQUAL(receive_files(got[1], &got[2], 1), 1);
		close(ends[0][1]);
		for (int i = 0; i < 3; i++)
			close(got[i]);
	}
}

/* Leaves two sockets in each other's queues, with the end of a pipe in one, and ends. */
static int leave_circle(void *argument)
{
	const int *pipe_end = argument;

	for (size_t t = 0; t < SOCKET_TYPES; t++) {
		int ends[2];

		socket_pair(socket_types[t], ends);
		CHECK_EQUAL(send_files(ends[0], &ends[1], 1), 1);
		CHECK_EQUAL(send_files(ends[1], (int[]){ ends[0], *pipe_end }, 2), 1);
	}
	return 0;
}

/*
 * The end of the last process that had the sockets of a circle ends the circle. A Linux of 6.18 may put this off until
 * the next socket is closed.
 */
static void circle_of_ended_process(void)
{
	int ends[2];
	struct pollfd reader = { .events = POLLIN };

	MUST(pipe(ends));
	CHECK_EQUAL(test_in_child(leave_circle, &ends[1]), 0);
	close(ends[1]);
	reader.fd = ends[0];
	for (int tries = 0; tries < 10 && poll(&reader, 1, 500) == 0; tries++)
		close((int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)));
	CHECK_EQUAL(reader.revents, POLLHUP);
}

/* An unaccepted connection may hold the very socket that would accept it. */
static void listener_in_its_own_connection(void)
{
	for (int i = 0; i < 300; i++) {
		int listener = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)),
			client = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
		struct sockaddr_un name = { .sun_family = AF_UNIX };
		socklen_t size = sizeof(name);

		MUST(bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)));
		MUST(getsockname(listener, (struct sockaddr *)&name, &size));
		MUST(listen(listener, 4));
		MUST(connect(client, (struct sockaddr *)&name, size));
		CHECK_EQUAL(send_files(client, &listener, 1), 1);
		fill_socket(client, SIZE_MAX);
		close(listener);
		close(client);
	}
}

static void several_pieces(void)
{
	char byte = 'x', control[CMSG_SPACE(sizeof(int)) * 2];
	struct iovec piece = { &byte, 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	int ends[2], got[4];
	struct cmsghdr *header;

	memset(control, 0, sizeof(control));
	socket_pair(SOCK_STREAM, ends);
	for (header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &ends[0], sizeof(int));
	}
	CHECK_EQUAL(sendmsg(ends[0], &message, 0), 1);
	CHECK_EQUAL(receive_files(ends[1], got, 4), 2);
	/* A message without data cannot carry descriptors. */
	piece.iov_len = 0;
	message.msg_controllen = CMSG_SPACE(sizeof(int));
	CHECK_EQUAL(sendmsg(ends[0], &message, 0), 0);
	CHECK_ERROR(recv(ends[1], &byte, 1, MSG_DONTWAIT), EAGAIN);
	CHECK_ERROR(send_files(ends[0], (int[]){ 0, 999 }, 2), EBADF);
	CHECK_ERROR(recv(ends[1], &byte, 1, MSG_DONTWAIT), EAGAIN);
}

/* The control header cannot be written: the receiver gets no descriptor that it is not told of. Linux leaves some. */
static void header_refused(void)
{
	char byte, *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec piece = { &byte, 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1,
				  .msg_control = pages + 4096 - sizeof(struct cmsghdr), .msg_controllen = 64 };
	int ends[2], next;

	CHECK(pages != MAP_FAILED);
	if (access("/dev/pagewalk", F_OK))
		return;
	MUST(mprotect(pages, 4096, PROT_READ));
	socket_pair(SOCK_STREAM, ends);
	next = (int)MUST(dup(0));
	close(next);
	CHECK_EQUAL(send_files(ends[0], (int[]){ 0, 1, 2 }, 3), 1);
	CHECK_EQUAL(recvmsg(ends[1], &message, 0), 1);
	CHECK(message.msg_flags & MSG_CTRUNC);
	CHECK_EQUAL(message.msg_controllen, 0);
	CHECK_EQUAL(dup(0), next);
	MUST(munmap(pages, 8192));
}

static void credentials(void)
{
	EACH_TYPE(type) {
		int ends[2], on = 1, value = -1;
		socklen_t size = sizeof(value);
		struct ucred cred;
		char data[8];

		socket_pair(type, ends);
		MUST(getsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &value, &size));
		CHECK_EQUAL(value, 0);
		/* Sent before the receiver asked for credentials: none arrive. */
		CHECK_EQUAL(send(ends[0], "a", 1, 0), 1);
		MUST(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
		CHECK_EQUAL(send(ends[0], "b", 1, 0), 1);
		CHECK_EQUAL(receive_cred(ends[1], data, sizeof(data), &cred), 1);
		CHECK_EQUAL(data[0], 'a');
		CHECK_EQUAL(cred.pid, 0);
		CHECK_EQUAL(cred.uid, 65534);
		CHECK_EQUAL(receive_cred(ends[1], data, sizeof(data), &cred), 1);
		CHECK_EQUAL(data[0], 'b');
		CHECK_EQUAL(cred.pid, getpid());
		CHECK_EQUAL(cred.uid, getuid());
		CHECK_EQUAL(cred.gid, getgid());
		/* The sender gives its credentials itself. */
		CHECK_EQUAL(send_cred(ends[0], getpid(), getuid(), getgid()), 1);
		CHECK_EQUAL(receive_cred(ends[1], data, sizeof(data), &cred), 1);
		CHECK_EQUAL(cred.pid, getpid());
		close(ends[0]);
		close(ends[1]);
	}
}

/* A sender of credentials gets a name, so that the receiver can answer. */
static void named_for_credentials(void)
{
	int server = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0)), client = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0)),
		on = 1;
	struct sockaddr_un name = { .sun_family = AF_UNIX }, from;
	socklen_t size = sizeof(name), from_size = sizeof(from);
	char byte;

	MUST(bind(server, (struct sockaddr *)&name, sizeof(sa_family_t)));
	MUST(getsockname(server, (struct sockaddr *)&name, &size));
	MUST(setsockopt(client, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	CHECK_EQUAL(sendto(client, "x", 1, 0, (struct sockaddr *)&name, size), 1);
	CHECK_EQUAL(recvfrom(server, &byte, 1, 0, (struct sockaddr *)&from, &from_size), 1);
	CHECK_EQUAL(from_size, sizeof(sa_family_t) + 6);
	CHECK_EQUAL(from.sun_path[0], 0);
}

/* accept() without a free descriptor leaves the connection for the next call. */
static void accept_without_descriptor(void)
{
	int listener = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)), client = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(name);
	struct rlimit limit, less;
	char byte;

	MUST(bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)));
	MUST(getsockname(listener, (struct sockaddr *)&name, &size));
	MUST(listen(listener, 1));
	MUST(connect(client, (struct sockaddr *)&name, size));
	CHECK_EQUAL(write(client, "x", 1), 1);
	MUST(getrlimit(RLIMIT_NOFILE, &limit));
	less = limit;
	less.rlim_cur = 3;
	MUST(setrlimit(RLIMIT_NOFILE, &less));
	CHECK_ERROR(accept(listener, NULL, NULL), EMFILE);
	MUST(setrlimit(RLIMIT_NOFILE, &limit));
	CHECK_EQUAL(read((int)MUST(accept(listener, NULL, NULL)), &byte, 1), 1);
}

/* Receives with the flags; returns the bytes, or -1. Sets *count to the files that came, and closes them. */
static ssize_t receive_with(int socket, int flags, int *count)
{
	char data[20], control[CMSG_SPACE(4 * sizeof(int))];
	struct iovec piece = { data, sizeof(data) };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(socket, &message, flags | MSG_DONTWAIT);
	struct cmsghdr *header = n < 0 ? NULL : CMSG_FIRSTHDR(&message);

	*count = header ? (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
	if (n >= 0)
		CHECK_EQUAL(message.msg_flags, flags & MSG_CMSG_CLOEXEC);
	for (int i = 0; i < *count; i++) {
		int file;

		memcpy(&file, CMSG_DATA(header) + (size_t)i * sizeof(file), sizeof(file));
		CHECK_EQUAL(MUST(fcntl(file, F_GETFD)), flags & MSG_CMSG_CLOEXEC ? FD_CLOEXEC : 0);
		MUST(close(file));
	}
	return n;
}

static void send_around_files(int socket)
{
	CHECK_EQUAL(send(socket, "1111", 4, 0), 4);
	CHECK_EQUAL(send_files(socket, (int[]){ 0, 1 }, 2), 1);
	CHECK_EQUAL(send(socket, "3333", 4, 0), 4);
}

/* A receive from a stream takes what comes before a message with files, and that message, and no more (unix(7)). */
static void a_receive_ends_behind_files(void)
{
	static const int flags[] = { 0, MSG_WAITALL, MSG_CMSG_CLOEXEC };
	char data[20];
	int ends[2], count;

	socket_pair(SOCK_STREAM, ends);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		send_around_files(ends[0]);
		for (int peeks = 0; peeks < 2; peeks++) {
			CHECK_EQUAL(receive_with(ends[1], MSG_PEEK | flags[i], &count), 5);
			CHECK_EQUAL(count, 2);
		}
		CHECK_EQUAL(receive_with(ends[1], flags[i], &count), 5);
		CHECK_EQUAL(count, 2);
		CHECK_EQUAL(receive_with(ends[1], MSG_PEEK | flags[i], &count), 4);
		CHECK_EQUAL(count, 0);
		CHECK_EQUAL(receive_with(ends[1], flags[i] & ~MSG_WAITALL, &count), 4);
		CHECK_EQUAL(count, 0);
	}
	send_around_files(ends[0]);
	CHECK_EQUAL(read(ends[1], data, sizeof(data)), 5);
	CHECK_EQUAL(read(ends[1], data, sizeof(data)), 4);
	CHECK_EQUAL(send_files(ends[0], (int[]){ 0 }, 1), 1);
	CHECK_EQUAL(send_files(ends[0], (int[]){ 0 }, 1), 1);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(receive_with(ends[1], 0, &count), 1);
		CHECK_EQUAL(count, 1);
	}
	CHECK_EQUAL(receive_with(ends[1], 0, &count), -1);
}

static int send_bytes(void *socket)
{
	CHECK_EQUAL(send(*(int *)socket, "bb", 2, 0), 2);
	return 0;
}

/* The bytes of two senders are one stream, unless the receiver asks for the senders. */
static void senders_in_a_row(void)
{
	int ends[2], count;
	char data[20];
	struct ucred cred;

	socket_pair(SOCK_STREAM, ends);
	MUST(setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)));
	for (int on = 0; on < 2; on++) {
		MUST(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
		CHECK_EQUAL(send(ends[0], "aa", 2, 0), 2);
		CHECK_EQUAL(test_in_child(send_bytes, &ends[0]), 0);
		CHECK_EQUAL(send(ends[0], "aa", 2, 0), 2);
		CHECK_EQUAL(recv(ends[1], data, sizeof(data), MSG_PEEK), on ? 2 : 6);
		if (!on) {
			CHECK_EQUAL(receive_with(ends[1], 0, &count), 6);
			continue;
		}
		for (int i = 0; i < 3; i++) {
			CHECK_EQUAL(receive_cred(ends[1], data, sizeof(data), &cred), 2);
			CHECK_EQUAL(cred.pid == getpid(), i != 1);
		}
	}
}

/* A peek gives duplicates of the files, which stay in the queue. */
static void peeked_files(void)
{
	EACH_TYPE(type) {
		int ends[2], count;

		socket_pair(type, ends);
		CHECK_EQUAL(send_files(ends[0], ends, 2), 1);
		for (int i = 0; i < 4; i++) {
			CHECK_EQUAL(receive_with(ends[1], i < 3 ? MSG_PEEK : 0, &count), 1);
			CHECK_EQUAL(count, 2);
		}
		CHECK_EQUAL(receive_with(ends[1], 0, &count), -1);
		/* A socket whose peek was given itself is still found when it is closed. */
		CHECK_EQUAL(send_files(ends[0], &ends[1], 1), 1);
		CHECK_EQUAL(receive_with(ends[1], MSG_PEEK, &count), 1);
		close(ends[0]);
		close(ends[1]);
	}
}

#define LONG_MESSAGE 65536u
#define LONG_MESSAGES 30

/* Sends long messages, each with a file and another sender, and waits until the reader has taken all of one. */
static int send_long(void *sockets)
{
	static char data[LONG_MESSAGE];
	const int *ends = sockets;
	int file = (int)MUST(open("/dev/null", O_RDONLY));
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec piece;
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
	struct cmsghdr *header;
	ssize_t n;

	for (int i = 0; i < LONG_MESSAGES; i++) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &file, sizeof(int));
		memset(data, 'x', sizeof(data));
		data[0] = 'F';
		for (size_t done = 0; done < sizeof(data); done += (size_t)n) {
			piece = (struct iovec){ data + done, sizeof(data) - done };
			while ((n = sendmsg(ends[0], &message, MSG_DONTWAIT)) < 0) {
				CHECK_EQUAL(errno, EAGAIN);
				usleep(100);
			}
			message.msg_control = NULL;
			message.msg_controllen = 0;
		}
		CHECK_EQUAL(read(ends[0], data, 1), 1);
	}
	return 0;
}

/*
 * The reader sees no byte of a message before the files that came with it. It is the more urgent one, so that it looks
 * in the middle of a send; on Linux with its limits it is not, and the test checks less.
 */
static void files_come_with_the_first_byte(void)
{
	static char data[LONG_MESSAGE];
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec piece = { data, sizeof(data) };
	size_t taken = 0;
	pid_t sender;
	int ends[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	sender = test_child(send_long, ends);
	(void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 5 });
	for (int messages = 0; messages < LONG_MESSAGES;) {
		struct msghdr message = {
			.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
		};
		struct cmsghdr *header;
		ssize_t n = recvmsg(ends[1], &message, MSG_DONTWAIT);

		if (n < 0) {
			CHECK_EQUAL(errno, EAGAIN);
			usleep(100);
			continue;
		}
		header = CMSG_FIRSTHDR(&message);
		CHECK_EQUAL(header != NULL, data[0] == 'F');
		CHECK_EQUAL(data[0] == 'F', taken == 0);
		if (header) {
			int file;

			memcpy(&file, CMSG_DATA(header), sizeof(file));
			MUST(close(file));
		}
		taken += (size_t)n;
		if (taken == LONG_MESSAGE) {
			taken = 0;
			messages++;
			CHECK_EQUAL(write(ends[1], "", 1), 1);
		}
	}
	CHECK_EQUAL(test_wait(sender), 0);
}

static const struct test_case cases[] = {
	CASE(deep),
	CASE(unpacked),
	CASE(own_queue),
	CASE(circles),
	CASE(reachable_circle),
	CASE(circle_of_ended_process),
	CASE(listener_in_its_own_connection),
	CASE(several_pieces),
	CASE(header_refused),
	CASE(credentials),
	CASE(named_for_credentials),
	CASE(accept_without_descriptor),
	CASE(files_come_with_the_first_byte),
	CASE(a_receive_ends_behind_files),
	CASE(senders_in_a_row),
	CASE(peeked_files),
};

TEST_MAIN("rights", cases)
