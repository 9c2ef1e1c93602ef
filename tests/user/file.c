/* Regular files: reading, writing, seeking, truncation, modes, descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

static int new_file(const char **path)
{
	*path = test_path("file");
	return (int)MUST(open(*path, O_RDWR | O_CREAT | O_TRUNC, 0644));
}

static void write_and_read_back(void)
{
	static unsigned char out[100003], in[100003];
	const char *path;
	int fd = new_file(&path);

	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (unsigned char)(i * 7 + i / 256);
	for (size_t at = 0, piece = 1; at < sizeof(out); piece = piece * 3 % 7919) {
		size_t n = piece < sizeof(out) - at ? piece : sizeof(out) - at;

		CHECK_EQUAL(write(fd, out + at, n), n);
		at += n;
	}
	MUST(lseek(fd, 0, SEEK_SET));
	CHECK_EQUAL(read(fd, in, sizeof(in)), sizeof(in));
	CHECK(memcmp(in, out, sizeof(in)) == 0);
	CHECK_EQUAL(read(fd, in, 1), 0);
	MUST(close(fd));
	CHECK_ERROR(read(fd, in, 1), EBADF);
	CHECK_ERROR(close(fd), EBADF);
}

static void open_modes(void)
{
	const char *path = test_path("file");
	char byte = 'x';
	int fd;

	CHECK_ERROR(open(path, O_RDONLY), ENOENT);
	fd = (int)MUST(open(path, O_WRONLY | O_CREAT | O_EXCL, 0640));
	CHECK_ERROR(read(fd, &byte, 1), EBADF);
	CHECK_EQUAL(write(fd, "abc", 3), 3);
	MUST(close(fd));
	CHECK_ERROR(open(path, O_WRONLY | O_CREAT | O_EXCL, 0640), EEXIST);
	fd = (int)MUST(open(path, O_RDONLY));
	CHECK_ERROR(write(fd, &byte, 1), EBADF);
	CHECK_ERROR(ftruncate(fd, 0), EINVAL);
	MUST(close(fd));
	fd = (int)MUST(open(path, O_RDWR | O_APPEND));
	MUST(lseek(fd, 0, SEEK_SET));
	CHECK_EQUAL(write(fd, "def", 3), 3);
	CHECK_EQUAL(lseek(fd, 0, SEEK_CUR), 6);
	MUST(close(fd));
	fd = (int)MUST(open(path, O_RDWR | O_TRUNC));
	CHECK_EQUAL(lseek(fd, 0, SEEK_END), 0);
	CHECK_ERROR(open(path, O_RDONLY | O_DIRECTORY), ENOTDIR);
	CHECK_ERROR(open("/tmp", O_WRONLY), EISDIR);
	CHECK_ERROR(open("", O_RDONLY), ENOENT);
	CHECK_ERROR(open(test_path("file/below"), O_RDONLY), ENOTDIR);
}

static void seeking(void)
{
	const char *path;
	char buffer[8];
	int fd = new_file(&path);

	CHECK_EQUAL(write(fd, "0123456789", 10), 10);
	CHECK_EQUAL(lseek(fd, 3, SEEK_SET), 3);
	CHECK_EQUAL(lseek(fd, 2, SEEK_CUR), 5);
	CHECK_EQUAL(lseek(fd, -1, SEEK_END), 9);
	CHECK_EQUAL(read(fd, buffer, 8), 1);
	CHECK_EQUAL(buffer[0], '9');
	CHECK_ERROR(lseek(fd, -1, SEEK_SET), EINVAL);
	CHECK_ERROR(lseek(fd, 0, 77), EINVAL);
	CHECK_EQUAL(lseek64(fd, 0x100000000ll, SEEK_SET), 0x100000000ll);
	CHECK_EQUAL(read(fd, buffer, 1), 0);
	CHECK_EQUAL(pread(fd, buffer, 4, 2), 4);
	CHECK(memcmp(buffer, "2345", 4) == 0);
	CHECK_EQUAL(pwrite(fd, "ab", 2, 4), 2);
	CHECK_EQUAL(pread(fd, buffer, 4, 3), 4);
	CHECK(memcmp(buffer, "3ab6", 4) == 0);
	CHECK_EQUAL(lseek64(fd, 0, SEEK_CUR), 0x100000000ll);
	CHECK_ERROR(pread(fd, buffer, 1, -1), EINVAL);
}

static void sparse(void)
{
	const char *path;
	char page[4096];
	struct stat status;
	int fd = new_file(&path);

	CHECK_EQUAL(pwrite(fd, "end", 3, 10000000), 3);
	MUST(fstat(fd, &status));
	CHECK_EQUAL(status.st_size, 10000003);
	CHECK_EQUAL(pread(fd, page, sizeof(page), 5000000), sizeof(page));
	for (size_t i = 0; i < sizeof(page); i++)
		CHECK_EQUAL(page[i], 0);
	CHECK_EQUAL(pread(fd, page, sizeof(page), 9999999), 4);
	CHECK(memcmp(page, "\0end", 4) == 0);
}

static void truncation(void)
{
	const char *path;
	char buffer[9000];
	int fd = new_file(&path);

	memset(buffer, 'x', sizeof(buffer));
	CHECK_EQUAL(write(fd, buffer, sizeof(buffer)), sizeof(buffer));
	MUST(ftruncate(fd, 100));
	CHECK_EQUAL(lseek(fd, 0, SEEK_END), 100);
	/* Bytes that were cut off read as zero when the file grows again. */
	MUST(truncate(path, 8192));
	CHECK_EQUAL(pread(fd, buffer, sizeof(buffer), 0), 8192);
	CHECK_EQUAL(buffer[99], 'x');
	for (int i = 100; i < 8192; i++)
		CHECK_EQUAL(buffer[i], 0);
	CHECK_ERROR(ftruncate(fd, -1), EINVAL);
	CHECK_ERROR(truncate(test_path("none"), 0), ENOENT);
	CHECK_ERROR(truncate("/tmp", 0), EISDIR);
}

