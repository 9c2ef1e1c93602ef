/* Socket calls that fail, or that two threads make at once: nothing gets lost, and no call is half done. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/attack.h"

static const struct {
	int family, type;
} kinds[] = { { AF_UNIX, SOCK_STREAM }, { AF_UNIX, SOCK_SEQPACKET }, { AF_INET, SOCK_STREAM } };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

union name {
	struct sockaddr any;
	struct sockaddr_un path;
	struct sockaddr_in port;
};

static int new_socket(size_t kind)
{
	return (int)MUST(socket(kinds[kind].family, kinds[kind].type, 0));
}

/* Makes a listener with a name of the kernel's choice, which it returns, and room for one unaccepted connection. */
static int new_listener(size_t kind, union name *name, socklen_t *size)
{
	int listener = new_socket(kind);

	memset(name, 0, sizeof(*name));
	name->any.sa_family = (sa_family_t)kinds[kind].family;
	*size = sizeof(*name);
	MUST(bind(listener, &name->any, kinds[kind].family == AF_UNIX ? sizeof(sa_family_t) : sizeof(name->port)));
	MUST(getsockname(listener, &name->any, size));
	MUST(listen(listener, 0));
	return listener;
}

static int wanted;
static union name where;
static socklen_t where_size;

static void *connect_it(void *unused)
{
	(void)unused;
	return (void *)(long)(connect(wanted, &where.any, where_size) ? errno : 0);
}

/* Two threads wait to connect the same socket; one of them connects it, and TCP tells both that it is done. */
static void connect_twice(void)
{
	for (size_t kind = 0; kind < KINDS; kind++) {
		int listener = new_listener(kind, &where, &where_size), first = new_socket(kind), count = 0;
		pthread_t threads[2];
		struct pollfd asked;
		void *results[2];
		char byte;

		wanted = new_socket(kind);
		MUST(connect(first, &where.any, where_size));
		for (int i = 0; i < 2; i++)
			CHECK_EQUAL(pthread_create(&threads[i], NULL, connect_it, NULL), 0);
		usleep(20000);
		asked = (struct pollfd){ .fd = listener, .events = POLLIN };
		while (poll(&asked, 1, 100) == 1) {
			int end = (int)MUST(accept(listener, NULL, NULL));

			count++;
			if (count == 2)
				CHECK_EQUAL(write(end, "x", 1), 1);
		}
		for (int i = 0; i < 2; i++)
			CHECK_EQUAL(pthread_join(threads[i], &results[i]), 0);
		CHECK_EQUAL(count, 2);
		CHECK_EQUAL((long)results[0] + (long)results[1], kinds[kind].family == AF_INET ? 0 : EISCONN);
		CHECK_EQUAL(read(wanted, &byte, 1), 1);
		close(wanted);
		close(first);
		close(listener);
	}
}

/* accept() with a bad address for the name ends the connection. */
static void accept_fails(void)
{
	for (size_t kind = 0; kind < KINDS; kind++) {
		union name name;
		socklen_t size, tiny = (socklen_t)-1;
		int listener = new_listener(kind, &name, &size);
		union name unused;
		char byte;

		for (int i = 0; i < 3; i++) {
			int client = new_socket(kind);

			MUST(connect(client, &name.any, size));
			CHECK_EQUAL(send(client, "x", 1, 0), 1);
			if (i == 0)
				CHECK_ERROR(accept(listener, &unused.any, (socklen_t *)8), EFAULT);
			else if (i == 1)
				CHECK_ERROR(accept(listener, &unused.any, &tiny), EINVAL);
			else
				CHECK_EQUAL(recv((int)MUST(accept(listener, NULL, NULL)), &byte, 1, 0), 1);
			if (i < 2)
				CHECK_ERROR(recv(client, &byte, 1, 0), ECONNRESET);
			close(client);
		}
		close(listener);
	}
}

/* A refused connection uses up no port. */
static void refused(void)
{
	int client = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), other = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(9),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(name);

	CHECK_ERROR(connect(client, (struct sockaddr *)&name, size), ECONNREFUSED);
	MUST(getsockname(client, (struct sockaddr *)&name, &size));
	MUST(bind(other, (struct sockaddr *)&name, sizeof(name)));
	close(client);
	close(other);
}

static void ignore_signal(int number)
{
	(void)number;
}

/* A timeout beyond the clock's range never expires; it is not cut short. */
static void far_timeouts(void)
{
	static const long long seconds[] = { 18446744074ll, 9223372036854775807ll };
	struct sigaction action = { .sa_handler = ignore_signal };
	int ends[2];
	char byte;

	MUST(sigaction(SIGALRM, &action, NULL));
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	for (size_t i = 0; i < 2; i++) {
		long long time[2] = { seconds[i], 0 };

		MUST(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO_NEW, time, sizeof(time)));
		MUST(setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 600000 } }, NULL));
		CHECK_ERROR(recv(ends[0], &byte, 1, 0), EINTR);
	}
}

