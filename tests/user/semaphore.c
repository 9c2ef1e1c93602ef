/* System V semaphores: values, waiting, all-or-nothing operations, undo, removal, keys. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

union semun {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

static int set;

static void make(int count)
{
	set = (int)MUST(semget(IPC_PRIVATE, count, IPC_CREAT | 0600));
}

static void drop(void)
{
	MUST(semctl(set, 0, IPC_RMID));
}

static int change(unsigned short number, short by, short flags)
{
	struct sembuf op = { number, by, flags };

	return semop(set, &op, 1);
}

static int value(int number)
{
	return (int)MUST(semctl(set, number, GETVAL));
}

static void values(void)
{
	unsigned short all[3] = { 4, 5, 6 };
	union semun arg = { .val = 9 };
	struct semid_ds ds;

	make(3);
	CHECK_EQUAL(value(0), 0);
	MUST(semctl(set, 1, SETVAL, arg));
	CHECK_EQUAL(value(1), 9);
	arg.array = all;
	MUST(semctl(set, 0, SETALL, arg));
	memset(all, 0, sizeof(all));
	MUST(semctl(set, 0, GETALL, arg));
	CHECK(all[0] == 4 && all[1] == 5 && all[2] == 6);
	CHECK_EQUAL(semctl(set, 0, GETPID), getpid());
	arg.buf = &ds;
	MUST(semctl(set, 0, IPC_STAT, arg));
	CHECK_EQUAL(ds.sem_nsems, 3);
	CHECK_EQUAL(ds.sem_perm.mode & 0777, 0600);
	arg.val = 40000;
	CHECK_ERROR(semctl(set, 0, SETVAL, arg), ERANGE);
	CHECK_ERROR(semctl(set, 3, GETVAL), EINVAL);
	CHECK_ERROR(change(3, 1, 0), EFBIG);
	drop();
	CHECK_ERROR(semctl(set, 0, GETVAL), EINVAL);
}

static void without_waiting(void)
{
	make(1);
	CHECK_ERROR(change(0, -1, IPC_NOWAIT), EAGAIN);
	MUST(change(0, 2, 0));
	CHECK_ERROR(change(0, 0, IPC_NOWAIT), EAGAIN);
	CHECK_ERROR(change(0, -3, IPC_NOWAIT), EAGAIN);
	MUST(change(0, -2, IPC_NOWAIT));
	MUST(change(0, 0, IPC_NOWAIT));
	drop();
}

static void all_or_nothing(void)
{
	struct sembuf op[3] = { { 0, -1, IPC_NOWAIT }, { 1, 1, 0 }, { 2, -1, IPC_NOWAIT } };

	make(3);
	MUST(change(0, 1, 0));
	CHECK_ERROR(semop(set, op, 3), EAGAIN);
	CHECK_EQUAL(value(0), 1);
	CHECK_EQUAL(value(1), 0);
	MUST(change(2, 1, 0));
	MUST(semop(set, op, 3));
	CHECK_EQUAL(value(0), 0);
	CHECK_EQUAL(value(1), 1);
	CHECK_EQUAL(value(2), 0);
	drop();
}

/* Two processes take turns, as LmBench's lat_sem does. */
static void turns(void)
{
	pid_t child;

	make(2);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		for (int i = 0; i < 200; i++) {
			if (change(0, -1, 0) || change(1, 1, 0))
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < 200; i++) {
		MUST(change(0, 1, 0));
		MUST(change(1, -1, 0));
		CHECK_EQUAL(value(0), 0);
	}
	CHECK_EQUAL(test_wait(child), 0);
	drop();
}

static void wait_until_waiting(int command)
{
	while (MUST(semctl(set, 0, command)) == 0)
		usleep(1000);
}

static int take_one(void *unused)
{
	(void)unused;
	return change(0, -1, 0) == -1 ? errno : 0;
}

static int wait_for_zero(void *unused)
{
	(void)unused;
	return change(0, 0, 0) == -1 ? errno : 0;
}

static void waiters_are_counted(void)
{
	pid_t child;

	make(1);
	child = test_child(take_one, NULL);
	wait_until_waiting(GETNCNT);
	CHECK_EQUAL(semctl(set, 0, GETZCNT), 0);
	MUST(change(0, 1, 0));
	CHECK_EQUAL(test_wait(child), 0);
	CHECK_EQUAL(semctl(set, 0, GETNCNT), 0);
	MUST(change(0, 1, 0));
	child = test_child(wait_for_zero, NULL);
	wait_until_waiting(GETZCNT);
	MUST(change(0, -1, 0));
	CHECK_EQUAL(test_wait(child), 0);
	drop();
}

static void removal_wakes(void)
{
	pid_t child;

	make(1);
	child = test_child(take_one, NULL);
	wait_until_waiting(GETNCNT);
	drop();
	CHECK_EQUAL(test_wait(child), EIDRM);
}

static void signal_interrupts(void)
{
	pid_t child;

	make(1);
	child = test_child(take_one, NULL);
	wait_until_waiting(GETNCNT);
	MUST(kill(child, SIGTERM));
	CHECK_EQUAL(test_wait(child), 1000 + SIGTERM);
	while (MUST(semctl(set, 0, GETNCNT)) != 0)
		usleep(1000);
	drop();
}

static int take_and_end(void *unused)
{
	(void)unused;
	return change(0, -2, SEM_UNDO) || change(0, 1, SEM_UNDO) || change(0, -1, 0) ? 1 : 0;
}

static void undo(void)
{
	make(1);
	MUST(change(0, 5, 0));
	CHECK_EQUAL(test_in_child(take_and_end, NULL), 0);
	CHECK_EQUAL(value(0), 4);	/* 5 - 2 + 1 - 1 = 3, and the undone -1 comes back */
	drop();
}

static void timeout(void)
{
	struct sembuf op = { 0, -1, 0 };
	struct timespec wait = { 0, 20000000 };

	make(1);
	CHECK_ERROR(semtimedop(set, &op, 1, &wait), EAGAIN);
	drop();
}

static void keys(void)
{
	key_t key = 0x70770000 | (getpid() & 0xffff);
	int id = (int)MUST(semget(key, 2, IPC_CREAT | IPC_EXCL | 0600));

	CHECK_ERROR(semget(key, 2, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
	CHECK_EQUAL(semget(key, 1, 0), id);
	CHECK_EQUAL(semget(key, 0, 0), id);
	CHECK_ERROR(semget(key, 3, 0), EINVAL);
	set = id;
	drop();
	CHECK_ERROR(semget(key, 2, 0), ENOENT);
	CHECK_ERROR(semget(IPC_PRIVATE, 0, 0600), EINVAL);
}

static const struct test_case cases[] = {
	CASE(values), CASE(without_waiting), CASE(all_or_nothing), CASE(turns), CASE(waiters_are_counted),
	CASE(removal_wakes), CASE(signal_interrupts), CASE(undo), CASE(timeout), CASE(keys),
};

TEST_MAIN("semaphore", cases)
