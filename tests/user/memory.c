/* brk, the stack's growth, and the memory at the edges of a program's image. */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096ul

static void brk_grows_and_shrinks(void)
{
	char *start = sbrk(0);

	CHECK(start != (void *)-1);
	CHECK(sbrk(10 * PAGE) == start);
	for (size_t i = 0; i < 10 * PAGE; i++)
		CHECK_EQUAL(start[i], 0);
	memset(start, 1, 10 * PAGE);
	CHECK(sbrk(-(intptr_t)(10 * PAGE)) == start + 10 * PAGE);
	CHECK(sbrk(0) == start);
	CHECK(sbrk(10 * PAGE) == start);
	/* Memory that was given back reads as zero when brk grows again, except for the page that stayed. */
	for (size_t i = PAGE; i < 10 * PAGE; i++)
		CHECK_EQUAL(start[i], 0);
	MUST(brk(start));
}

static void brk_refuses(void)
{
	char *start = sbrk(0);

	CHECK_ERROR(brk((void *)0xfffff000ul), ENOMEM);
	CHECK(sbrk(0) == start);
}

static unsigned int sum_of(volatile unsigned char *bytes, size_t size)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < size; i += 512)
		sum += bytes[i];
	return sum;
}

static unsigned int recurse(unsigned int depth)
{
	volatile unsigned char frame[2000];

	memset((void *)frame, (int)(depth & 0xff), sizeof(frame));
	if (depth == 0)
		return sum_of(frame, sizeof(frame));
	return recurse(depth - 1) + sum_of(frame, sizeof(frame));
}

static void stack_grows(void)
{
	unsigned int wanted = 0;

	for (unsigned int i = 0; i <= 1000; i++)
		wanted += 4 * (i & 0xff);
	CHECK_EQUAL(recurse(1000), wanted);
}

/* A stack frame of many pages: its first access is far below the old stack pointer. */
static void stack_grows_by_leaps(void)
{
	size_t size = 1000000;
	volatile unsigned char *frame = alloca(size);

	frame[0] = 1;
	frame[size - 1] = 2;
	CHECK_EQUAL(frame[0] + frame[size - 1], 3);
	CHECK_EQUAL(frame[size / 2], 0);
}

static int endless(void *argument)
{
	return (int)recurse(1000000000u) + (argument != NULL);
}

static void stack_ends_somewhere(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };

	MUST(setrlimit(RLIMIT_STACK, &limit));
	CHECK_EQUAL(test_in_child(endless, NULL), 1000 + SIGSEGV);
}

static void malloc_and_free(void)
{
	enum { BLOCKS = 200 };
	static unsigned char *blocks[BLOCKS];
	unsigned int state = 1;

	for (unsigned int round = 0; round < 2000; round++) {
		unsigned int which;

		state = state * 1664525u + 1013904223u;
		which = (state >> 10) % BLOCKS;
		if (blocks[which]) {
			CHECK_EQUAL(blocks[which][0], which);
			free(blocks[which]);
			blocks[which] = NULL;
		} else {
			size_t size = 1 + (state >> 4) % 50000;

			blocks[which] = malloc(size);
			CHECK(blocks[which] != NULL);
			memset(blocks[which], (int)which, size);
		}
	}
}

static int write_text(void *argument)
{
	(void)argument;
	*(volatile unsigned int *)(uintptr_t)&malloc_and_free = 0;
	return 0;
}

static void text_is_read_only(void)
{
	CHECK_EQUAL(test_in_child(write_text, NULL), 1000 + SIGSEGV);
}

static const char constant[] = "constant";

static int write_constant(void *argument)
{
	(void)argument;
	*(volatile char *)(uintptr_t)constant = 'x';
	return 0;
}

static void constants_are_read_only(void)
{
	CHECK_EQUAL(test_in_child(write_constant, NULL), 1000 + SIGSEGV);
}

static char zeroes[3 * PAGE + 17];

static void bss_is_zero(void)
{
	for (size_t i = 0; i < sizeof(zeroes); i++)
		CHECK_EQUAL(zeroes[i], 0);
}

