/* Pseudo-terminals: made with /dev/ptmx, used as terminals, hung up. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "common/check.h"

static int controller;
static char name[64];

static void make(void)
{
	controller = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY));
	MUST(grantpt(controller));
	MUST(unlockpt(controller));
	CHECK_EQUAL(ptsname_r(controller, name, sizeof(name)), 0);
}

static int terminal(void)
{
	return (int)MUST(open(name, O_RDWR | O_NOCTTY));
}

/* Checks the text that the controlling side reads next. */
static void shown(const char *text)
{
	char buffer[256];
	size_t size = strlen(text);

	for (size_t got = 0; got < size;)
		got += (size_t)MUST(read(controller, buffer + got, size - got));
	CHECK(memcmp(buffer, text, size) == 0);
}

static void typed(const char *text)
{
	CHECK_EQUAL(write(controller, text, strlen(text)), (long)strlen(text));
}

static void names(void)
{
	struct stat status;
	char other[64];
	int fd, number, second;

	controller = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY));
	CHECK_EQUAL(ptsname_r(controller, name, sizeof(name)), 0);
	CHECK_ERROR(open(name, O_RDWR | O_NOCTTY), EIO);
	MUST(unlockpt(controller));
	fd = terminal();
	CHECK(isatty(fd) && isatty(controller));
	CHECK_EQUAL(ttyname_r(fd, other, sizeof(other)), 0);
	CHECK(strcmp(name, other) == 0);
	MUST(ioctl(controller, TIOCGPTN, &number));
	CHECK_EQUAL(strtol(strrchr(name, '/') + 1, NULL, 10), number);
	MUST(fstat(fd, &status));
	CHECK(S_ISCHR(status.st_mode) && status.st_rdev == makedev(136, (unsigned)number));
	second = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY));
	CHECK_EQUAL(ptsname_r(second, other, sizeof(other)), 0);
	CHECK(strcmp(name, other) != 0);
	MUST(close(fd));
	MUST(close(controller));
	CHECK_ERROR(stat(name, &status), ENOENT);
	MUST(stat(other, &status));
	CHECK_ERROR(ioctl(0x7fff, TIOCGPTN, &number), EBADF);
}

static void lines(void)
{
	char line[64];
	int fd;

	make();
	fd = terminal();
	CHECK_EQUAL(write(fd, "hello\n", 6), 6);
	shown("hello\r\n");
	typed("abx\177c\n");
	shown("abx\b \bc\r\n");
	CHECK_EQUAL(read(fd, line, sizeof(line)), 4);
	CHECK(memcmp(line, "abc\n", 4) == 0);
	/* Ctrl-D, an end of file. */
	typed("\4");
	CHECK_EQUAL(read(fd, line, sizeof(line)), 0);
}

static void settings_of_both_sides(void)
{
	struct termios settings;
	char byte;
	int fd;

	make();
	fd = terminal();
	MUST(tcgetattr(controller, &settings));
	cfmakeraw(&settings);
	MUST(tcsetattr(controller, TCSANOW, &settings));
	MUST(tcgetattr(fd, &settings));
	CHECK_EQUAL(settings.c_lflag & (ICANON | ECHO), 0);
	typed("\3");
	CHECK_EQUAL(read(fd, &byte, 1), 1);
	CHECK_EQUAL(byte, 3);
	CHECK_EQUAL(write(fd, "\n", 1), 1);
	shown("\n");
	CHECK_EQUAL(fcntl(controller, F_SETFL, O_RDWR | O_NONBLOCK), 0);
	CHECK_ERROR(read(controller, &byte, 1), EAGAIN);
}

/* More output than the buffer holds: the writer waits for the reader. */
static int writes_much(void *argument)
{
	int fd = *(int *)argument;
	char data[1000];

	memset(data, 'x', sizeof(data));
	for (int i = 0; i < 50; i++)
		for (size_t done = 0; done < sizeof(data);)
			done += (size_t)MUST(write(fd, data + done, sizeof(data) - done));
	return 0;
}

static void much_output(void)
{
	char data[700];
	long sum = 0;
	pid_t child;
	int fd;

	make();
	fd = terminal();
	child = test_child(writes_much, &fd);
	MUST(close(fd));
	for (;;) {
		ssize_t n = read(controller, data, sizeof(data));

		if (n < 0)
			break;
		sum += n;
	}
	CHECK_EQUAL(errno, EIO);
	CHECK_EQUAL(sum, 50000);
	CHECK_EQUAL(test_wait(child), 0);
}

static int reads_all(void *argument)
{
	char data[900];
	long sum = 0;

	(void)argument;
	while (sum < 20000)
		sum += MUST(read(*(int *)argument, data, sizeof(data)));
	return sum == 20000 ? 0 : 1;
}

