/*
 * Copies that sleep. When memory is short, a page fault in the middle of a copy waits; meanwhile another thread takes
 * or frees the object that is copied. One thread makes calls that touch fresh pages, another thread undoes these calls,
 * and a third process holds the memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/attack.h"

#define PAGE 4096
#define FRESH 200               /* pages that the calls touch */
#define LEFT_KB 400             /* free memory when the calls begin */
#define RACE_KB 4096            /* memory that the hog of a race takes page by page */
#define ROUNDS 2

struct race {
	void (*begin)(void);
	void (*call)(char *fresh);      /* copies to or from a page that nobody has touched */
	void (*undo)(void);             /* repeated by another thread */
	void (*end)(void);
};

static volatile int over;

static long free_kb(void)
{
	char text[512], *at;

	test_read_file("/proc/meminfo", text, sizeof(text));
	at = strstr(text, "MemFree:");
	CHECK(at != NULL);
	return strtol(at + 8, NULL, 10);
}

/* Takes all but a little of the memory, and tells the parent. */
static int hog(void *argument)
{
	while (free_kb() > LEFT_KB) {
		char *at = mmap(NULL, 32 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			break;
		for (int i = 0; i < 32; i++)
			at[i * PAGE] = 1;
	}
	MUST(write(*(int *)argument, "x", 1));
	for (;;)
		pause();
	return 0;
}

static void *undo_again(void *argument)
{
	const struct race *race = argument;

	while (!over) {
		race->undo();
		sched_yield();
	}
	return NULL;
}

/* Takes the rest of the memory with a file. No process owns a file's memory, so the kernel kills no process for it. */
static const char *take_memory(void)
{
	const char *path = test_path("memory");
	int fd = (int)MUST(open(path, O_RDWR | O_CREAT, 0600));

	/* A call that asks for too much takes no memory at all. */
	for (long kb = free_kb() - RACE_KB; kb >= 64;)
		if (fallocate(fd, 0, lseek(fd, 0, SEEK_END), kb * 1024))
			kb /= 2;
		else if (free_kb() < RACE_KB + kb)
			kb = free_kb() - RACE_KB;
	close(fd);
	return path;
}

static void run(const struct race *race)
{
	const char *memory = take_memory();

	for (int round = 0; round < ROUNDS; round++) {
		/* Use a shared mapping, in which even the first read of a page takes memory. */
		char *fresh = mmap(NULL, FRESH * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), byte;
		pthread_t thread;
		pid_t child;
		int full[2];

		CHECK(fresh != MAP_FAILED);
		over = 0;
		race->begin();
		MUST(pipe(full));
		child = test_child(hog, &full[1]);
		CHECK_EQUAL(read(full[0], &byte, 1), 1);
		CHECK_EQUAL(pthread_create(&thread, NULL, undo_again, (void *)race), 0);
		for (int i = 0; i < FRESH; i++) {
			race->call(fresh + i * PAGE);
			sched_yield();
		}
		over = 1;
		pthread_join(thread, NULL);
		kill(child, SIGKILL);
		test_wait(child);
		race->end();
		close(full[0]);
		close(full[1]);
		MUST(munmap(fresh, FRESH * PAGE));
	}
	MUST(unlink(memory));
}

/* A file of /proc. A read from the start makes its text again; the undoing thread frees the memory of the old text. */
#define AREAS 60

static int maps;
static char *areas;

static void open_maps(void)
{
	areas = mmap(NULL, AREAS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(areas != MAP_FAILED);
	for (int i = 0; i < AREAS; i += 2)
		MUST(mprotect(areas + i * PAGE, PAGE, PROT_READ));
	maps = (int)MUST(open("/proc/self/maps", O_RDONLY));
}

static void close_maps(void)
{
	close(maps);
	MUST(munmap(areas, AREAS * PAGE));
}

static void read_maps(char *fresh)
{
	ssize_t n = pread(maps, fresh, PAGE, 0);

	for (ssize_t i = 0; i < n; i++)
		CHECK(fresh[i] == '\n' || (fresh[i] >= ' ' && fresh[i] <= 'z'));
}

static void make_maps_anew(void)
{
	char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), byte;

	(void)!pread(maps, &byte, 1, 0);
	if (at == MAP_FAILED)
		return;
	memset(at, 1, PAGE);
	munmap(at, PAGE);
}

static void text_of_proc(void)
{
	static const struct race race = { open_maps, read_maps, make_maps_anew, close_maps };

	run(&race);
}

/* The two ends of a socket pair or a pipe. */
static int ends[2];
static char small[PAGE];

static void close_ends(void)
{
	close(ends[0]);
	close(ends[1]);
}

static void open_datagrams(void)
{
	MUST(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends));
}

