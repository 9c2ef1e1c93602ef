/* Offsets, lengths and counts whose sums or differences overflow or lie outside of the object. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/attack.h"

#define PAGE 4096
#define PUNCH (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

union semun {
	int val;
};

static int small_file(size_t size)
{
	int fd = (int)MUST(open(test_path("file"), O_RDWR | O_CREAT | O_TRUNC, 0600));
	static char data[2 * PAGE];

	memset(data, 'x', sizeof(data));
	CHECK_EQUAL(write(fd, data, size), size);
	return fd;
}

/* Punching a hole after the end of a file, in its last page or beyond it, has nothing to zero. */
static void a_hole_behind_the_end(void)
{
	static const int modes[] = { PUNCH, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE };
	static const off_t offsets[] = { 1, 100, PAGE - 1, PAGE, 5 * PAGE, (off_t)1 << 40 };
	char byte;

	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
			int fd = small_file(1);

			MUST(fallocate(fd, modes[m], offsets[i], 50));
			CHECK_EQUAL(pread(fd, &byte, 1, 0), 1);
			CHECK_EQUAL(byte, 'x');
			close(fd);
		}
	}
}

/* RLIMIT_FSIZE holds for every way to make a file grow. */
static void the_limit_of_a_file(void)
{
	const struct rlimit limit = { 4 * PAGE, 4 * PAGE };
	int fd = small_file(PAGE);

	signal(SIGXFSZ, SIG_IGN);
	MUST(setrlimit(RLIMIT_FSIZE, &limit));
	CHECK_ERROR(fallocate(fd, 0, 0, 5 * PAGE), EFBIG);
	CHECK_ERROR(fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 5 * PAGE), EFBIG);
	CHECK_ERROR(fallocate(fd, 0, (off_t)1 << 40, 5 * PAGE), EFBIG);
	CHECK_ERROR(ftruncate(fd, 5 * PAGE), EFBIG);
	CHECK_ERROR(pwrite(fd, "x", 1, 4 * PAGE), EFBIG);
	MUST(fallocate(fd, 0, 0, 4 * PAGE));
	CHECK_EQUAL(lseek(fd, 0, SEEK_END), 4 * PAGE);
}

/* Lengths whose sum exceeds what one call may transfer. */
static void sums_of_lengths(void)
{
	static char buffer[64];
	struct iovec pieces[4] = { { buffer, 32 }, { buffer, 0x7fffffff }, { buffer, 0x7fffffff },
		{ buffer, 0x7fffffff } };
	struct iovec negative[2] = { { buffer, 4 }, { buffer, 0x80000000 } };
	int fd = small_file(40), ends[2];

	CHECK_EQUAL(preadv(fd, pieces, 4, 0), 40);
	CHECK_ERROR(preadv(fd, negative, 2, 0), EINVAL);
	MUST(pipe(ends));
	CHECK_EQUAL(fcntl(ends[0], F_SETPIPE_SZ, 1 << 20), 1 << 20);
	CHECK_ERROR(fcntl(ends[0], F_SETPIPE_SZ, (1 << 20) + 1), EPERM);
	CHECK_EQUAL(write(ends[1], "text", 4), 4);
	CHECK_EQUAL(fcntl(ends[0], F_SETPIPE_SZ, 4096), 4096);
	CHECK_EQUAL(read(ends[0], buffer, 64), 4);
	CHECK_EQUAL(memcmp(buffer, "text", 4), 0);
}

/* A semaphore's adjustments stay within their bounds; a call that would exceed them changes nothing. */
static void sums_of_adjustments(void)
{
	int set = (int)MUST(semget(IPC_PRIVATE, 1, 0600));
	struct sembuf down = { 0, -32767, SEM_UNDO }, up = { 0, 32767, 0 };

	MUST(semop(set, &up, 1));
	MUST(semop(set, &down, 1));
	MUST(semop(set, &up, 1));
	CHECK_ERROR(semop(set, &down, 1), ERANGE);
	CHECK_EQUAL(semctl(set, 0, GETVAL), 32767);
	MUST(semctl(set, 0, IPC_RMID));
}

static void *one_thread(void *argument)
{
	struct sembuf down = { 0, -1, SEM_UNDO };

	MUST(semop(*(int *)argument, &down, 1));
	return NULL;
}

static int threads_of_a_process(void *argument)
{
	pthread_t thread;

	CHECK_EQUAL(pthread_create(&thread, NULL, one_thread, argument), 0);
	pthread_join(thread, NULL);
	/* The thread has ended, but its adjustments apply only when the whole process ends. */
	return semctl(*(int *)argument, 0, GETVAL);
}

/* With CLONE_SYSVSEM all threads share the adjustments. */
static void adjustments_of_threads(void)
{
	int set = (int)MUST(semget(IPC_PRIVATE, 1, 0600));

	MUST(semctl(set, 0, SETVAL, (union semun){ .val = 3 }));
	CHECK_EQUAL(test_in_child(threads_of_a_process, &set), 2);
	CHECK_EQUAL(semctl(set, 0, GETVAL), 3);
	MUST(semctl(set, 0, IPC_RMID));
}

static long free_kb(void)
{
	char text[512], *at;

	test_read_file("/proc/meminfo", text, sizeof(text));
	at = strstr(text, "MemFree:");
	CHECK(at != NULL);
	return strtol(at + 8, NULL, 10);
}

/* A transfer of more than all memory fails, and leaves nothing behind in the file or in memory. */
static void more_than_memory(void)
{
	static const int modes[] = { 0, FALLOC_FL_KEEP_SIZE };

	for (int i = 0; i < 2; i++) {
		int fd = (int)MUST(open(test_path("file"), O_RDWR | O_CREAT | O_TRUNC, 0600));
		struct stat status;
		long before = free_kb();

		CHECK_EQUAL(pwrite(fd, "x", 1, 1 << 20), 1);
		CHECK_ERROR(fallocate(fd, modes[i], 0, 1 << 30), ENOSPC);
		CHECK(free_kb() > before - 256);
		MUST(fstat(fd, &status));
		CHECK_EQUAL(status.st_size, (1 << 20) + 1);
		CHECK_EQUAL(lseek(fd, 0, SEEK_DATA), 1 << 20);
		close(fd);
	}
}

static const struct test_case cases[] = {
	CASE(more_than_memory),
	CASE(a_hole_behind_the_end),
	CASE(the_limit_of_a_file),
	CASE(sums_of_lengths),
	CASE(sums_of_adjustments),
	CASE(adjustments_of_threads),
};

ATTACK_MAIN("length", cases)
