/* poll, select, epoll. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

static void poll_pipe(void)
{
	struct pollfd asked[2];
	int ends[2];
	char byte;

	MUST(pipe(ends));
	asked[0] = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	asked[1] = (struct pollfd){ .fd = ends[1], .events = POLLOUT };
	CHECK_EQUAL(poll(asked, 2, 0), 1);
	CHECK_EQUAL(asked[0].revents, 0);
	CHECK_EQUAL(asked[1].revents, POLLOUT);
	CHECK_EQUAL(write(ends[1], "x", 1), 1);
	CHECK_EQUAL(poll(asked, 2, -1), 2);
	CHECK_EQUAL(asked[0].revents, POLLIN);
	CHECK_EQUAL(read(ends[0], &byte, 1), 1);
	MUST(close(ends[1]));
	CHECK_EQUAL(poll(asked, 1, -1), 1);
	CHECK_EQUAL(asked[0].revents & POLLHUP, POLLHUP);
	asked[0].fd = 99;
	CHECK_EQUAL(poll(asked, 1, -1), 1);
	CHECK_EQUAL(asked[0].revents, POLLNVAL);
	asked[0].fd = -1;
	CHECK_EQUAL(poll(asked, 1, 0), 0);
	CHECK_EQUAL(poll(NULL, 0, 10), 0);
}

static void poll_writer_without_reader(void)
{
	struct pollfd asked;
	int ends[2];

	MUST(pipe(ends));
	MUST(close(ends[0]));
	asked = (struct pollfd){ .fd = ends[1], .events = POLLOUT };
	CHECK_EQUAL(poll(&asked, 1, -1), 1);
	CHECK(asked.revents & POLLERR);
}

static int write_later(void *argument)
{
	usleep(20000);
	return write(*(int *)argument, "x", 1) == 1 ? 0 : 1;
}

static void poll_waits(void)
{
	struct pollfd asked;
	int ends[2];
	pid_t child;

	MUST(pipe(ends));
	child = test_child(write_later, &ends[1]);
	asked = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	CHECK_EQUAL(poll(&asked, 1, -1), 1);
	CHECK_EQUAL(asked.revents, POLLIN);
	CHECK_EQUAL(test_wait(child), 0);
}

static void handler(int number)
{
	(void)number;
}

static void poll_is_interrupted(void)
{
	struct itimerval soon = { { 0, 0 }, { 0, 20000 } };
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_RESTART; /* poll is never restarted */
	MUST(sigaction(SIGALRM, &action, NULL));
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	CHECK_ERROR(poll(NULL, 0, -1), EINTR);
}

static void select_sets(void)
{
	struct timeval none = { 0, 0 };
	fd_set readable, writable;
	int ends[2];

	MUST(pipe(ends));
	FD_ZERO(&readable);
	FD_ZERO(&writable);
	FD_SET(ends[0], &readable);
	FD_SET(ends[1], &writable);
	CHECK_EQUAL(select(ends[1] + 1, &readable, &writable, NULL, &none), 1);
	CHECK(!FD_ISSET(ends[0], &readable) && FD_ISSET(ends[1], &writable));
	CHECK_EQUAL(write(ends[1], "x", 1), 1);
	FD_SET(ends[0], &readable);
	CHECK_EQUAL(select(ends[0] + 1, &readable, NULL, NULL, NULL), 1);
	CHECK(FD_ISSET(ends[0], &readable));
	FD_ZERO(&readable);
	FD_SET(50, &readable); /* not open */
	CHECK_ERROR(select(51, &readable, NULL, NULL, &none), EBADF);
	CHECK_ERROR(select(-1, NULL, NULL, NULL, &none), EINVAL);
	none.tv_usec = 10000;
	CHECK_EQUAL(select(0, NULL, NULL, NULL, &none), 0);
}

static void fill(fd_set *set, int from, int end)
{
	FD_ZERO(set);
	for (int fd = from; fd < end; fd++)
		FD_SET(fd, set);
}

