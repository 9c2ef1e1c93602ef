/* Advisory locks: record locks by process, by open file description, and flock. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

static int fd;

static void open_file(void)
{
	fd = (int)MUST(open(test_path("locked"), O_RDWR | O_CREAT, 0600));
	CHECK_EQUAL(write(fd, "0123456789", 10), 10);
}

static int lock(int command, short type, off_t start, off_t length)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length };

	return fcntl(fd, command, &l);
}

/* The lock that prevents a write lock on the range; l_type is F_UNLCK if there is none. */
static struct flock obstacle(int command, off_t start, off_t length)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = length };

	MUST(fcntl(fd, command, &l));
	return l;
}

struct question {
	short type;
	off_t start, length;
};

static int try(void *argument)
{
	const struct question *q = argument;

	return lock(F_SETLK, q->type, q->start, q->length) == -1 ? errno : 0;
}

/* Tries a lock in another process; returns 0 or its errno. */
static int elsewhere(short type, off_t start, off_t length)
{
	struct question q = { type, start, length };

	return test_in_child(try, &q);
}

static void shared_and_exclusive(void)
{
	open_file();
	MUST(lock(F_SETLK, F_RDLCK, 0, 10));
	CHECK_EQUAL(elsewhere(F_RDLCK, 0, 10), 0);
	CHECK_EQUAL(elsewhere(F_WRLCK, 5, 1), EAGAIN);
	CHECK_EQUAL(elsewhere(F_WRLCK, 10, 1), 0);
	MUST(lock(F_SETLK, F_WRLCK, 0, 10));
	CHECK_EQUAL(elsewhere(F_RDLCK, 9, 5), EAGAIN);
	MUST(lock(F_SETLK, F_UNLCK, 0, 0));
	CHECK_EQUAL(elsewhere(F_WRLCK, 0, 0), 0);
}

static int print_obstacle(void *argument)
{
	struct question *q = argument;
	struct flock l = obstacle(F_GETLK, q->start, q->length);

	if (l.l_type == F_UNLCK)
		return 100;
	return (int)(l.l_start * 10 + l.l_len);
}

static int first_obstacle(off_t start, off_t length)
{
	struct question q = { 0, start, length };

	return test_in_child(print_obstacle, &q);
}

static void splitting_and_joining(void)
{
	open_file();
	MUST(lock(F_SETLK, F_WRLCK, 0, 9));
	MUST(lock(F_SETLK, F_UNLCK, 3, 3));
	CHECK_EQUAL(first_obstacle(0, 9), 0 * 10 + 3);
	CHECK_EQUAL(first_obstacle(3, 3), 100);
	CHECK_EQUAL(first_obstacle(4, 5), 6 * 10 + 3);
	/* A process's own locks never prevent its lock. */
	CHECK_EQUAL(obstacle(F_GETLK, 0, 9).l_type, F_UNLCK);
}

/* Locks of one type that overlap or lie next to each other are one lock. */
static void joined(void)
{
	open_file();
	MUST(lock(F_SETLK, F_WRLCK, 0, 2));
	MUST(lock(F_SETLK, F_WRLCK, 4, 2));
	CHECK_EQUAL(first_obstacle(0, 9), 0 * 10 + 2);
	MUST(lock(F_SETLK, F_WRLCK, 2, 2));
	CHECK_EQUAL(first_obstacle(0, 9), 0 * 10 + 6);
	MUST(lock(F_SETLK, F_WRLCK, 5, 3));
	CHECK_EQUAL(first_obstacle(0, 9), 0 * 10 + 8);
	/* Of another type: it stays apart. */
	MUST(lock(F_SETLK, F_RDLCK, 8, 1));
	CHECK_EQUAL(first_obstacle(0, 9), 0 * 10 + 8);
	CHECK_EQUAL(first_obstacle(8, 1), 8 * 10 + 1);
	MUST(lock(F_SETLK, F_RDLCK, 3, 2));
	CHECK_EQUAL(first_obstacle(0, 9), 0 * 10 + 3);
	CHECK_EQUAL(first_obstacle(3, 6), 3 * 10 + 2);
	CHECK_EQUAL(first_obstacle(5, 4), 5 * 10 + 3);
	MUST(lock(F_SETLK, F_RDLCK, 5, 3));
	CHECK_EQUAL(first_obstacle(3, 6), 3 * 10 + 6);
	/* To the end of the file, whatever its size, and beside such a lock. */
	MUST(lock(F_SETLK, F_RDLCK, 9, 0));
	CHECK_EQUAL(first_obstacle(3, 6), 3 * 10 + 0);
	MUST(lock(F_SETLK, F_UNLCK, 0, 0));
	CHECK_EQUAL(first_obstacle(0, 0), 100);
}