static void status_fields(void)
{
	const char *path;
	struct stat status, again;
	int fd = new_file(&path);

	MUST(fchmod(fd, 0604));
	CHECK_EQUAL(write(fd, "12345", 5), 5);
	MUST(fstat(fd, &status));
	CHECK(S_ISREG(status.st_mode));
	CHECK_EQUAL(status.st_mode & 07777, 0604);
	CHECK_EQUAL(status.st_size, 5);
	CHECK_EQUAL(status.st_nlink, 1);
	CHECK_EQUAL(status.st_uid, getuid());
	MUST(stat(path, &again));
	CHECK_EQUAL(status.st_ino, again.st_ino);
	CHECK_EQUAL(status.st_dev, again.st_dev);
	MUST(chmod(path, 0777));
	MUST(stat(path, &again));
	CHECK_EQUAL(again.st_mode & 07777, 0777);
	MUST(stat("/tmp", &again));
	CHECK(S_ISDIR(again.st_mode));
	MUST(stat("/dev/null", &again));
	CHECK(S_ISCHR(again.st_mode));
	CHECK_EQUAL(again.st_rdev, 0x103);
	CHECK_ERROR(stat(test_path("none"), &again), ENOENT);
	CHECK_ERROR(fstat(77, &again), EBADF);
}

static void times(void)
{
	struct timeval when[2] = { { 1000000000, 0 }, { 900000000, 0 } };
	const char *path;
	struct stat status;
	int fd = new_file(&path);

	MUST(utimes(path, when));
	MUST(fstat(fd, &status));
	CHECK_EQUAL(status.st_atime, 1000000000);
	CHECK_EQUAL(status.st_mtime, 900000000);
	CHECK_EQUAL(write(fd, "x", 1), 1);
	MUST(fstat(fd, &status));
	CHECK(status.st_mtime != 900000000);
}