static int in_set(const fd_set *set)
{
	int bits = 0;

	for (int fd = 0; fd < FD_SETSIZE; fd++)
		bits += FD_ISSET(fd, set) != 0;
	return bits;
}

/* Sets of more words than the kernel has room for without an allocation: with and without something ready. */
static void select_wide(void)
{
	enum { READERS = 40, WRITERS = 300, END = 400 };
	struct timeval none = { 0, 0 }, soon = { 0, 10000 };
	fd_set readable, writable, urgent;
	int ends[2];
	pid_t child;

	MUST(pipe(ends));
	for (int fd = READERS; fd < END; fd++)
		MUST(dup2(ends[fd >= WRITERS], fd));
	fill(&readable, READERS, END);
	fill(&writable, WRITERS, END);
	fill(&urgent, READERS, END);
	CHECK_EQUAL(select(END, &readable, &writable, &urgent, &none), END - WRITERS);
	CHECK_EQUAL(in_set(&readable), 0);
	CHECK_EQUAL(in_set(&writable), END - WRITERS);
	CHECK_EQUAL(in_set(&urgent), 0);
	/* Only descriptors below the first argument are asked. */
	fill(&writable, WRITERS, END);
	CHECK_EQUAL(select(WRITERS + 5, NULL, &writable, NULL, NULL), 5);
	CHECK(FD_ISSET(WRITERS + 4, &writable) && !FD_ISSET(WRITERS + 5, &writable));
	fill(&readable, READERS, WRITERS);
	CHECK_EQUAL(select(WRITERS, &readable, NULL, NULL, &soon), 0);
	CHECK_EQUAL(in_set(&readable), 0);
	child = test_child(write_later, &ends[1]);
	fill(&readable, READERS, WRITERS);
	fill(&urgent, READERS, END);
	CHECK_EQUAL(select(END, &readable, NULL, &urgent, NULL), WRITERS - READERS);
	CHECK_EQUAL(in_set(&readable), WRITERS - READERS);
	CHECK_EQUAL(in_set(&urgent), 0);
	CHECK_EQUAL(test_wait(child), 0);
	MUST(close(WRITERS + 1));
	fill(&writable, WRITERS, END);
	CHECK_ERROR(select(END, NULL, &writable, NULL, &none), EBADF);
}

/* More descriptors than the kernel has room for without an allocation, among them closed and negative ones. */
static void poll_many(void)
{
	enum { COUNT = 100, CLOSED = 70, IGNORED = 71 };
	struct pollfd asked[COUNT];
	int ends[2];
	pid_t child;

	MUST(pipe(ends));
	for (int i = 0; i < COUNT; i++)
		asked[i] = (struct pollfd){ .fd = ends[0], .events = POLLIN, .revents = -1 };
	CHECK_EQUAL(poll(asked, COUNT, 0), 0);
	CHECK_EQUAL(asked[COUNT - 1].revents, 0);
	asked[CLOSED].fd = 200;
	asked[IGNORED].fd = -200;
	asked[IGNORED].revents = -1;
	CHECK_EQUAL(poll(asked, COUNT, -1), 1);
	CHECK_EQUAL(asked[CLOSED].revents, POLLNVAL);
	CHECK_EQUAL(asked[IGNORED].revents, 0);
	asked[CLOSED].fd = ends[0];
	child = test_child(write_later, &ends[1]);
	CHECK_EQUAL(poll(asked, COUNT, -1), COUNT - 1);
	CHECK_EQUAL(asked[COUNT - 1].revents, POLLIN);
	CHECK_EQUAL(test_wait(child), 0);
}

/* A signal that only the call's mask lets through interrupts it, whether it waits or not. */
static void pselect_mask(void)
{
	struct timespec limits[] = { { 5, 0 }, { 0, 0 } };
	struct sigaction action;
	sigset_t blocked, none, pending;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	MUST(sigaction(SIGUSR1, &action, NULL));
	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &blocked, NULL));
	for (int i = 0; i < 2; i++) {
		MUST(raise(SIGUSR1));
		CHECK_ERROR(pselect(0, NULL, NULL, NULL, &limits[i], &none), EINTR);
		CHECK_EQUAL(sigpending(&pending), 0);
		CHECK(!sigismember(&pending, SIGUSR1));
		MUST(raise(SIGUSR1));
		CHECK_ERROR(ppoll(NULL, 0, &limits[i], &none), EINTR);
		CHECK_EQUAL(sigpending(&pending), 0);
		CHECK(!sigismember(&pending, SIGUSR1));
	}
}

