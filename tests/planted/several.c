/* Cases of stale.c for which more than one thread, and mostly more than one processor, is needed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stale.h"

/* On two processors: one thread accesses a page for ever, and the other one changes its translation. --------- */

static volatile char *shared;
static volatile long turns;
static volatile int changed;

static void on(int processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		cannot("a second processor");
}

static void *reader(void *expected)
{
	on(1);
	if (sigsetjmp(away, 0))
		return NULL;
	for (long left = 2000; left > 0; turns++) {
		if (*shared == (char)(long)expected)
			return NULL;
		left -= changed;
	}
	return expected;
}

static void *writer(void *unused)
{
	(void)unused;
	on(1);
	if (sigsetjmp(away, 0))
		return NULL;
	for (long left = 2000; left > 0; turns++) {
		*shared = 3;
		left -= changed;
	}
	return (void *)shared;
}

static pthread_t beside(void *(*loop)(void *), char expected)
{
	pthread_t thread;

	on(0);
	if (pthread_create(&thread, NULL, loop, (void *)(long)expected))
		cannot("pthread_create");
	while (turns < 100)
		;
	return thread;
}

static int joined(pthread_t thread)
{
	void *stale;

	changed = 1;
	pthread_join(thread, &stale);
	return stale != NULL;
}

int other_protect(void)
{
	pthread_t thread;

	shared = pages(1);
	thread = beside(writer, 0);
	mprotect((void *)shared, PAGE, PROT_READ);
	return joined(thread);
}

int other_unmap(void)
{
	pthread_t thread;

	shared = pages(1);
	thread = beside(reader, 2);
	munmap((void *)shared, PAGE);
	return joined(thread);
}

/* More pages than a request names one by one. */
int other_many(void)
{
	enum { COUNT = 64 };
	pthread_t thread;

	shared = pages(COUNT);
	thread = beside(reader, 2);
	munmap((void *)shared, COUNT * PAGE);
	return joined(thread);
}

int other_drop(void)
{
	pthread_t thread;

	shared = pages(1);
	thread = beside(reader, 4);
	madvise((void *)shared, PAGE, MADV_DONTNEED);
	*shared = 4;
	return joined(thread);
}

/* Copy on write by one thread: the other one must see what is stored then. */
int other_copy(void)
{
	pthread_t thread;
	pid_t child;
	int stale;

	shared = pages(1);
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	turns = 0;
	thread = beside(reader, 2);
	*shared = 2;
	stale = joined(thread);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return stale;
}

/* Reads mapped pages of many files in turn: reclaim takes them while they are in use. */
static void *read_all(void *own)
{
	volatile char *disks[16];
	unsigned long sum = 0;
	char name[16];

	for (int n = 1; n < 16; n++) {
		int file;

		snprintf(name, sizeof name, "/dev/ram%d", n);
		file = open(name, O_RDWR);
		if (file < 0)
			cannot(name);
		disks[n] = mmap(NULL, TABLE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (disks[n] == MAP_FAILED)
			cannot("mmap");
	}
	for (int round = 0; round < 2; round++)
		for (int n = 1; n < 16; n++)
			for (long at = 0; at < TABLE; at += PAGE) {
				sum += disks[n][at] + *shared;
				if (n < 4 && at % (32 * PAGE) == 0)
					disks[n][at] = 1;
			}
	return sum == 1 ? own : NULL;
}

int pressure(void)
{
	pthread_t thread;

	shared = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, disk(), 0);
	if (pthread_create(&thread, NULL, read_all, NULL))
		cannot("pthread_create");
	read_all(NULL);
	pthread_join(thread, NULL);
	return 0;
}

static volatile int begun, ready[4];

static void *taker(void *processor)
{
	volatile char *at = mapped(3000, PROT_READ | PROT_WRITE);

	on((int)(long)processor);
	ready[(long)processor] = 1;
	while (!begun)
		;
	for (long n = 0; n < 3000; n++)
		at[n * PAGE] = 5;
	return NULL;
}

static void *rounds(void *unused)
{
	volatile int other = 0; /* survives the signal */

	(void)unused;
	on(1);
	if (sigsetjmp(away, 0) == 0)
		for (long left = 2000; left > 0; turns++) {
			for (int n = 0; n < 16; n++)
				if (shared[n * PAGE] != 1)
					other = 1;
			left -= changed;
		}
	return other ? (void *)shared : NULL;
}

/* Frames that are unmapped, while other processors want frames and one still reads these. */
int frames(void)
{
	pthread_t thread, takers[2];
	int stale;

	shared = pages(1500);
	for (long n = 0; n < 2; n++)
		if (pthread_create(takers + n, NULL, taker, (void *)(n + 2)))
			cannot("pthread_create");
	thread = beside(rounds, 0);
	while (!ready[2] || !ready[3])
		;
	begun = 1;
	munmap((void *)shared, 1500 * PAGE);
	stale = joined(thread);
	for (int n = 0; n < 2; n++)
		pthread_join(takers[n], NULL);
	return stale;
}

/* The other thread's processor idles meanwhile, with the address space left as it was. */
static int ends[2];

static void *sleeper(void *expected)
{
	char byte;

	on(1);
	if (sigsetjmp(away, 0))
		return NULL;
	(void)*shared;
	turns = 100;
	if (read(ends[0], &byte, 1) != 1)
		cannot("read");
	return *shared == (char)(long)expected ? NULL : expected;
}

int idle(void)
{
	pthread_t thread;
	char byte = 0;

	if (pipe(ends))
		cannot("pipe");
	shared = pages(1);
	thread = beside(sleeper, 2);
	usleep(20000);
	madvise((void *)shared, PAGE, MADV_DONTNEED);
	*shared = 2;
	if (write(ends[1], &byte, 1) != 1)
		cannot("write");
	return joined(thread);
}
