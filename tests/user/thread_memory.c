/* Threads that share memory: what one maps, unmaps, protects or drops while another one uses it, on any processor. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/threads.h"

#define THREADS 8

static void *map_and_unmap(void *argument)
{
	for (int i = 0; i < 100; i++) {
		char *where = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		CHECK(where != MAP_FAILED);
		for (int at = 0; at < 65536; at += 4096) {
			CHECK_EQUAL(where[at], 0);
			where[at] = (char)(long)argument;
		}
		if (i % 8 == 0)
			sched_yield();
		MUST(munmap(where, 65536));
	}
	return NULL;
}

static void one_address_space(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		threads[i] = test_start(map_and_unmap, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		test_join(threads[i]);
}

static sigjmp_buf away;

static void leave_loop(int number)
{
	(void)number;
	siglongjmp(away, 1);
}

static void *store_for_ever(void *word)
{
	if (sigsetjmp(away, 1) == 0)
		for (;;)
			++*(volatile int *)word;
	return NULL;
}

/*
 * A page that one thread unmaps while another one stores to it: the frame and the address have other owners afterwards.
 */
static void unmapped_pages_are_forgotten(void)
{
	enum { ROUNDS = 20, INTS = 8 * 4096 / sizeof(int) };
	struct sigaction action = { .sa_handler = leave_loop }, before;

	MUST(sigaction(SIGSEGV, &action, &before));
	for (int round = 0; round < ROUNDS; round++) {
		int *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int *fresh = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pthread_t thread = test_start(store_for_ever, page);

		while (*(volatile int *)page < 10)
			sched_yield();
		if (round % 2) {
			MUST(munmap(page, 4096));
		} else {
			CHECK(mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
			for (int i = 0; i < 1000; i++)
				CHECK_EQUAL(*(volatile int *)page, 0);
		}
		for (int i = 0; i < INTS; i++)
			fresh[i] = round;
		test_join(thread);
		for (int i = 0; i < INTS; i++)
			CHECK_EQUAL(fresh[i], round);
		if (round % 2 == 0)
			MUST(munmap(page, 4096));
		MUST(munmap(fresh, 8 * 4096));
	}
	MUST(sigaction(SIGSEGV, &before, NULL));
}

/* A page that one thread protects while another one stores to it: no store comes after the call. */
static void protected_pages_keep_their_values(void)
{
	struct sigaction action = { .sa_handler = leave_loop }, before;

	MUST(sigaction(SIGSEGV, &action, &before));
	for (int round = 0; round < 20; round++) {
		int *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), value;
		pthread_t thread;

		*page = 1;
		thread = test_start(store_for_ever, page);
		while (*(volatile int *)page < 10)
			sched_yield();
		MUST(mprotect(page, 4096, round % 2 ? PROT_READ : PROT_READ | PROT_EXEC));
		value = *(volatile int *)page;
		for (int i = 0; i < 1000; i++)
			CHECK_EQUAL(*(volatile int *)page, value);
		test_join(thread);
		CHECK_EQUAL(*(volatile int *)page, value);
		MUST(munmap(page, 4096));
	}
	MUST(sigaction(SIGSEGV, &before, NULL));
}

static volatile int stop_storing;

static void *store_until_told(void *word)
{
	while (!stop_storing)
		++*(volatile int *)word;
	return NULL;
}

/* One thread forks while another one stores to a page: the child's copy keeps the value that it had at the fork. */
static void a_child_sees_no_later_stores(void)
{
	volatile int *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	*page = 1;
	stop_storing = 0;
	thread = test_start(store_until_told, (void *)page);
	while (*page < 10)
		sched_yield();
	for (int round = 0; round < 10; round++) {
		pid_t child = (pid_t)MUST(fork());
		int status, changes = 0, value;

		if (child == 0) {
			value = *page;
			for (int i = 0; i < 1000; i++)
				changes += *page != value;
			_exit(changes ? 1 : 0);
		}
		CHECK_EQUAL(waitpid(child, &status, 0), child);
		CHECK_EQUAL(status, 0);
	}
	stop_storing = 1;
	test_join(thread);
	MUST(munmap((void *)page, 4096));
}