static void epoll_level_and_edge(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .u32 = 7 } }, got[4];
	int set = (int)MUST(epoll_create1(EPOLL_CLOEXEC)), ends[2];
	char byte;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
	CHECK_ERROR(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event), EEXIST);
	CHECK_EQUAL(epoll_wait(set, got, 4, 0), 0);
	CHECK_EQUAL(write(ends[1], "ab", 2), 2);
	CHECK_EQUAL(epoll_wait(set, got, 4, -1), 1);
	CHECK_EQUAL(got[0].events, EPOLLIN);
	CHECK_EQUAL(got[0].data.u32, 7);
	/* Level-triggered: reported again while there is something to read. */
	CHECK_EQUAL(epoll_wait(set, got, 4, -1), 1);
	event.events = EPOLLIN | EPOLLET;
	MUST(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
	CHECK_EQUAL(epoll_wait(set, got, 4, -1), 1);
	CHECK_EQUAL(epoll_wait(set, got, 4, 0), 0);
	CHECK_EQUAL(read(ends[0], &byte, 1), 1);
	CHECK_EQUAL(epoll_wait(set, got, 4, 0), 0);
	CHECK_EQUAL(write(ends[1], "c", 1), 1);
	CHECK_EQUAL(epoll_wait(set, got, 4, 0), 1);
	event.events = EPOLLIN | EPOLLONESHOT;
	MUST(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
	CHECK_EQUAL(epoll_wait(set, got, 4, 0), 1);
	CHECK_EQUAL(epoll_wait(set, got, 4, 0), 0);
	MUST(epoll_ctl(set, EPOLL_CTL_DEL, ends[0], NULL));
	CHECK_ERROR(epoll_ctl(set, EPOLL_CTL_DEL, ends[0], NULL), ENOENT);
	CHECK_ERROR(epoll_ctl(set, EPOLL_CTL_ADD, 99, &event), EBADF);
	CHECK_ERROR(epoll_ctl(set, EPOLL_CTL_ADD, set, &event), EINVAL);
	CHECK_ERROR(epoll_wait(ends[0], got, 4, 0), EINVAL);
}

static void epoll_forgets_closed_files(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .u32 = 1 } }, got[4];
	int set = (int)MUST(epoll_create1(0)), ends[2];

	MUST(pipe(ends));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
	CHECK_EQUAL(write(ends[1], "x", 1), 1);
	CHECK_EQUAL(epoll_wait(set, got, 4, 0), 1);
	MUST(close(ends[0]));
	CHECK_EQUAL(epoll_wait(set, got, 4, 0), 0);
}