static void limits(void)
{
	struct rlimit limit, again;

	MUST(getrlimit(RLIMIT_NOFILE, &limit));
	CHECK(limit.rlim_cur >= 64);
	limit.rlim_cur = 40;
	MUST(setrlimit(RLIMIT_NOFILE, &limit));
	MUST(getrlimit(RLIMIT_NOFILE, &again));
	CHECK_EQUAL(again.rlim_cur, 40);
	CHECK_ERROR(dup2(0, 40), EBADF);
	MUST(dup2(0, 39));
	CHECK_ERROR(getrlimit(1000, &limit), EINVAL);
}

#define AREAS 40000u
#define LATER 3000000   /* ns: of a read of so many areas, which takes longer on every machine */

/* A process with many areas, which waits. The others begin when all are there. */
static pid_t with_many_areas(void)
{
	int ready[2];
	char byte;
	pid_t child;

	MUST(pipe(ready));
	child = (pid_t)MUST(fork());
	if (!child) {
		char *memory = mmap(NULL, AREAS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		CHECK(memory != MAP_FAILED);
		for (size_t at = 0; at < AREAS; at += 2)
			MUST(mprotect(memory + at * PAGE, PAGE, PROT_READ));
		MUST(write(ready[1], "", 1));
		for (;;)
			pause();
	}
	CHECK_EQUAL(read(ready[0], &byte, 1), 1);
	MUST(close(ready[0]));
	MUST(close(ready[1]));
	return child;
}

/* Kills the process a little later, and gives what was its memory in the kernel to new ones. */
static void kill_and_replace(pid_t victim, int begin)
{
	char byte;

	CHECK_EQUAL(read(begin, &byte, 1), 1);
	MUST(nanosleep(&(struct timespec){ .tv_nsec = LATER }, NULL));
	MUST(kill(victim, SIGKILL));
	while (kill(victim, 0) == 0)
		MUST(nanosleep(&(struct timespec){ .tv_nsec = 1 }, NULL));
	for (int n = 0; n < 4; n++)
		if (!MUST(fork())) {
			MUST(prctl(PR_SET_NAME, "another"));
			pause();
		}
	pause();
}

/* The count of locked pages lets others run, and the process whose file is read may end meanwhile. */
static void status_of_one_that_ends(void)
{
	char path[64], text[4096], *pid;
	int begin[2], fd;
	ssize_t size;
	pid_t victim, killer;

	/* An ended child leaves nothing behind. */
	CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	victim = with_many_areas();
	MUST(pipe(begin));
	killer = (pid_t)MUST(fork());
	if (!killer)
		kill_and_replace(victim, begin[0]);
	MUST(setpgid(killer, killer));
	snprintf(path, sizeof(path), "/proc/%d/status", victim);
	fd = (int)MUST(open(path, O_RDONLY));
	/* Both wait, and whoever wakes goes before this process. */
	MUST(nanosleep(&(struct timespec){ .tv_nsec = 10 * LATER }, NULL));
	MUST(setpriority(PRIO_PROCESS, 0, 5));
	MUST(write(begin[1], "", 1));
	size = read(fd, text, sizeof(text) - 1);
	kill(victim, SIGKILL);
	MUST(kill(-killer, SIGKILL));
	if (size <= 0)
		return;
	text[size] = 0;
	CHECK(!strncmp(text, "Name:\tmemory\n", 13));
	pid = strstr(text, "\nPid:\t");
	CHECK(pid);
	CHECK_EQUAL(atoi(pid + 6), victim);
}

static const struct test_case cases[] = {
	CASE(brk_grows_and_shrinks), CASE(brk_refuses), CASE(stack_grows),
	CASE(stack_grows_by_leaps), CASE(stack_ends_somewhere), CASE(malloc_and_free), CASE(text_is_read_only),
	CASE(constants_are_read_only), CASE(bss_is_zero), CASE(limits),
	CASE(status_of_one_that_ends),
};

TEST_MAIN("memory", cases)