static void receive(char *fresh)
{
	(void)!send(ends[1], small, 2000, 0);
	(void)!recv(ends[0], fresh, 2000, 0);
}

static void receive_first(void)
{
	(void)!recv(ends[0], small, 1, 0);
}

static void look_first(void)
{
	(void)!recv(ends[0], small, 1, 0);
	(void)!recv(ends[0], small, 1, MSG_PEEK);
}

static void look(char *fresh)
{
	(void)!send(ends[1], small, 2000, 0);
	(void)!recv(ends[0], fresh, 2000, MSG_PEEK);
}

static void datagrams(void)
{
	static const struct race take = { open_datagrams, receive, receive_first, close_ends };
	static const struct race peek = { open_datagrams, look, look_first, close_ends };

	run(&take);
	run(&peek);
}

static int set, event;

static void open_set(void)
{
	struct epoll_event wanted = { .events = EPOLLIN };

	set = (int)MUST(epoll_create1(0));
	event = (int)MUST(eventfd(1, 0));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted));
}

static void close_set(void)
{
	close(event);
	close(set);
}

static void wait_for_set(char *fresh)
{
	(void)epoll_wait(set, (struct epoll_event *)fresh, 1, 0);
}

static void change_set(void)
{
	struct epoll_event wanted = { .events = EPOLLIN };

	(void)epoll_ctl(set, EPOLL_CTL_DEL, event, NULL);
	(void)epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted);
}

static void epolls(void)
{
	static const struct race race = { open_set, wait_for_set, change_set, close_set };

	run(&race);
}

/* The receiver is closed while the sender's bytes are copied to it. */
static void open_stream(void)
{
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
}

static void send_page(char *fresh)
{
	(void)!send(ends[1], fresh, PAGE, MSG_NOSIGNAL);
}

static void open_again(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		return;
	dup2(pair[0], ends[0]);
	dup2(pair[1], ends[1]);
	close(pair[0]);
	close(pair[1]);
}

static void streams(void)
{
	static const struct race race = { open_stream, send_page, open_again, close_ends };

	run(&race);
}

/* The same for datagrams: the receiver and its queue are freed. */
static int datagram_type;

static void open_datagram_pair(void)
{
	MUST(socketpair(AF_UNIX, datagram_type | SOCK_NONBLOCK, 0, ends));
}

static void open_datagram_pair_again(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, datagram_type | SOCK_NONBLOCK, 0, pair))
		return;
	dup2(pair[0], ends[0]);
	dup2(pair[1], ends[1]);
	close(pair[0]);
	close(pair[1]);
}

static void send_datagram(char *fresh)
{
	(void)!send(ends[1], fresh, 2000, MSG_NOSIGNAL);
}

static struct sockaddr_in receiver;

static void open_port(void)
{
	socklen_t size = sizeof(receiver);

	receiver = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	ends[0] = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	ends[1] = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	MUST(bind(ends[0], (struct sockaddr *)&receiver, size));
	MUST(getsockname(ends[0], (struct sockaddr *)&receiver, &size));
}

static void open_port_again(void)
{
	int port = socket(AF_INET, SOCK_DGRAM, 0);

	if (port < 0)
		return;
	dup2(port, ends[0]);
	(void)!bind(ends[0], (struct sockaddr *)&receiver, sizeof(receiver));
	close(port);
}

static void send_to_port(char *fresh)
{
	(void)!sendto(ends[1], fresh, 2000, 0, (struct sockaddr *)&receiver, sizeof(receiver));
}

static void senders(void)
{
	static const struct race local = { open_datagram_pair, send_datagram, open_datagram_pair_again, close_ends };
	static const struct race port = { open_port, send_to_port, open_port_again, close_ends };

	datagram_type = SOCK_DGRAM;
	run(&local);
	datagram_type = SOCK_SEQPACKET;
	run(&local);
	run(&port);
}

/* The count of an eventfd is read once only. */
static void open_counter(void)
{
	event = (int)MUST(eventfd(0, EFD_NONBLOCK));
}

static void close_counter(void)
{
	uint64_t count;

	CHECK_EQUAL(read(event, &count, sizeof(count)), -1);
	close(event);
}

static void count(char *fresh)
{
	uint64_t one = 1;

	(void)!write(event, &one, sizeof(one));
	(void)!read(event, fresh, sizeof(one));
}

static void take_count(void)
{
	uint64_t got;

	if (read(event, &got, sizeof(got)) > 0)
		CHECK(got < 1000000);
}

static void counters(void)
{
	static const struct race race = { open_counter, count, take_count, close_counter };

	run(&race);
}