static void signal_for_readiness(void)
{
	struct f_owner_ex owner = { .type = F_OWNER_PID, .pid = getpid() }, got;
	struct timespec none = { 0, 0 };
	siginfo_t info;
	sigset_t set;
	int fds[2];
	char byte;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	MUST(pipe(fds));
	CHECK_EQUAL(MUST(fcntl(fds[0], F_GETOWN)), 0);
	MUST(fcntl(fds[0], F_SETOWN, getpid()));
	CHECK_EQUAL(MUST(fcntl(fds[0], F_GETOWN)), getpid());
	MUST(fcntl(fds[0], F_SETOWN_EX, &owner));
	MUST(fcntl(fds[0], F_GETOWN_EX, &got));
	CHECK(got.type == F_OWNER_PID && got.pid == getpid());
	MUST(fcntl(fds[0], F_SETSIG, SIGIO));
	CHECK_EQUAL(MUST(fcntl(fds[0], F_GETSIG)), SIGIO);
	CHECK_EQUAL(write(fds[1], "x", 1), 1);
	CHECK_ERROR(sigtimedwait(&set, &info, &none), EAGAIN);
	CHECK_EQUAL(read(fds[0], &byte, 1), 1);
	MUST(fcntl(fds[0], F_SETFL, O_ASYNC));
	CHECK(MUST(fcntl(fds[0], F_GETFL)) & O_ASYNC);
	CHECK_EQUAL(write(fds[1], "x", 1), 1);
	CHECK_EQUAL(sigtimedwait(&set, &info, &none), SIGIO);
	CHECK_EQUAL(info.si_code, POLL_IN);
	CHECK_EQUAL(info.si_fd, fds[0]);
	CHECK_EQUAL(read(fds[0], &byte, 1), 1);
	MUST(fcntl(fds[0], F_SETFL, 0));
	CHECK_EQUAL(write(fds[1], "x", 1), 1);
	CHECK_ERROR(sigtimedwait(&set, &info, &none), EAGAIN);
	CHECK_ERROR(fcntl(fds[0], F_SETSIG, 65), EINVAL);
}

static int signal_the_parent(void *unused)
{
	int fds[2];

	(void)unused;
	MUST(pipe(fds));
	MUST(fcntl(fds[0], F_SETOWN, getppid()));
	MUST(fcntl(fds[0], F_SETSIG, SIGBUS));
	MUST(fcntl(fds[0], F_SETFL, O_ASYNC));
	CHECK_EQUAL(write(fds[1], "x", 1), 1);
	return 0;
}

static int have_a_child_that_signals(void *unused)
{
	return test_in_child(signal_the_parent, unused);
}

/* The signal may be any, and ends another process of the same user, which has done nothing for it. */
static void signal_that_ends_another(void)
{
	CHECK_EQUAL(test_in_child(have_a_child_that_signals, NULL), 1000 + SIGBUS);
}

/* The peer's end is a signal too. */
static void signal_at_hang_up(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
	struct timespec none = { 0, 0 };
	sigset_t set;
	int ends[2];

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 2; i++) {
		MUST(socketpair(AF_UNIX, types[i], 0, ends));
		MUST(fcntl(ends[0], F_SETOWN, getpid()));
		MUST(fcntl(ends[0], F_SETFL, O_ASYNC));
		CHECK_ERROR(sigtimedwait(&set, NULL, &none), EAGAIN);
		MUST(close(ends[1]));
		CHECK_EQUAL(sigtimedwait(&set, NULL, &none), SIGIO);
		MUST(close(ends[0]));
	}
}

static void epolls_in_epolls(void)
{
	struct epoll_event event = { .events = EPOLLIN }, got;
	int level[6], fds[2];

	MUST(pipe(fds));
	for (int i = 0; i < 6; i++)
		level[i] = (int)MUST(epoll_create1(0));
	MUST(epoll_ctl(level[0], EPOLL_CTL_ADD, fds[0], &event));
	for (int i = 1; i < 4; i++)
		MUST(epoll_ctl(level[i], EPOLL_CTL_ADD, level[i - 1], &event));
	/* Circles and deep nesting are refused. */
	CHECK_ERROR(epoll_ctl(level[0], EPOLL_CTL_ADD, level[3], &event), ELOOP);
	CHECK_ERROR(epoll_ctl(level[0], EPOLL_CTL_ADD, level[0], &event), EINVAL);
	MUST(epoll_ctl(level[4], EPOLL_CTL_ADD, level[3], &event));
	CHECK_ERROR(epoll_ctl(level[5], EPOLL_CTL_ADD, level[4], &event), ELOOP);
	CHECK_EQUAL(epoll_wait(level[4], &got, 1, 0), 0);
	CHECK_EQUAL(write(fds[1], "x", 1), 1);
	CHECK_EQUAL(epoll_wait(level[4], &got, 1, -1), 1);
}