static void umask_applies(void)
{
	struct stat status;
	const char *path = test_path("masked");

	umask(027);
	MUST(close((int)MUST(open(path, O_WRONLY | O_CREAT, 0666))));
	MUST(stat(path, &status));
	CHECK_EQUAL(status.st_mode & 07777, 0640);
	CHECK_EQUAL(umask(0), 027);
}

static void duplicates_share_the_position(void)
{
	const char *path;
	char buffer[4];
	int fd = new_file(&path), copy = (int)MUST(dup(fd)), other;

	CHECK_EQUAL(write(fd, "abcdef", 6), 6);
	MUST(lseek(copy, 2, SEEK_SET));
	CHECK_EQUAL(read(fd, buffer, 2), 2);
	CHECK(memcmp(buffer, "cd", 2) == 0);
	CHECK_EQUAL(dup2(fd, 30), 30);
	CHECK_EQUAL(lseek(30, 0, SEEK_CUR), 4);
	CHECK_EQUAL(dup2(fd, fd), fd);
	CHECK_ERROR(dup2(77, 30), EBADF);
	CHECK_ERROR(dup2(fd, -1), EBADF);
	CHECK_ERROR(dup3(fd, fd, 0), EINVAL);
	CHECK_EQUAL(dup3(fd, 31, O_CLOEXEC), 31);
	CHECK_EQUAL(fcntl(31, F_GETFD), FD_CLOEXEC);
	CHECK_EQUAL(fcntl(fd, F_DUPFD, 40), 40);
	other = (int)MUST(open(path, O_RDONLY));
	CHECK_EQUAL(lseek(other, 0, SEEK_CUR), 0);
	/* dup takes the lowest free descriptor. */
	MUST(close(copy));
	CHECK_EQUAL(dup(fd), copy);
}

static int read_on(void *argument)
{
	char byte;
	int fd = *(int *)argument;

	return read(fd, &byte, 1) == 1 ? byte : 0;
}

static void children_share_the_position(void)
{
	const char *path;
	int fd = new_file(&path);

	CHECK_EQUAL(write(fd, "abc", 3), 3);
	MUST(lseek(fd, 0, SEEK_SET));
	CHECK_EQUAL(test_in_child(read_on, &fd), 'a');
	CHECK_EQUAL(test_in_child(read_on, &fd), 'b');
	CHECK_EQUAL(read_on(&fd), 'c');
}

static void many_descriptors(void)
{
	const char *path;
	int fd = new_file(&path), last = fd, n = 0;

	while ((last = dup(fd)) >= 0)
		n++;
	CHECK_EQUAL(errno, EMFILE);
	CHECK(n >= 50);
	CHECK_ERROR(open("/dev/null", O_RDONLY), EMFILE);
	MUST(close(fd));
	CHECK_EQUAL(open("/dev/null", O_RDONLY), fd);
}

static void vectors(void)
{
	const char *path;
	char a[3], b[4];
	struct iovec out[3] = { { (void *)"one", 3 }, { (void *)"", 0 }, { (void *)"four", 4 } };
	struct iovec in[2] = { { a, 3 }, { b, 4 } };
	int fd = new_file(&path);

	CHECK_EQUAL(writev(fd, out, 3), 7);
	MUST(lseek(fd, 0, SEEK_SET));
	CHECK_EQUAL(readv(fd, in, 2), 7);
	CHECK(memcmp(a, "one", 3) == 0 && memcmp(b, "four", 4) == 0);
	CHECK_ERROR(syscall(SYS_writev, fd, out, -1), EINVAL);
	CHECK_ERROR(syscall(SYS_writev, fd, out, 5000), EINVAL);
}