/* A read into an unmapped address takes nothing from the file. */
static void faults_take_nothing(void)
{
	struct itimerspec once = { .it_value.tv_nsec = 1 };
	int timer = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0)), signals;
	struct pollfd asked = { .fd = timer, .events = POLLIN };
	struct signalfd_siginfo info[2];
	void *volatile nowhere = NULL;
	uint64_t expiries;
	sigset_t mask;

	MUST(timerfd_settime(timer, 0, &once, NULL));
	CHECK_EQUAL(poll(&asked, 1, -1), 1);
	CHECK_ERROR(read(timer, nowhere, sizeof(expiries)), EFAULT);
	CHECK_EQUAL(poll(&asked, 1, 0), 1);
	CHECK_EQUAL(read(timer, &expiries, sizeof(expiries)), (ssize_t)sizeof(expiries));
	CHECK_EQUAL(expiries, 1);

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
	signals = (int)MUST(signalfd(-1, &mask, SFD_NONBLOCK));
	MUST(kill(getpid(), SIGUSR1));
	CHECK_ERROR(read(signals, nowhere, sizeof(info)), EFAULT);
	CHECK_EQUAL(read(signals, info, sizeof(info)), (ssize_t)sizeof(info[0]));
	CHECK_EQUAL(info[0].ssi_signo, SIGUSR1);
	CHECK_ERROR(read(signals, info, sizeof(info)), EAGAIN);
}

/* No two timers have the same number. */
static volatile int made[2];

static void forget_timers(void)
{
	for (int i = 0; i < 64; i++)
		(void)!syscall(SYS_timer_delete, i);
	made[0] = made[1] = -1;
}

static void make_timer(char *fresh)
{
	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, fresh) == 0) {
		made[0] = *(int *)fresh;
		CHECK(made[0] != made[1]);
		CHECK_EQUAL(syscall(SYS_timer_delete, made[0]), 0);
		made[0] = -1;
	}
}

static void make_timer_too(void)
{
	static int number;

	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &number) == 0) {
		made[1] = number;
		sched_yield();
		made[1] = -1;
		CHECK_EQUAL(syscall(SYS_timer_delete, number), 0);
	}
}

static void timers(void)
{
	static const struct race race = { forget_timers, make_timer, make_timer_too, forget_timers };

	run(&race);
}

/* The number of bytes in a pipe stays between zero and the pipe's size. */
static void check_pipe(void)
{
	int bytes;

	MUST(ioctl(ends[0], FIONREAD, &bytes));
	CHECK(bytes >= 0 && bytes <= 65536);
	while (read(ends[0], small, sizeof(small)) > 0)
		bytes -= (int)sizeof(small);
	CHECK(bytes <= 0);
	close_ends();
}

static void open_pipe(void)
{
	MUST(pipe2(ends, O_NONBLOCK));
}

static void write_page(char *fresh)
{
	(void)!write(ends[1], fresh, PAGE);
}

static void read_page(char *fresh)
{
	(void)!write(ends[1], small, PAGE);
	(void)!read(ends[0], fresh, PAGE);
}

static void fill_and_empty(void)
{
	while (write(ends[1], small, PAGE) > 0)
		;
	while (read(ends[0], small, PAGE) > 0)
		;
}

static void pipes(void)
{
	static const struct race in = { open_pipe, write_page, fill_and_empty, check_pipe };
	static const struct race out = { open_pipe, read_page, fill_and_empty, check_pipe };

	run(&in);
	run(&out);
}

/* The controlling side of a terminal. */
static void open_terminal(void)
{
	int unlocked = 0, number;
	char path[32];

	ends[0] = (int)MUST(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK));
	MUST(ioctl(ends[0], TIOCSPTLCK, &unlocked));
	MUST(ioctl(ends[0], TIOCGPTN, &number));
	snprintf(path, sizeof(path), "/dev/pts/%d", number);
	ends[1] = (int)MUST(open(path, O_RDWR | O_NOCTTY | O_NONBLOCK));
}

static void read_terminal(char *fresh)
{
	(void)!write(ends[1], "text", 4);
	(void)!read(ends[0], fresh, PAGE);
}

static void read_it_first(void)
{
	(void)!read(ends[0], small, sizeof(small));
}

static void check_terminal(void)
{
	int bytes;

	MUST(ioctl(ends[0], FIONREAD, &bytes));
	CHECK(bytes >= 0 && bytes <= PAGE);
	close_ends();
}

static void terminals(void)
{
	static const struct race race = { open_terminal, read_terminal, read_it_first, check_terminal };

	run(&race);
}

static const struct test_case cases[] = {
	CASE(text_of_proc),
	CASE(datagrams),
	CASE(epolls),
	CASE(streams),
	CASE(pipes),
	CASE(terminals),
	CASE(senders),
	CASE(counters),
	CASE(faults_take_nothing),
	CASE(timers),
};

ATTACK_MAIN("copy", cases)
