/* How long other tasks wait while a descriptor with much behind it closes, or much goes through one. Uses guest time,
 * so only our kernel can pass. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "common/check.h"
#include "common/rights.h"
#include "common/wait.h"

#define PAGE 4096u
#define MB (1u << 20)

static int one, pair[2], other[2];

static void close_one(void)
{
	MUST(close(one));
}

static void close_pair(void)
{
	MUST(close(pair[0]));
	MUST(close(pair[1]));
}

static void close_other(void)
{
	MUST(close(other[0]));
	MUST(close(other[1]));
}

/* Other things with much behind one descriptor. -------------------------------------------------------------------- */

#define MANY 3000

static void allow_descriptors(void)
{
	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 }));
}

static void watch_by_epoll(void)
{
	struct epoll_event wanted = { .events = EPOLLIN };
	int event = (int)MUST(eventfd(0, 0));

	allow_descriptors();
	one = (int)MUST(epoll_create1(0));
	for (int i = 0; i < MANY; i++)
		MUST(epoll_ctl(one, EPOLL_CTL_ADD, (int)MUST(dup(event)), &wanted));
}

static void watch_by_inotify(void)
{
	char name[16];

	snprintf(name, sizeof(name), "watched%d", getpid());
	MUST(mkdir(test_path(name), 0700));
	MUST(chdir(test_path(name)));
	one = (int)MUST(inotify_init1(0));
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i);
		MUST(mknod(name, S_IFREG | 0600, 0));
		MUST(inotify_add_watch(one, name, IN_ATTRIB));
	}
}

static void show_one(void)
{
	static char text[MB];
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", one);
	CHECK(test_read_file(path, text, sizeof(text)) > 20 * MANY);
}

static void connect_many(void)
{
	struct sockaddr_un address = { AF_UNIX, "\0preempt" };

	allow_descriptors();
	one = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(bind(one, (struct sockaddr *)&address, 10));
	MUST(listen(one, MANY));
	for (int i = 0; i < MANY; i++) {
		int fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));

		MUST(connect(fd, (struct sockaddr *)&address, 10));
		MUST(close(fd));
	}
}

/* A queue of files, each the last reference to a pair of sockets with a message in its queue. */
static void queue_sockets(void)
{
	int inner[2];

	allow_descriptors();
	socket_pair(SOCK_DGRAM, pair);
	for (int i = 0; i < 900; i++) {
		socket_pair(SOCK_DGRAM, inner);
		(void)send(inner[0], "x", 1, MSG_DONTWAIT);
		if (send_files(pair[0], inner, 2) != 1) {
			close(inner[0]);
			close(inner[1]);
			break;
		}
		MUST(close(inner[0]));
		MUST(close(inner[1]));
	}
}

/* A queue that holds its own socket, and two thousand more: nobody can receive them. */
static void queue_itself(void)
{
	int inner[50];

	allow_descriptors();
	socket_pair(SOCK_DGRAM, pair);
	MUST(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &(int){ MB }, sizeof(int)));
	CHECK_EQUAL(send_files(pair[0], pair, 2), 1);
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < 50; k += 2)
			socket_pair(SOCK_DGRAM, &inner[k]);
		CHECK_EQUAL(send_files(pair[0], inner, 50), 1);
		for (int k = 0; k < 50; k++)
			MUST(close(inner[k]));
	}
}

static void nest_deeply(void)
{
	nest_sockets(SOCK_STREAM, 400);
}

/* Pipes with many pages. ------------------------------------------------------------------------------------------- */

static void fill_pipes(void)
{
	static char data[MB];

	MUST(pipe(pair));
	MUST(pipe(other));
	MUST(fcntl(pair[1], F_SETPIPE_SZ, sizeof(data)));
	MUST(fcntl(other[1], F_SETPIPE_SZ, sizeof(data)));
	CHECK_EQUAL(write(pair[1], data, sizeof(data)), sizeof(data));
}

static void tee_all(void)
{
	CHECK_EQUAL(tee(pair[0], other[1], MB, 0), MB);
}

static void splice_all(void)
{
	CHECK_EQUAL(splice(pair[0], NULL, other[1], NULL, MB, 0), MB);
}

static void splice_to_file(void)
{
	int fd = (int)MUST(memfd_create("out", 0));

	CHECK_EQUAL(splice(pair[0], NULL, fd, NULL, MB, 0), MB);
}

static void read_all(void)
{
	static char data[MB];

	CHECK_EQUAL(read(pair[0], data, sizeof(data)), sizeof(data));
}

/* Terminals and disks. --------------------------------------------------------------------------------------------- */

static void make_terminal(void)
{
	one = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY));
}

/* A line that is too long, then CTRL-R, each of which shows the line again. */
static void type_much(void)
{
	static char typed[64 << 10];

	memset(typed, 'a', sizeof(typed));
	memset(typed + PAGE, 18, 200);
	CHECK_EQUAL(write(one, typed, sizeof(typed)), sizeof(typed));
}

/* Settings with which the console shows no return at the beginning of a line. */
static void hide_returns(void)
{
	struct termios settings;

	one = (int)MUST(open("/dev/console", O_RDWR | O_NOCTTY));
	MUST(tcgetattr(one, &settings));
	settings.c_oflag |= ONOCR;
	MUST(tcsetattr(one, TCSANOW, &settings));
	MUST(write(one, "\n", 1));
}

static void print_much(void)
{
	static char returns[256 << 10];
	struct termios settings;

	memset(returns, '\r', sizeof(returns));
	CHECK_EQUAL(write(one, returns, sizeof(returns)), sizeof(returns));
	MUST(tcgetattr(one, &settings));
	settings.c_oflag &= ~(tcflag_t)ONOCR;
	MUST(tcsetattr(one, TCSANOW, &settings));
}

static void open_disk(void)
{
	one = (int)MUST(open("/dev/ram0", O_RDWR));
}

static void read_disk(void)
{
	static char data[4 * MB];

	CHECK_EQUAL(read(one, data, sizeof(data)), sizeof(data));
}

static const struct test_act acts[] = {
	{ "epoll: close", watch_by_epoll, close_one },
	{ "epoll: /proc/self/fdinfo", watch_by_epoll, show_one },
	{ "epoll: the end", watch_by_epoll, NULL },
	{ "inotify: /proc/self/fdinfo", watch_by_inotify, show_one },
	{ "inotify: close", watch_by_inotify, close_one },
	{ "connections: close", connect_many, close_one },
	{ "sockets: a queue of them", queue_sockets, close_pair },
	{ "sockets: a queue in itself", queue_itself, close_pair },
	{ "sockets: nested", nest_deeply, NULL },
	{ "pipe: tee", fill_pipes, tee_all },
	{ "pipe: splice", fill_pipes, splice_all },
	{ "pipe: splice to a file", fill_pipes, splice_to_file },
	{ "pipe: read", fill_pipes, read_all },
	{ "pipe: close", fill_pipes, close_pair },
	{ "pipe: close both", fill_pipes, close_other },
	{ "terminal: typing", make_terminal, type_much },
	{ "console: printing", hide_returns, print_much },
	{ "RAM disk: read", open_disk, read_disk },
};

WAIT_MAIN("preempt_descriptor", acts)