static void lost_at_close(void)
{
	int other;

	open_file();
	MUST(lock(F_SETLK, F_WRLCK, 0, 0));
	CHECK_EQUAL(elsewhere(F_WRLCK, 0, 1), EAGAIN);
	other = (int)MUST(open(test_path("locked"), O_RDONLY));
	MUST(close(other));	/* closing any descriptor of the file drops the process's locks */
	CHECK_EQUAL(elsewhere(F_WRLCK, 0, 1), 0);
}

static int wait_for_lock(void *argument)
{
	const struct question *q = argument;

	return lock(F_SETLKW, q->type, q->start, q->length) == -1 ? errno : 0;
}

static void waiting(void)
{
	struct question q = { F_WRLCK, 2, 2 };
	pid_t child;

	open_file();
	MUST(lock(F_SETLK, F_WRLCK, 0, 4));
	child = test_child(wait_for_lock, &q);
	usleep(20000);
	CHECK_EQUAL(waitpid(child, NULL, WNOHANG), 0);
	MUST(lock(F_SETLK, F_UNLCK, 2, 2));
	CHECK_EQUAL(test_wait(child), 0);
}

static int cross(void *argument)
{
	(void)argument;
	if (lock(F_SETLK, F_WRLCK, 5, 1) == -1)
		return 1;
	/* Holds the lock until the parent waits for it; then either this wait or the parent's would close the
	 * circle. */
	usleep(20000);
	return lock(F_SETLKW, F_WRLCK, 0, 1) == -1 ? errno : 0;
}

static void deadlock_is_refused(void)
{
	pid_t child;
	int mine, theirs;

	open_file();
	MUST(lock(F_SETLK, F_WRLCK, 0, 1));
	child = test_child(cross, NULL);
	while (obstacle(F_GETLK, 5, 1).l_type == F_UNLCK)
		usleep(1000);
	mine = lock(F_SETLKW, F_WRLCK, 5, 1) == -1 ? errno : 0;
	if (mine)
		MUST(lock(F_SETLK, F_UNLCK, 0, 0));
	theirs = test_wait(child);
	CHECK((mine == EDEADLK && theirs == 0) || (mine == 0 && theirs == EDEADLK));
}

static void bad_requests(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = 7 };
	int reader;

	open_file();
	CHECK_ERROR(fcntl(fd, F_SETLK, &l), EINVAL);
	CHECK_ERROR(lock(F_SETLK, 9, 0, 1), EINVAL);
	CHECK_ERROR(lock(F_SETLK, F_WRLCK, -1, 1), EINVAL);
	reader = (int)MUST(open(test_path("locked"), O_RDONLY));
	fd = reader;
	CHECK_ERROR(lock(F_SETLK, F_WRLCK, 0, 1), EBADF);
}

static int flock_elsewhere(void *argument)
{
	int other = open(test_path("locked"), O_RDWR);

	return flock(other, *(int *)argument | LOCK_NB) == -1 ? errno : 0;
}

static void whole_files(void)
{
	int shared = LOCK_SH, exclusive = LOCK_EX, copy;

	open_file();
	test_path("");
	MUST(flock(fd, LOCK_SH));
	CHECK_EQUAL(test_in_child(flock_elsewhere, &shared), 0);
	CHECK_EQUAL(test_in_child(flock_elsewhere, &exclusive), EWOULDBLOCK);
	MUST(flock(fd, LOCK_EX));
	CHECK_EQUAL(test_in_child(flock_elsewhere, &shared), EWOULDBLOCK);
	/* A duplicate is the same open file: the lock is dropped when the last descriptor is closed. */
	copy = (int)MUST(dup(fd));
	MUST(close(fd));
	CHECK_EQUAL(test_in_child(flock_elsewhere, &shared), EWOULDBLOCK);
	MUST(close(copy));
	CHECK_EQUAL(test_in_child(flock_elsewhere, &exclusive), 0);
	CHECK_ERROR(flock(0x7fff, LOCK_SH), EBADF);
}

static void descriptions(void)
{
	int first, second;

	open_file();
	first = fd;
	second = (int)MUST(open(test_path("locked"), O_RDWR));
	MUST(lock(F_OFD_SETLK, F_WRLCK, 0, 5));
	fd = second;
	CHECK_ERROR(lock(F_OFD_SETLK, F_WRLCK, 4, 2), EAGAIN);
	CHECK_EQUAL(obstacle(F_OFD_GETLK, 4, 2).l_pid, -1);
	MUST(lock(F_OFD_SETLK, F_WRLCK, 5, 2));
	MUST(close(first));
	MUST(lock(F_OFD_SETLK, F_WRLCK, 0, 5));
}

