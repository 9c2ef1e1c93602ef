/* brk, the stack's growth, and the memory at the edges of a program's image. */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

static const struct test_case cases[] = {
	CASE(brk_grows_and_shrinks), CASE(brk_refuses), CASE(stack_grows),
	CASE(stack_grows_by_leaps), CASE(stack_ends_somewhere), CASE(malloc_and_free), CASE(text_is_read_only),
	CASE(constants_are_read_only), CASE(bss_is_zero), CASE(limits),
};

TEST_MAIN("memory", cases)