static void much_input(void)
{
	struct termios settings;
	char data[2000];
	pid_t child;
	int fd;

	make();
	fd = terminal();
	MUST(tcgetattr(fd, &settings));
	cfmakeraw(&settings);
	MUST(tcsetattr(fd, TCSANOW, &settings));
	memset(data, 'x', sizeof(data));
	child = test_child(reads_all, &fd);
	for (int i = 0; i < 10; i++)
		for (size_t done = 0; done < sizeof(data);)
			done += (size_t)MUST(write(controller, data + done, sizeof(data) - done));
	CHECK_EQUAL(test_wait(child), 0);
}

static void readiness(void)
{
	struct pollfd asked[2];
	int fd;

	make();
	fd = terminal();
	asked[0] = (struct pollfd){ .fd = controller, .events = POLLIN | POLLOUT };
	asked[1] = (struct pollfd){ .fd = fd, .events = POLLIN | POLLOUT };
	CHECK_EQUAL(poll(asked, 2, 0), 2);
	CHECK_EQUAL(asked[0].revents, POLLOUT);
	CHECK_EQUAL(asked[1].revents, POLLOUT);
	typed("a\n");
	shown("a\r\n");
	CHECK_EQUAL(write(fd, "x", 1), 1);
	CHECK_EQUAL(poll(asked, 2, 1000), 2);
	CHECK_EQUAL(asked[0].revents, POLLIN | POLLOUT);
	CHECK_EQUAL(asked[1].revents, POLLIN | POLLOUT);
	MUST(close(fd));
	shown("x");
	CHECK_EQUAL(poll(asked, 1, 1000), 1);
	CHECK(asked[0].revents & POLLHUP);
}

static int open_as_leader(void *unused)
{
	int fd;

	(void)unused;
	MUST(setsid());
	fd = terminal();
	CHECK(!(MUST(fcntl(fd, F_GETFL)) & O_NOCTTY));
	CHECK_ERROR(open("/dev/tty", O_RDWR), ENXIO);
	MUST(open(name, O_RDWR));
	MUST(open("/dev/tty", O_RDWR));
	return 0;
}

/* A leader without a terminal gets none by O_NOCTTY. */
static void not_controlling(void)
{
	make();
	CHECK_EQUAL(test_in_child(open_as_leader, NULL), 0);
	MUST(close(controller));
}

/* In the child of forkpty: the terminal is its session's controlling terminal. */
static void sits_at_the_terminal(void)
{
	struct winsize size;
	int number;
	sigset_t wanted;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGWINCH);
	sigaddset(&wanted, SIGINT);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	if (tcgetpgrp(0) != getpid() || open("/dev/tty", O_RDWR) < 0 ||
	    write(1, "ready\n", 6) != 6)
		_exit(1);
	if (sigwait(&wanted, &number) || number != SIGWINCH || ioctl(0, TIOCGWINSZ, &size) < 0 || size.ws_row != 7)
		_exit(2);
	if (write(1, "sized\n", 6) != 6 || sigwait(&wanted, &number) || number != SIGINT)
		_exit(3);
	if (write(1, "interrupted\n", 12) != 12)
		_exit(4);
	pause();
	_exit(5);
}

static void session(void)
{
	struct winsize size = { .ws_row = 7, .ws_col = 30 };
	pid_t child, group;

	child = (pid_t)MUST(forkpty(&controller, NULL, NULL, NULL));
	if (child == 0)
		sits_at_the_terminal();
	shown("ready\r\n");
	MUST(ioctl(controller, TIOCGPGRP, &group));
	CHECK_EQUAL(group, child);
	MUST(ioctl(controller, TIOCSWINSZ, &size));
	shown("sized\r\n");
	typed("\3");
	shown("^Cinterrupted\r\n");
	MUST(close(controller));
	CHECK_EQUAL(test_wait(child), 1000 + SIGHUP);
}

static void hung_up(void)
{
	struct termios settings;
	struct pollfd asked;
	char byte;
	int fd;

	make();
	fd = terminal();
	MUST(close(controller));
	CHECK_EQUAL(read(fd, &byte, 1), 0);
	CHECK_ERROR(write(fd, "x", 1), EIO);
	CHECK_ERROR(tcgetattr(fd, &settings), EIO);
	asked = (struct pollfd){ .fd = fd, .events = POLLIN };
	CHECK_EQUAL(poll(&asked, 1, 0), 1);
	CHECK(asked.revents & POLLHUP);
}

static void peer(void)
{
	int fd;

	make();
	fd = (int)MUST(ioctl(controller, TIOCGPTPEER, O_RDWR | O_NOCTTY));
	CHECK_EQUAL(write(fd, "x", 1), 1);
	shown("x");
	CHECK_EQUAL(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
}

static const struct test_case cases[] = {
	CASE(names), CASE(lines), CASE(settings_of_both_sides), CASE(much_output), CASE(much_input), CASE(readiness),
	CASE(session), CASE(not_controlling), CASE(hung_up), CASE(peer),
};

TEST_MAIN("pty", cases)