static void first_in_the_way(void)
{
	int ready[2], done[2];
	struct flock l;
	pid_t child;
	char byte;

	open_file();
	MUST(pipe(ready));
	MUST(pipe(done));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		lock(F_SETLK, F_WRLCK, 8, 2);
		lock(F_SETLK, F_WRLCK, 2, 3);
		CHECK_EQUAL(write(ready[1], "x", 1), 1);
		_exit(read(done[0], &byte, 1) == 1 ? 0 : 1);
	}
	CHECK_EQUAL(read(ready[0], &byte, 1), 1);
	/* The kernel reports the lock with the lowest start, not the oldest one. */
	l = obstacle(F_GETLK, 0, 10);
	CHECK_EQUAL(l.l_start, 2);
	CHECK_EQUAL(l.l_len, 3);
	CHECK_EQUAL(l.l_pid, child);
	CHECK_EQUAL(write(done[1], "x", 1), 1);
	CHECK_EQUAL(test_wait(child), 0);
}

static atomic_int waiting_thread;

static void *wait_on_closed(void *unused)
{
	(void)unused;
	waiting_thread = (int)syscall(SYS_gettid);
	return (void *)(intptr_t)(lock(F_SETLKW, F_RDLCK, 0, 1) == -1 ? errno : 0);
}

/* Another thread closes the descriptor during the wait. */
static int close_while_waiting(void *closed)
{
	pthread_t thread;
	void *error;

	close(fd);
	fd = (int)MUST(open(test_path("locked"), O_RDWR));
	CHECK_EQUAL(pthread_create(&thread, NULL, wait_on_closed, NULL), 0);
	while (!waiting_thread)
		sched_yield();
	test_await_sleep(waiting_thread);
	close(fd);
	CHECK_EQUAL(write(*(int *)closed, "x", 1), 1);
	CHECK_EQUAL(pthread_join(thread, &error), 0);
	return (int)(intptr_t)error;
}

static void closed_while_waiting(void)
{
	int closed[2];
	pid_t child;
	char byte;

	open_file();
	MUST(pipe(closed));
	MUST(lock(F_SETLK, F_WRLCK, 0, 1));
	child = test_child(close_while_waiting, &closed[1]);
	CHECK_EQUAL(read(closed[0], &byte, 1), 1);
	MUST(lock(F_SETLK, F_UNLCK, 0, 1));
	CHECK_EQUAL(test_wait(child), EBADF);
	CHECK_EQUAL(elsewhere(F_WRLCK, 0, 1), 0);
}

/* Bit n says whether byte n is locked. Compares this model with what another process finds. */
#define BYTES 40

static int lock_table(void *unused)
{
	int locked = 0;

	(void)unused;
	for (int i = 0; i < BYTES; i++)
		locked = locked * 7 % 251 + obstacle(F_GETLK, i, 1).l_type;
	return locked % 200;
}

static void many_ranges(void)
{
	short table[BYTES];
	unsigned seed = 1;
	int expected;

	open_file();
	for (int i = 0; i < BYTES; i++)
		table[i] = F_UNLCK;
	for (int round = 0; round < 120; round++) {
		static const short types[] = { F_RDLCK, F_WRLCK, F_UNLCK };
		unsigned draw = (seed = seed * 1103515245u + 12345u) >> 8;
		int start = (int)(draw % BYTES), length = (int)(draw / 64 % 9) + 1;
		short type = types[draw / 1024 % 3];

		length = start + length > BYTES ? BYTES - start : length;
		MUST(lock(F_SETLK, type, start, length));
		for (int i = start; i < start + length; i++)
			table[i] = type;
		if (round % 8)
			continue;
		expected = 0;
		for (int i = 0; i < BYTES; i++)
			expected = expected * 7 % 251 + table[i];
		CHECK_EQUAL(test_in_child(lock_table, NULL), expected % 200);
	}
}

static const struct test_case cases[] = {
	CASE(shared_and_exclusive), CASE(splitting_and_joining), CASE(joined), CASE(lost_at_close), CASE(waiting),
	CASE(deadlock_is_refused), CASE(bad_requests), CASE(whole_files), CASE(descriptions), CASE(first_in_the_way),
	CASE(closed_while_waiting), CASE(many_ranges),
};

TEST_MAIN("lock", cases)