/* As many paths lead up from a file as Linux allows: 500 through two epolls, 100 through three. */
static void paths_from_a_file(void)
{
	enum { BELOW = 101 };
	struct epoll_event event = { .events = EPOLLIN };
	int below[BELOW], middle = (int)MUST(epoll_create1(0)), top = (int)MUST(epoll_create1(0)), ends[2];

	MUST(pipe(ends));
	for (int i = 0; i < BELOW; i++) {
		below[i] = (int)MUST(epoll_create1(0));
		MUST(epoll_ctl(below[i], EPOLL_CTL_ADD, ends[0], &event));
		MUST(epoll_ctl(middle, EPOLL_CTL_ADD, below[i], &event));
	}
	CHECK_ERROR(epoll_ctl(top, EPOLL_CTL_ADD, middle, &event), EINVAL);
	MUST(epoll_ctl(middle, EPOLL_CTL_DEL, below[0], NULL));
	MUST(epoll_ctl(top, EPOLL_CTL_ADD, middle, &event));
	CHECK_ERROR(epoll_ctl(middle, EPOLL_CTL_ADD, below[0], &event), EINVAL);
	/* A file that joins an epoll under others has paths, too. */
	MUST(epoll_ctl(below[0], EPOLL_CTL_DEL, ends[0], NULL));
	MUST(epoll_ctl(middle, EPOLL_CTL_ADD, below[0], &event));
	CHECK_ERROR(epoll_ctl(below[0], EPOLL_CTL_ADD, ends[0], &event), EINVAL);
	MUST(epoll_ctl(below[0], EPOLL_CTL_ADD, ends[1], &event));
	for (int i = 0; i < BELOW; i++)
		MUST(close(below[i]));
	MUST(close(middle));
	MUST(close(top));
	MUST(close(ends[0]));
	MUST(close(ends[1]));
}

static void exclusive_is_not_for_epolls(void)
{
	int outer = (int)MUST(epoll_create1(0)), inner = (int)MUST(epoll_create1(0)), ends[2];
	struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE };

	MUST(pipe(ends));
	CHECK_ERROR(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event), EINVAL);
	/* It comes with an addition, and with few other bits. */
	CHECK_ERROR(epoll_ctl(outer, EPOLL_CTL_MOD, ends[0], &event), EINVAL);
	for (int i = 0; i < 3; i++) {
		static const uint32_t refused[] = { EPOLLRDHUP, EPOLLPRI, EPOLLONESHOT };

		event.events = EPOLLIN | EPOLLEXCLUSIVE | refused[i];
		CHECK_ERROR(epoll_ctl(outer, EPOLL_CTL_ADD, ends[0], &event), EINVAL);
	}
	event.events = EPOLLIN | EPOLLOUT | EPOLLHUP | EPOLLET | EPOLLEXCLUSIVE;
	MUST(epoll_ctl(outer, EPOLL_CTL_ADD, ends[0], &event));
	event.events = EPOLLIN;
	CHECK_ERROR(epoll_ctl(outer, EPOLL_CTL_MOD, ends[0], &event), EINVAL);
}

