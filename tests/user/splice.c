/* splice, tee, vmsplice and preadv2: moving data between files and pipes, and what is refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/check.h"

static void read_is(int fd, const char *text)
{
	char buffer[64];

	CHECK_EQUAL(read(fd, buffer, sizeof(buffer)), (ssize_t)strlen(text));
	CHECK(memcmp(buffer, text, strlen(text)) == 0);
}

static void file_to_pipe_to_file(void)
{
	const char *from_path = test_path("from"), *to_path = test_path("to");
	loff_t at = 4;
	int pipes[2], from, to;

	test_write_file(from_path, "one two three", 13);
	MUST(pipe(pipes));
	from = (int)MUST(open(from_path, O_RDONLY));
	to = (int)MUST(open(to_path, O_RDWR | O_CREAT, 0600));
	CHECK_EQUAL(splice(from, &at, pipes[1], NULL, 3, 0), 3);
	CHECK_EQUAL(at, 7);
	CHECK_EQUAL(lseek(from, 0, SEEK_CUR), 0);
	CHECK_EQUAL(splice(from, NULL, pipes[1], NULL, 4, 0), 4);
	CHECK_EQUAL(lseek(from, 0, SEEK_CUR), 4);
	at = 2;
	CHECK_EQUAL(splice(pipes[0], NULL, to, &at, 100, 0), 7);
	CHECK_EQUAL(at, 9);
	MUST(lseek(to, 2, SEEK_SET));
	read_is(to, "twoone ");
	/* Nothing is left in the file, and nothing in the pipe. */
	MUST(lseek(from, 0, SEEK_END));
	CHECK_EQUAL(splice(from, NULL, pipes[1], NULL, 10, 0), 0);
	MUST(close(pipes[1]));
	CHECK_EQUAL(splice(pipes[0], NULL, to, NULL, 10, 0), 0);
}

static void between_pipes(void)
{
	int a[2], b[2];

	MUST(pipe(a));
	MUST(pipe(b));
	CHECK_EQUAL(write(a[1], "abcdef", 6), 6);
	/* tee copies data that stay in the first pipe. */
	CHECK_EQUAL(tee(a[0], b[1], 4, 0), 4);
	read_is(b[0], "abcd");
	CHECK_EQUAL(splice(a[0], NULL, b[1], NULL, 3, 0), 3);
	read_is(b[0], "abc");
	read_is(a[0], "def");
	CHECK_ERROR(splice(a[0], NULL, b[1], NULL, 3, SPLICE_F_NONBLOCK), EAGAIN);
	CHECK_ERROR(tee(a[0], b[1], 3, SPLICE_F_NONBLOCK), EAGAIN);
	CHECK_ERROR(tee(a[0], a[1], 3, SPLICE_F_NONBLOCK), EINVAL);
}

static void much_through_a_pipe(void)
{
	static char block[3 * 65536];
	const char *path = test_path("much");
	ssize_t n, got = 0;
	int pipes[2], from;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 7 >> 3);
	test_write_file(path, block, sizeof(block));
	MUST(pipe(pipes));
	from = (int)MUST(open(path, O_RDONLY));
	/* The call moves no more than the pipe has room for. */
	CHECK_EQUAL(splice(from, NULL, pipes[1], NULL, sizeof(block), 0), 65536);
	CHECK_ERROR(splice(from, NULL, pipes[1], NULL, 1, SPLICE_F_NONBLOCK), EAGAIN);
	while (got < (ssize_t)sizeof(block)) {
		static char part[65536];

		n = MUST(read(pipes[0], part, sizeof(part)));
		CHECK(memcmp(part, block + got, (size_t)n) == 0);
		got += n;
		if (got < (ssize_t)sizeof(block))
			CHECK(splice(from, NULL, pipes[1], NULL, sizeof(block), 0) > 0);
	}
}

static void memory(void)
{
	struct iovec out[2] = { { "first ", 6 }, { "second", 6 } };
	char buffer[16];
	struct iovec in = { buffer, 5 };
	int pipes[2];

	MUST(pipe(pipes));
	CHECK_EQUAL(vmsplice(pipes[1], out, 2, 0), 12);
	CHECK_EQUAL(vmsplice(pipes[0], &in, 1, 0), 5);
	CHECK(memcmp(buffer, "first", 5) == 0);
	read_is(pipes[0], " second");
	/* The part before one that cannot be read goes into the pipe. */
	out[1].iov_base = NULL;
	CHECK_EQUAL(vmsplice(pipes[1], out, 2, 0), 6);
	CHECK_ERROR(vmsplice(pipes[1], out + 1, 1, 0), EFAULT);
	read_is(pipes[0], "first ");
}

