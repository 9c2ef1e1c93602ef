/* Pipes and FIFOs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

static int ends[2];

static void order_is_kept(void)
{
	char buffer[16];

	MUST(pipe(ends));
	CHECK_EQUAL(write(ends[1], "hello", 5), 5);
	CHECK_EQUAL(write(ends[1], "world", 5), 5);
	CHECK_EQUAL(read(ends[0], buffer, 3), 3);
	CHECK_EQUAL(read(ends[0], buffer + 3, sizeof(buffer) - 3), 7);
	CHECK(memcmp(buffer, "helloworld", 10) == 0);
	CHECK_ERROR(read(ends[1], buffer, 1), EBADF);
	CHECK_ERROR(write(ends[0], buffer, 1), EBADF);
	CHECK_ERROR(lseek(ends[0], 0, SEEK_SET), ESPIPE);
}

static int produce(void *argument)
{
	static unsigned char block[10007];
	size_t total = *(size_t *)argument;

	close(ends[0]);
	for (size_t sent = 0; sent < total;) {
		size_t n = sizeof(block) < total - sent ? sizeof(block) : total - sent;

		for (size_t i = 0; i < n; i++)
			block[i] = (unsigned char)((sent + i) * 31 >> 3);
		CHECK_EQUAL(write(ends[1], block, n), n);
		sent += n;
	}
	return 0;
}

static void much_data(void)
{
	static unsigned char block[4099];
	size_t total = 1000000, got = 0;
	ssize_t n;
	pid_t child;

	MUST(pipe(ends));
	child = test_child(produce, &total);
	close(ends[1]);
	while ((n = MUST(read(ends[0], block, sizeof(block)))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			CHECK_EQUAL(block[i], (unsigned char)((got + (size_t)i) * 31 >> 3));
		got += (size_t)n;
	}
	CHECK_EQUAL(got, total);
	CHECK_EQUAL(test_wait(child), 0);
}

static void end_of_file(void)
{
	char byte;

	MUST(pipe(ends));
	CHECK_EQUAL(write(ends[1], "x", 1), 1);
	MUST(close(ends[1]));
	CHECK_EQUAL(read(ends[0], &byte, 1), 1);
	CHECK_EQUAL(read(ends[0], &byte, 1), 0);
	CHECK_EQUAL(read(ends[0], &byte, 1), 0);
}

static int write_to_nobody(void *argument)
{
	(void)argument;
	return write(ends[1], "x", 1) == 1 ? 0 : 1;
}

static void broken(void)
{
	MUST(pipe(ends));
	MUST(close(ends[0]));
	CHECK_EQUAL(test_in_child(write_to_nobody, NULL), 1000 + SIGPIPE);
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	CHECK_ERROR(write(ends[1], "x", 1), EPIPE);
}

static void without_waiting(void)
{
	static char block[PIPE_BUF];
	int n = 0;

	MUST(pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	CHECK_EQUAL(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
	CHECK(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
	CHECK_ERROR(read(ends[0], block, 1), EAGAIN);
	while (write(ends[1], block, sizeof(block)) == sizeof(block))
		n++;
	CHECK_EQUAL(errno, EAGAIN);
	CHECK_EQUAL(n * (int)sizeof(block), 65536);
	CHECK_EQUAL(read(ends[0], block, sizeof(block)), sizeof(block));
	CHECK_EQUAL(write(ends[1], block, sizeof(block)), sizeof(block));
	CHECK_ERROR(write(ends[1], block, 1), EAGAIN);
	CHECK_ERROR(pipe2(ends, 0x12345678), EINVAL);
}

static int write_atoms(void *argument)
{
	char atom[100];
	int who = *(int *)argument;

	memset(atom, 'a' + who, sizeof(atom));
	for (int i = 0; i < 200; i++)
		CHECK_EQUAL(write(ends[1], atom, sizeof(atom)), sizeof(atom));
	return 0;
}

/* Writes of up to PIPE_BUF bytes are never mixed. */
static void atoms_stay_whole(void)
{
	enum { WRITERS = 4 };
	char atom[100];
	pid_t children[WRITERS];
	int counts[WRITERS] = { 0 };

	MUST(pipe(ends));
	for (int i = 0; i < WRITERS; i++)
		children[i] = test_child(write_atoms, &i);
	close(ends[1]);
	for (int n = 0; n < WRITERS * 200; n++) {
		for (size_t got = 0; got < sizeof(atom);)
			got += (size_t)MUST(read(ends[0], atom + got, sizeof(atom) - got));
		for (size_t i = 1; i < sizeof(atom); i++)
			CHECK_EQUAL(atom[i], atom[0]);
		counts[atom[0] - 'a']++;
	}
	for (int i = 0; i < WRITERS; i++) {
		CHECK_EQUAL(counts[i], 200);
		CHECK_EQUAL(test_wait(children[i]), 0);
	}
}