/* An event that is wanted once is followed by none, not even by a hang-up. */
static void once_and_no_more(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT }, got;
	int set = (int)MUST(epoll_create1(0)), ends[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
	CHECK_EQUAL(write(ends[1], "x", 1), 1);
	CHECK_EQUAL(epoll_wait(set, &got, 1, 0), 1);
	CHECK_EQUAL(got.events, EPOLLIN);
	MUST(close(ends[1]));
	CHECK_EQUAL(epoll_wait(set, &got, 1, 0), 0);
	event.events = 0;
	MUST(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
	CHECK_EQUAL(epoll_wait(set, &got, 1, 0), 1);
	CHECK_EQUAL(got.events, EPOLLHUP);
}

/* Events, signals and timers have no ordinary data beside what POLLIN and POLLOUT report. */
static void plain_readiness(void)
{
	const struct itimerspec soon = { .it_value = { 0, 1 } };
	struct pollfd asked[3];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	MUST(raise(SIGUSR2));
	asked[0].fd = (int)MUST(eventfd(1, 0));
	asked[1].fd = (int)MUST(signalfd(-1, &set, 0));
	asked[2].fd = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	MUST(timerfd_settime(asked[2].fd, 0, &soon, NULL));
	usleep(1000);
	for (int i = 0; i < 3; i++)
		asked[i].events = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
	CHECK_EQUAL(poll(asked, 3, 0), 3);
	CHECK_EQUAL(asked[0].revents, POLLIN | POLLOUT);
	CHECK_EQUAL(asked[1].revents, POLLIN);
	CHECK_EQUAL(asked[2].revents, POLLIN);
}

static socklen_t name_of(int socket, struct sockaddr *name)
{
	socklen_t size = sizeof(struct sockaddr_un);

	MUST(getsockname(socket, name, &size));
	return size;
}

/* A socket that an epoll has is connected: then its data is reported. */
static void a_later_connection(void)
{
	static const struct { int family, type; } kinds[] = {
		{ AF_UNIX, SOCK_STREAM }, { AF_UNIX, SOCK_SEQPACKET }, { AF_INET, SOCK_STREAM },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int set = (int)MUST(epoll_create1(0)), other;
		int listener = (int)MUST(socket(kinds[i].family, kinds[i].type, 0));
		int client = (int)MUST(socket(kinds[i].family, kinds[i].type, 0));
		struct epoll_event event = { .events = EPOLLIN }, got;
		struct sockaddr_un name;

		if (kinds[i].family == AF_UNIX)
			MUST(bind(listener, (struct sockaddr *)&(struct sockaddr_un){ .sun_family = AF_UNIX }, 2));
		MUST(listen(listener, 1));
		MUST(epoll_ctl(set, EPOLL_CTL_ADD, client, &event));
		MUST(epoll_wait(set, &got, 1, 0));
		MUST(connect(client, (struct sockaddr *)&name, name_of(listener, (struct sockaddr *)&name)));
		other = (int)MUST(accept(listener, NULL, NULL));
		CHECK_EQUAL(epoll_wait(set, &got, 1, 0), 0);
		CHECK_EQUAL(write(other, "x", 1), 1);
		CHECK_EQUAL(epoll_wait(set, &got, 1, 10000), 1);
		CHECK_EQUAL(got.events, EPOLLIN);
		MUST(close(client));
		MUST(close(other));
		MUST(close(listener));
		MUST(close(set));
	}
}

/* A datagram socket gets a receiver after an epoll has got the socket: then the receiver's room is reported. */
static void a_later_receiver(void)
{
	int set = (int)MUST(epoll_create1(0)), sender = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
	int receiver = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
	struct epoll_event event = { .events = EPOLLOUT }, got;
	struct sockaddr_un name;
	int sent = 0;
	char byte;

	MUST(bind(receiver, (struct sockaddr *)&(struct sockaddr_un){ .sun_family = AF_UNIX }, 2));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, sender, &event));
	MUST(connect(sender, (struct sockaddr *)&name, name_of(receiver, (struct sockaddr *)&name)));
	while (send(sender, "x", 1, MSG_DONTWAIT) == 1)
		sent++;
	CHECK_EQUAL(errno, EAGAIN);
	CHECK_EQUAL(epoll_wait(set, &got, 1, 0), 0);
	while (sent--)
		CHECK_EQUAL(read(receiver, &byte, 1), 1);
	CHECK_EQUAL(epoll_wait(set, &got, 1, 10000), 1);
	CHECK_EQUAL(got.events, EPOLLOUT);
}

static int receiver_named(struct sockaddr_un *name, socklen_t *size)
{
	int receiver = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));

	MUST(bind(receiver, (struct sockaddr *)&(struct sockaddr_un){ .sun_family = AF_UNIX }, 2));
	*size = name_of(receiver, (struct sockaddr *)name);
	return receiver;
}

static int fill_receiver(int sender, const struct sockaddr_un *name, socklen_t size)
{
	int sent = 0;

	MUST(connect(sender, (const struct sockaddr *)name, size));
	while (send(sender, "x", 1, MSG_DONTWAIT) == 1)
		sent++;
	CHECK_EQUAL(errno, EAGAIN);
	return sent;
}

