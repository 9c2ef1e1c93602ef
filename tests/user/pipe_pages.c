/*
 * The memory of pipes and of execve's arguments. With kernel.buffers=mapped the kernel maps it for as long as it is
 * used: here it must have all its bytes, also with more pipes than the region has places for, and nothing may stay
 * mapped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096u
#define MANY 600u       /* pipes; the region has 512 places */
#define ROUNDS 40u

/* A line of /proc/mmu/kernel_buffers; 0 where there is no such file. */
static long told(const char *name)
{
	char text[256];
	const char *at;

	if (access("/proc/mmu/kernel_buffers", F_OK))
		return 0;
	test_read_file("/proc/mmu/kernel_buffers", text, sizeof(text));
	at = strstr(text, name);
	CHECK(at != NULL);
	return strtol(at + strlen(name), NULL, 10);
}

static unsigned char byte_of(unsigned int pipe, size_t at)
{
	return (unsigned char)(pipe * 7 + at * 31 + (at >> 12));
}

static void fill(int end, unsigned int pipe, size_t from, size_t n)
{
	static unsigned char block[16 * PAGE];

	for (size_t i = 0; i < n; i++)
		block[i] = byte_of(pipe, from + i);
	CHECK_EQUAL(write(end, block, n), n);
}

static void expect(int end, unsigned int pipe, size_t from, size_t n)
{
	static unsigned char block[16 * PAGE];
	size_t got = 0;

	while (got < n) {
		ssize_t part = MUST(read(end, block + got, n - got));

		CHECK(part > 0);
		got += (size_t)part;
	}
	for (size_t i = 0; i < n; i++)
		if (block[i] != byte_of(pipe, from + i))
			CHECK_EQUAL(block[i], byte_of(pipe, from + i));
}

static void many_pipes(void)
{
	static int ends[MANY][2];
	const struct rlimit files = { 2 * MANY + 64, 2 * MANY + 64 };
	long mapped = told("mapped "), places = told("places ");

	MUST(setrlimit(RLIMIT_NOFILE, &files));
	for (unsigned int i = 0; i < MANY; i++) {
		MUST(pipe(ends[i]));
		fill(ends[i][1], i, 0, 100);
	}
	for (unsigned int i = 0; i < MANY; i += 2) {
		expect(ends[i][0], i, 0, 100);
		close(ends[i][0]);
		close(ends[i][1]);
	}
	for (unsigned int i = 1; i < MANY; i += 2)
		fill(ends[i][1], i, 100, 2 * PAGE);
	for (unsigned int i = 1; i < MANY; i += 2) {
		expect(ends[i][0], i, 0, 100 + 2 * PAGE);
		close(ends[i][0]);
		close(ends[i][1]);
	}
	CHECK_EQUAL(told("mapped "), mapped);
	CHECK_EQUAL(told("places "), places);
}

static void another_size(void)
{
	long mapped = told("mapped ");
	int ends[2];

	MUST(pipe(ends));
	fill(ends[1], 1, 0, 16 * PAGE);
	expect(ends[0], 1, 0, 5 * PAGE);
	CHECK_EQUAL(fcntl(ends[1], F_SETPIPE_SZ, 64 * PAGE), 64 * PAGE);
	fill(ends[1], 1, 16 * PAGE, 16 * PAGE);
	fill(ends[1], 1, 32 * PAGE, 16 * PAGE);
	expect(ends[0], 1, 5 * PAGE, 16 * PAGE);
	expect(ends[0], 1, 21 * PAGE, 16 * PAGE);
	expect(ends[0], 1, 37 * PAGE, 10 * PAGE);
	CHECK_EQUAL(fcntl(ends[1], F_SETPIPE_SZ, 2 * PAGE), 2 * PAGE);
	fill(ends[1], 1, 48 * PAGE, PAGE);
	expect(ends[0], 1, 47 * PAGE, 2 * PAGE);
	CHECK_EQUAL(fcntl(ends[1], F_SETPIPE_SZ, PAGE), PAGE);
	fill(ends[1], 2, 0, PAGE);
	expect(ends[0], 2, 0, PAGE);
	close(ends[0]);
	close(ends[1]);
	CHECK_EQUAL(told("mapped "), mapped);
}

/* Each thread makes pipes, and uses those of its own only. */
static void *pipes_of_thread(void *argument)
{
	unsigned int number = (unsigned int)(uintptr_t)argument;
	unsigned char sent[2 * PAGE], got[2 * PAGE];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		size_t n = 1 + (round * 997 + number) % sizeof(sent);
		int ends[2];

		for (size_t i = 0; i < n; i++)
			sent[i] = byte_of(number + 4 * round, i);
		MUST(pipe(ends));
		CHECK_EQUAL(write(ends[1], sent, n), n);
		CHECK_EQUAL(read(ends[0], got, sizeof(got)), n);
		CHECK(memcmp(sent, got, n) == 0);
		close(ends[0]);
		close(ends[1]);
	}
	return NULL;
}

static void in_threads(void)
{
	long mapped = told("mapped ");
	pthread_t thread[4];

	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQUAL(pthread_create(&thread[i], NULL, pipes_of_thread, (void *)(uintptr_t)i), 0);
	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQUAL(pthread_join(thread[i], NULL), 0);
	CHECK_EQUAL(told("mapped "), mapped);
}

static int closed_while_written(void *argument)
{
	static char block[16 * PAGE];
	int *ends = argument;

	close(ends[0]);
	while (write(ends[1], block, sizeof(block)) > 0)
		;
	return 1;
}

/* The reader goes while the writer sleeps in the pipe, and the end of the writer frees the pages. */
static void reader_goes(void)
{
	long mapped = told("mapped ");
	char byte;

	for (int i = 0; i < 4; i++) {
		int ends[2];
		pid_t child;

		MUST(pipe(ends));
		child = test_child(closed_while_written, ends);
		close(ends[1]);
		CHECK_EQUAL(read(ends[0], &byte, 1), 1);
		close(ends[0]);
		CHECK_EQUAL(test_wait(child), 1000 + 13);       /* SIGPIPE */
	}
	CHECK_EQUAL(told("mapped "), mapped);
}

static int start_with(void *argument)
{
	close(STDOUT_FILENO);
	execve("/proc/self/exe", argument, environ);
	return errno;
}

/* Calls of execve that fail after they have begun to copy, and some that do not. */
static void arguments(void)
{
	static char text[3 * PAGE], self[] = "pipe_pages";
	char *plain[] = { self, text, NULL };
	char *bad[] = { self, text, (char *)16, NULL };
	long mapped = told("mapped ");

	memset(text, 'a', sizeof(text) - 1);
	for (int i = 0; i < 5; i++) {
		CHECK_EQUAL(test_in_child(start_with, plain), 2);       /* no case of that name */
		CHECK_EQUAL(test_in_child(start_with, bad), EFAULT);
	}
	CHECK_EQUAL(told("mapped "), mapped);
}

static const struct test_case cases[] = {
	CASE(many_pipes),
	CASE(another_size),
	CASE(in_threads),
	CASE(reader_goes),
	CASE(arguments),
};
TEST_MAIN("pipe_pages", cases)