/* The kernel's choice of ports wraps round and skips ports in use. */
static void ports_come_round(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM };

	for (size_t t = 0; t < 2; t++) {
		struct sockaddr_in kept = { .sin_family = AF_INET }, name;
		int keeper = (int)MUST(socket(AF_INET, types[t], 0)), passed = 0;
		socklen_t size = sizeof(kept);

		MUST(bind(keeper, (struct sockaddr *)&kept, sizeof(kept)));
		MUST(getsockname(keeper, (struct sockaddr *)&kept, &size));
		for (int i = 0; i < 30000; i++) {
			int socket_ = (int)MUST(socket(AF_INET, types[t], 0));

			name = (struct sockaddr_in){ .sin_family = AF_INET };
			MUST(bind(socket_, (struct sockaddr *)&name, sizeof(name)));
			MUST(getsockname(socket_, (struct sockaddr *)&name, &size));
			CHECK(name.sin_port != kept.sin_port);
			passed += ntohs(name.sin_port) == (ntohs(kept.sin_port) == 60999 ? 32768 :
							   ntohs(kept.sin_port) + 1);
			close(socket_);
		}
		CHECK_EQUAL(passed, 2);
		CHECK_ERROR(bind((int)MUST(socket(AF_INET, types[t], 0)), (struct sockaddr *)&kept, sizeof(kept)),
			    EADDRINUSE);
		close(keeper);
	}
}

#define SHARED 8
static struct {
	int fd;
	struct sockaddr_in name;
} shared[SHARED];
static volatile int stopped;

/* Gives a place of the table a new socket, and closes the one that another thread may be using. */
static void renew(unsigned int place, int fd)
{
	close(__atomic_exchange_n(&shared[place].fd, fd, __ATOMIC_SEQ_CST));
}

static void new_shared(unsigned int place, unsigned int number)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | (number & 1 ? SOCK_NONBLOCK : 0), 0), one = 1;
	struct timeval limit = { .tv_usec = 3000 };
	socklen_t size = sizeof(name);

	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	bind(fd, (struct sockaddr *)&name, size);
	getsockname(fd, (struct sockaddr *)&name, &size);
	shared[place].name = name;
	renew(place, fd);
}

static void one_call(unsigned int number)
{
	static __thread char data[20000];
	unsigned int place = number >> 4 & (SHARED - 1), other = number >> 7 & (SHARED - 1);
	unsigned int amount = number >> 10 & 0x3fff;
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	struct linger hard = { 1, 0 };
	int fd = shared[place].fd, flags = number >> 30 ? MSG_DONTWAIT : 0, size = (int)amount * 16;
	struct pollfd asked = { .fd = fd, .events = POLLIN | POLLOUT };

	switch (number & 15) {
	case 0: new_shared(place, number >> 24); return;
	case 1: connect(fd, (struct sockaddr *)&shared[other].name, sizeof(shared[other].name)); return;
	case 2: listen(fd, (int)(number >> 24 & 1)); return;
	case 3: {
		int end = accept4(fd, NULL, NULL, SOCK_NONBLOCK);

		if (end >= 0)
			renew(other, end);
		return;
	}
	case 4: case 5: send(fd, data, amount, MSG_NOSIGNAL | flags); return;
	case 6: case 7: recv(fd, data, amount, flags); return;
	case 8: shutdown(fd, (int)(number >> 24) % 3); return;
	case 9: connect(fd, &nowhere, sizeof(nowhere)); return;
	case 10: setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); return;
	case 11: setsockopt(fd, SOL_SOCKET, number >> 24 & 1 ? SO_SNDBUF : SO_RCVBUF, &size, sizeof(size)); return;
	case 12: setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &size, sizeof(size)); return;
	case 13: send(fd, data, 1, MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT); return;
	case 14: recv(fd, data, 1, MSG_OOB | MSG_DONTWAIT); return;
	default: poll(&asked, 1, 1); return;
	}
}

static void *call_at_random(void *start)
{
	unsigned int number = (unsigned int)(long)start * 2654435761u;

	while (!stopped) {
		number = number * 1664525u + 1013904223u;
		one_call(number ^ number >> 16);
	}
	return NULL;
}

/* Threads connect, accept, read, write, disconnect, resize and close the same few sockets. */
static void all_at_once(void)
{
	pthread_t threads[4];

	for (int i = 0; i < SHARED; i++)
		shared[i].fd = -1;
	for (long i = 0; i < 4; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, call_at_random, (void *)(i + 1)), 0);
	usleep(500000);
	stopped = 1;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < SHARED; i++)
			shutdown(shared[i].fd, SHUT_RDWR);
		usleep(5000);
	}
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
}

static const struct test_case cases[] = {
	CASE(connect_twice),
	CASE(accept_fails),
	CASE(refused),
	CASE(far_timeouts),
	CASE(ports_come_round),
	CASE(all_at_once),
};

ATTACK_MAIN("socket", cases)