static void devices(void)
{
	char buffer[100];
	int zero = (int)MUST(open("/dev/zero", O_RDWR)), null = (int)MUST(open("/dev/null", O_RDWR));
	int full = (int)MUST(open("/dev/full", O_RDWR)), random = (int)MUST(open("/dev/urandom", O_RDONLY));

	memset(buffer, 1, sizeof(buffer));
	CHECK_EQUAL(read(zero, buffer, sizeof(buffer)), sizeof(buffer));
	for (size_t i = 0; i < sizeof(buffer); i++)
		CHECK_EQUAL(buffer[i], 0);
	CHECK_EQUAL(read(null, buffer, 1), 0);
	CHECK_EQUAL(write(null, buffer, sizeof(buffer)), sizeof(buffer));
	CHECK_ERROR(write(full, buffer, 1), ENOSPC);
	CHECK_EQUAL(read(random, buffer, sizeof(buffer)), sizeof(buffer));
}

static void send_file(void)
{
	const char *path;
	char buffer[6] = "";
	int in = new_file(&path), out = (int)MUST(open(test_path("copy"), O_RDWR | O_CREAT, 0600));
	off_t at = 2;

	CHECK_EQUAL(write(in, "abcdefgh", 8), 8);
	CHECK_EQUAL(sendfile(out, in, &at, 5), 5);
	CHECK_EQUAL(at, 7);
	CHECK_EQUAL(pread(out, buffer, 5, 0), 5);
	CHECK(memcmp(buffer, "cdefg", 5) == 0);
}

static void file_system_status(void)
{
	struct statfs status;

	MUST(statfs("/tmp", &status));
	CHECK(status.f_bsize > 0);
	CHECK_ERROR(statfs(test_path("none"), &status), ENOENT);
	MUST(fsync((int)MUST(open("/tmp", O_RDONLY))));
	sync();
}

static void access_rights(void)
{
	const char *path;
	int fd = new_file(&path);

	MUST(fchmod(fd, 0600));
	MUST(access(path, F_OK));
	MUST(access(path, R_OK | W_OK));
	CHECK_ERROR(access(path, X_OK), EACCES);
	CHECK_ERROR(access(test_path("none"), F_OK), ENOENT);
	CHECK_ERROR(access(path, 64), EINVAL);
}

/* Copies from and to every alignment, with lengths around those of a word, a cache line and a page. */
static void copies_of_every_shape(void)
{
	static const size_t lengths[] = { 0, 1, 3, 4, 15, 16, 31, 33, 127, 128, 129, 160, 191, 192, 257, 4095, 4097 };
	static unsigned char from[4097 + 80], to[4097 + 80];
	int fd = (int)MUST(open(test_path("shapes"), O_RDWR | O_CREAT | O_TRUNC, 0600));

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 7 + i / 251 + 1);
	for (size_t source = 0; source < 34; source += 3)
		for (size_t target = 0; target < 34; target++)
			for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
				size_t length = lengths[n];

				memset(to, 0, target + length + 33);
				CHECK_EQUAL(pwrite(fd, from + source, length, 0), length);
				CHECK_EQUAL(pread(fd, to + target, length, 0), length);
				CHECK(memcmp(to + target, from + source, length) == 0);
				CHECK(target == 0 || to[target - 1] == 0);
				for (size_t i = 0; i < 33; i++)
					CHECK_EQUAL(to[target + length + i], 0);
			}
	MUST(close(fd));
	MUST(unlink(test_path("shapes")));
}