static int echo_fifo(void *argument)
{
	char byte;
	int fd = (int)MUST(open(argument, O_RDONLY));

	CHECK_EQUAL(read(fd, &byte, 1), 1);
	CHECK_EQUAL(read(fd, &byte, 1), 0);
	return byte;
}

static void fifo(void)
{
	const char *path = test_path("fifo");
	pid_t child;
	int fd;

	MUST(mkfifo(path, 0600));
	CHECK_ERROR(mkfifo(path, 0600), EEXIST);
	child = test_child(echo_fifo, (void *)path);
	/* Opening waits until the other side opens the FIFO. */
	fd = (int)MUST(open(path, O_WRONLY));
	CHECK_EQUAL(write(fd, "f", 1), 1);
	MUST(close(fd));
	CHECK_EQUAL(test_wait(child), 'f');
}

static void bytes_waiting(void)
{
	int n = -1;

	MUST(pipe(ends));
	CHECK_EQUAL(write(ends[1], "12345", 5), 5);
	MUST(ioctl(ends[0], FIONREAD, &n));
	CHECK_EQUAL(n, 5);
}

static void many_pipes(void)
{
	for (int i = 0; i < 300; i++) {
		char byte = (char)i;

		MUST(pipe(ends));
		CHECK_EQUAL(write(ends[1], &byte, 1), 1);
		CHECK_EQUAL(read(ends[0], &byte, 1), 1);
		CHECK_EQUAL(byte, (char)i);
		MUST(close(ends[0]));
		MUST(close(ends[1]));
	}
}

static int open_again(int fd, int flags)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags);
}

/* Unlike a FIFO, a pipe is opened again without waiting for the other side. */
static void opened_again(void)
{
	struct pollfd poll_again;
	char buffer[16];
	int again;

	MUST(pipe(ends));
	CHECK_EQUAL(write(ends[1], "abc", 3), 3);
	MUST(close(ends[1]));
	again = (int)MUST(open_again(ends[0], O_RDONLY));
	CHECK_EQUAL(read(again, buffer, sizeof(buffer)), 3);
	CHECK_EQUAL(read(ends[0], buffer, sizeof(buffer)), 0);
	MUST(close(again));
	poll_again = (struct pollfd){ .fd = (int)MUST(open_again(ends[0], O_RDONLY | O_NONBLOCK)), .events = POLLIN };
	CHECK_EQUAL(poll(&poll_again, 1, 0), 1);
	CHECK_EQUAL(poll_again.revents, POLLHUP);

	MUST(pipe(ends));
	MUST(close(ends[0]));
	MUST(open_again(ends[1], O_WRONLY));
	poll_again = (struct pollfd){ .fd = (int)MUST(open_again(ends[1], O_WRONLY | O_NONBLOCK)), .events = POLLOUT };
	CHECK_EQUAL(poll(&poll_again, 1, 0), 1);
	CHECK_EQUAL(poll_again.revents, POLLOUT | POLLERR);
}

/* A reader that finds a writer hears of its end, also if it opens the FIFO without waiting. */
static void end_of_writer(void)
{
	const char *path = test_path("ends");
	struct pollfd reader = { .events = POLLIN };
	int both;

	MUST(mkfifo(path, 0600));
	both = (int)MUST(open(path, O_RDWR));
	reader.fd = (int)MUST(open(path, O_RDONLY | O_NONBLOCK));
	CHECK_EQUAL(poll(&reader, 1, 0), 0);
	MUST(close(both));
	CHECK_EQUAL(poll(&reader, 1, 0), 1);
	CHECK_EQUAL(reader.revents, POLLHUP);
}

static const struct test_case cases[] = {
	CASE(order_is_kept), CASE(much_data), CASE(end_of_file), CASE(broken), CASE(without_waiting),
	CASE(atoms_stay_whole), CASE(fifo), CASE(opened_again), CASE(end_of_writer), CASE(bytes_waiting),
	CASE(many_pipes),
};

TEST_MAIN("pipe", cases)