static void refusals(void)
{
	const char *path = test_path("file");
	loff_t at = 0;
	int pipes[2], sockets[2], file, appending;
	off_t from = 0;

	test_write_file(path, "text", 4);
	MUST(pipe(pipes));
	file = (int)MUST(open(path, O_RDWR));
	appending = (int)MUST(open(path, O_RDWR | O_APPEND));
	CHECK_ERROR(splice(file, NULL, file, NULL, 1, 0), EINVAL);
	CHECK_ERROR(splice(pipes[0], &at, file, NULL, 1, 0), ESPIPE);
	CHECK_ERROR(splice(file, NULL, pipes[1], &at, 1, 0), ESPIPE);
	CHECK_ERROR(splice(pipes[1], NULL, file, NULL, 1, 0), EBADF);
	CHECK_EQUAL(write(pipes[1], "x", 1), 1);
	CHECK_ERROR(splice(pipes[0], NULL, appending, NULL, 1, 0), EINVAL);
	CHECK_ERROR(tee(file, pipes[1], 1, 0), EINVAL);
	/* A place is for files that have places. A pipe has none, which is another error. */
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	CHECK_ERROR(splice(sockets[0], &at, pipes[1], NULL, 1, 0), EINVAL);
	CHECK_ERROR(splice(pipes[0], NULL, sockets[0], &at, 1, 0), EINVAL);
	CHECK_ERROR(splice(pipes[0], &at, sockets[0], NULL, 1, 0), ESPIPE);
	/* What an end of a pipe cannot do comes first. */
	CHECK_ERROR(sendfile(sockets[0], pipes[1], NULL, 1), EBADF);
	CHECK_ERROR(sendfile(pipes[0], file, NULL, 1), EBADF);
	CHECK_ERROR(sendfile(pipes[0], pipes[0], &from, 1), ESPIPE);
	CHECK_ERROR(splice(-1, NULL, pipes[1], NULL, 1, 0), EBADF);
}

static void vectors_at_a_place(void)
{
	const char *path = test_path("vector");
	char a[3] = "", b[3] = "";
	struct iovec in[2] = { { a, 2 }, { b, 2 } }, out = { "XY", 2 };
	int fd;

	test_write_file(path, "0123456789", 10);
	fd = (int)MUST(open(path, O_RDWR));
	CHECK_EQUAL(preadv2(fd, in, 2, 3, 0), 4);
	CHECK(strcmp(a, "34") == 0 && strcmp(b, "56") == 0);
	CHECK_EQUAL(lseek(fd, 0, SEEK_CUR), 0);
	/* -1 means the file's own position. */
	CHECK_EQUAL(preadv2(fd, in, 2, -1, 0), 4);
	CHECK_EQUAL(lseek(fd, 0, SEEK_CUR), 4);
	CHECK_EQUAL(pwritev2(fd, &out, 1, 8, 0), 2);
	MUST(lseek(fd, 6, SEEK_SET));
	read_is(fd, "67XY");
	CHECK_ERROR(preadv2(fd, in, 2, 0, 0x4000), EOPNOTSUPP);
	CHECK_ERROR(preadv2(fd, in, 2, -2, 0), EINVAL);
}

struct splicer {
	int from, to;
};

static int splice_four(void *argument)
{
	const struct splicer *s = argument;

	CHECK_EQUAL(splice(s->from, NULL, s->to, NULL, 4, 0), 4);
	return 0;
}

/* Two readers splice from one pipe, and both wait for room in their target: each byte goes to exactly one of them. */
static void two_readers(void)
{
	int ends[2], sockets[2][2], filled[2] = { 0, 0 };
	static char block[4096];
	struct splicer splicers[2];
	pid_t children[2];
	char got[8];

	MUST(pipe(ends));
	CHECK_EQUAL(write(ends[1], "AAAABBBB", 8), 8);
	for (int i = 0; i < 2; i++) {
		ssize_t n;

		MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[i]));
		while ((n = send(sockets[i][0], block, sizeof(block), MSG_DONTWAIT)) > 0)
			filled[i] += (int)n;
		splicers[i] = (struct splicer){ ends[0], sockets[i][0] };
		children[i] = test_child(splice_four, &splicers[i]);
	}
	usleep(30000);
	for (int i = 0; i < 2; i++)
		while (filled[i] > 0)
			filled[i] -= (int)MUST(recv(sockets[i][1], block,
						    (size_t)filled[i] < sizeof(block) ? (size_t)filled[i] :
						    sizeof(block), 0));
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(recv(sockets[i][1], got + 4 * i, 4, MSG_WAITALL), 4);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(test_wait(children[i]), 0);
	CHECK(!memcmp(got, "AAAABBBB", 8) || !memcmp(got, "BBBBAAAA", 8));
}

static const struct test_case cases[] = {
	CASE(two_readers),
	CASE(file_to_pipe_to_file), CASE(between_pipes), CASE(much_through_a_pipe), CASE(memory), CASE(refusals),
	CASE(vectors_at_a_place),
};

TEST_MAIN("splice", cases)