/* A transfer that reaches an unmapped page has moved exactly as many bytes as it returns. */
static void copies_end_at_a_hole(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = (int)MUST(open(test_path("hole"), O_RDWR | O_CREAT | O_TRUNC, 0600));
	static char text[400];

	CHECK(memory != MAP_FAILED);
	MUST(munmap(memory + page, page));
	memset(text, 'y', sizeof(text));
	for (size_t before = 1; before < sizeof(text); before += 37) {
		char *start = memory + page - before;
		ssize_t n;

		CHECK_EQUAL(pwrite(fd, text, sizeof(text), 0), sizeof(text));
		memset(memory, 'x', page);
		n = pread(fd, start, sizeof(text), 0);
		CHECK(n <= (ssize_t)before && (n > 0 || errno == EFAULT));
		CHECK(n < 0 || memcmp(start, text, (size_t)n) == 0);
		memset(memory, 'x', page);
		n = pwrite(fd, start, sizeof(text), 0);
		CHECK(n <= (ssize_t)before && (n > 0 || errno == EFAULT));
		CHECK_EQUAL(pread(fd, text, sizeof(text), 0), sizeof(text));
		CHECK(n < 0 || (memcmp(text, start, (size_t)n) == 0));
		memset(text, 'y', sizeof(text));
	}
	MUST(munmap(memory, page));
	MUST(close(fd));
	MUST(unlink(test_path("hole")));
}

/*
 * A write and a truncation come one after the other, at whatever moment of the write the truncation is asked for: the
 * file is empty, or holds all that was written. Provoked by a spread of delays, and certain on one processor only if a
 * delay falls into the write.
 */
#define WRITTEN (2u << 20)

static char written[WRITTEN];

static int write_once(void *fd)
{
	return pwrite(*(int *)fd, written, WRITTEN, 0) == WRITTEN ? 0 : 1;
}

static void truncated_during_a_write(void)
{
	int fd = (int)MUST(open(test_path("cut"), O_RDWR | O_CREAT | O_TRUNC, 0600));

	memset(written, 'x', sizeof(written));
	for (useconds_t delay = 1000; delay <= 32000; delay += 1000) {
		pid_t child = test_child(write_once, &fd);
		struct stat s;
		char byte = 0;

		usleep(delay);
		MUST(ftruncate(fd, 0));
		CHECK_EQUAL(test_wait(child), 0);
		MUST(fstat(fd, &s));
		CHECK(s.st_size == 0 || s.st_size == WRITTEN);
		if (s.st_size) {
			CHECK_EQUAL(pread(fd, &byte, 1, 0), 1);
			CHECK_EQUAL(byte, 'x');
		}
		MUST(ftruncate(fd, 0));
	}
	MUST(close(fd));
}

/* The source of a write lies in the hole that it fills: copying makes a page there before the written one is put in. */
static void written_from_its_own_hole(void)
{
	static const size_t rest[] = { 10, 4091, 3000 };

	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		int fd = (int)MUST(memfd_create("hole", 0));
		struct iovec parts[2] = { { (void *)"hello", 5 }, { NULL, rest[i] } };
		char *at, text[6] = "";

		MUST(ftruncate(fd, 8192));
		at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(at != MAP_FAILED);
		parts[1].iov_base = at + (i == 2 ? 4196 : 5);
		CHECK_EQUAL(pwritev(fd, parts, 2, 0), (long)(5 + rest[i]));
		CHECK_EQUAL(pread(fd, text, 5, 0), 5);
		CHECK_EQUAL(strcmp(text, "hello"), 0);
		CHECK_EQUAL(memcmp(at, "hello", 5), 0);
		MUST(munmap(at, 8192));
		MUST(close(fd));
	}
}

static const struct test_case cases[] = {
	CASE(write_and_read_back), CASE(open_modes), CASE(seeking), CASE(sparse), CASE(truncation), CASE(status_fields),
	CASE(times), CASE(umask_applies), CASE(duplicates_share_the_position), CASE(children_share_the_position),
	CASE(many_descriptors), CASE(vectors), CASE(devices), CASE(send_file), CASE(file_system_status),
	CASE(access_rights), CASE(copies_of_every_shape), CASE(copies_end_at_a_hole), CASE(truncated_during_a_write),
	CASE(written_from_its_own_hole),
};

TEST_MAIN("file", cases)