/* While one process waits for room in a receiver, another connects the same socket to others: their room counts. */
static void another_receiver_meanwhile(void)
{
	int sender = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0)), receiver[3], sent;
	struct pollfd asked = { .fd = sender, .events = POLLOUT };
	struct sockaddr_un name[3];
	socklen_t size[3];
	long long start;
	fd_set writable;
	pid_t child;
	char byte;

	for (int i = 0; i < 3; i++)
		receiver[i] = receiver_named(&name[i], &size[i]);
	sent = fill_receiver(sender, &name[1], size[1]);
	fill_receiver(sender, &name[0], size[0]);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		usleep(20000);
		MUST(connect(sender, (struct sockaddr *)&name[1], size[1]));
		usleep(20000);
		while (sent--)
			CHECK_EQUAL(read(receiver[1], &byte, 1), 1);
		_exit(0);
	}
	start = test_now();
	CHECK_EQUAL(poll(&asked, 1, 10000), 1);
	CHECK(test_now() - start < 5000000000);
	CHECK_EQUAL(asked.revents, POLLOUT);
	CHECK_EQUAL(test_wait(child), 0);
	fill_receiver(sender, &name[0], size[0]);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		usleep(20000);
		MUST(connect(sender, (struct sockaddr *)&name[2], size[2]));
		_exit(0);
	}
	FD_ZERO(&writable);
	FD_SET(sender, &writable);
	start = test_now();
	CHECK_EQUAL(select(sender + 1, NULL, &writable, NULL, &(struct timeval){ 10, 0 }), 1);
	CHECK(test_now() - start < 5000000000);
	CHECK_EQUAL(test_wait(child), 0);
}

/* One epoll in 501 others: Linux refuses so many paths for one wake-up. */
static void many_ways_up(void)
{
	int inner = (int)MUST(epoll_create1(0)), ends[2];
	struct epoll_event event = { .events = EPOLLIN };

	MUST(pipe(ends));
	MUST(epoll_ctl(inner, EPOLL_CTL_ADD, ends[0], &event));
	for (int i = 0; i < 500; i++)
		MUST(epoll_ctl((int)MUST(epoll_create1(0)), EPOLL_CTL_ADD, inner, &event));
	CHECK_ERROR(epoll_ctl((int)MUST(epoll_create1(0)), EPOLL_CTL_ADD, inner, &event), EINVAL);
}

/* The padding of struct epoll_event shows no kernel memory. */
static void room_in_an_event(void)
{
	struct epoll_event event = { .events = EPOLLOUT };
	int set = (int)MUST(epoll_create1(0)), ends[2];
	uint32_t words[sizeof(event) / sizeof(uint32_t)];

	MUST(pipe(ends));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, ends[1], &event));
	memset(words, 0, sizeof(words));
	CHECK_EQUAL(epoll_wait(set, (struct epoll_event *)words, 1, 0), 1);
	CHECK_EQUAL(words[0], EPOLLOUT);
	CHECK_EQUAL(words[1], 0);
}

static const struct test_case cases[] = {
	CASE(room_in_an_event),
	CASE(exclusive_is_not_for_epolls), CASE(once_and_no_more), CASE(plain_readiness),
	CASE(many_ways_up), CASE(a_later_connection), CASE(a_later_receiver),
	CASE(another_receiver_meanwhile),
	CASE(signal_for_readiness), CASE(signal_that_ends_another), CASE(signal_at_hang_up), CASE(epolls_in_epolls),
	CASE(paths_from_a_file),
	CASE(poll_pipe), CASE(poll_writer_without_reader), CASE(poll_waits), CASE(poll_is_interrupted),
	CASE(select_sets), CASE(select_wide), CASE(poll_many), CASE(pselect_mask), CASE(epoll_level_and_edge),
	CASE(epoll_forgets_closed_files),
};

TEST_MAIN("poll", cases)