struct watched {
	volatile int *page;
	volatile int flag;
	int old;
};

/* Once the flag is set, the page has its new value. Returns how often it had the old one. */
static void *watch_page(void *argument)
{
	struct watched *watched = argument;
	long wrong = 0;

	for (int after = 0; after < 50; after += watched->flag) {
		int flag = watched->flag, value;

		__sync_synchronize();
		value = *watched->page;
		wrong += flag && value == watched->old;
	}
	return (void *)wrong;
}

/* A page that one thread drops and writes anew while another one reads it. */
static void dropped_pages_are_seen_anew(void)
{
	for (int round = 0; round < 20; round++) {
		struct watched watched = { .old = -1 };
		pthread_t thread;

		watched.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*watched.page = watched.old;
		thread = test_start(watch_page, &watched);
		MUST(usleep(100));
		MUST(madvise((void *)watched.page, 4096, MADV_DONTNEED));
		*watched.page = round;
		__sync_synchronize();
		watched.flag = 1;
		CHECK_EQUAL((long)test_join(thread), 0);
		MUST(munmap((void *)watched.page, 4096));
	}
}

struct neighbour {
	volatile char *page;
	volatile int loaded, changed;
	char found;
};

/* Reads the page, and again once it is told of new contents. It makes no call before that, unless it waits for long. */
static void *read_twice(void *argument)
{
	struct neighbour *neighbour = argument;

	(void)*neighbour->page;
	neighbour->loaded = 1;
	for (int turns = 0; !neighbour->changed; turns++)
		if (turns > 20000)
			sched_yield();
	__sync_synchronize();
	neighbour->found = *neighbour->page;
	return NULL;
}

static int file_with(char contents, long at)
{
	int file = MUST(memfd_create("neighbours", 0));

	MUST(ftruncate(file, 16 * 4096));
	CHECK_EQUAL(pwrite(file, &contents, 1, at), 1);
	return file;
}

/* A page is unmapped and mapped anew, and the fault on another page of its file may enter it, too. */
static void pages_around_are_seen_anew(void)
{
	const unsigned long window = 16 * 4096, at = 8 * 4096;
	int before = file_with('a', at), after = file_with('b', at);
	char *room = mmap(NULL, 4 * window, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Two windows, aligned, so that they share a page table, which the second one keeps. */
	char *start_of = (char *)(((unsigned long)room + 2 * window - 1) & -(2 * window));

	start_of[window] = 1;
	for (int round = 0; round < 10; round++) {
		struct neighbour neighbour = { .page = start_of + at };
		pthread_t thread;

		MUST(munmap(start_of, window));
		CHECK(mmap(start_of + at, window - at, PROT_READ, MAP_SHARED | MAP_FIXED, before, (off_t)at) !=
		      MAP_FAILED);
		thread = test_start(read_twice, &neighbour);
		while (!neighbour.loaded)
			sched_yield();
		MUST(munmap(start_of + at, window - at));
		CHECK(mmap(start_of, window, PROT_READ, MAP_SHARED | MAP_FIXED, after, 0) != MAP_FAILED);
		CHECK_EQUAL(*(volatile char *)start_of, 0);
		CHECK_EQUAL(*neighbour.page, 'b');
		__sync_synchronize();
		neighbour.changed = 1;
		test_join(thread);
		CHECK_EQUAL(neighbour.found, 'b');
	}
	MUST(munmap(room, 4 * window));
	MUST(close(before));
	MUST(close(after));
}

static const struct test_case cases[] = {
	CASE(one_address_space), CASE(unmapped_pages_are_forgotten), CASE(protected_pages_keep_their_values),
	CASE(a_child_sees_no_later_stores), CASE(dropped_pages_are_seen_anew), CASE(pages_around_are_seen_anew),
};

TEST_MAIN("thread_memory", cases)
