/*
 * Threads store to pages that another thread unmaps, protects, moves and drops meanwhile. No store may reach a page
 * after the call that took it away has returned: neither the page at its new place nor a page of another process that
 * has its frame now. A case fails, too, if stores did not succeed, or were not refused, as long as it lasted.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/attack.h"

#define PAGE 4096u
#define PAGES 6u
#define SIZE (PAGES * PAGE)
#define WRITERS 3u
#define ROUNDS 40u
#define STORED 0x5709ed00u	/* and the number of the writer */
#define OWN 0x0f0f0000u		/* what the victim writes */

static char *area;
static volatile int stop;
static __thread sigjmp_buf after_fault;
static __thread volatile uint32_t *my_faults;
static volatile uint32_t stores[WRITERS], faults[WRITERS];

static void skip_store(int signal)
{
	(void)signal;
	++*my_faults;
	siglongjmp(after_fault, 1);
}

static void *write_all(void *number)
{
	uint32_t me = (uint32_t)(uintptr_t)number;
	volatile uint32_t page = 0;

	my_faults = &faults[me];
	(void)sigsetjmp(after_fault, 0);
	while (!stop) {
		page = (page + 1) % PAGES;
		*(volatile uint32_t *)(area + page * PAGE + me * sizeof(uint32_t)) = STORED | me;
		stores[me]++;
	}
	return NULL;
}

/* Maps fresh pages again and again: each must be zero, and keep what is written to it. */
static int use_fresh_pages(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		volatile uint32_t *page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		const struct timespec moment = { 0, 100000 };

		if ((void *)page == MAP_FAILED)
			return 1;
		for (uint32_t i = 0; i < SIZE / sizeof(*page); i += 64)
			for (uint32_t word = i; word < i + WRITERS; word++) {
				if (page[word])
					return 2;
				page[word] = OWN + word;
			}
		nanosleep(&moment, NULL);
		for (uint32_t i = 0; i < SIZE / sizeof(*page); i += 64)
			for (uint32_t word = i; word < i + WRITERS; word++)
				if (page[word] != OWN + word)
					return 3;
		munmap((void *)page, SIZE);
	}
	return 0;
}

static uint32_t sum(const volatile uint32_t *counts)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < WRITERS; i++)
		total += counts[i];
	return total;
}

/* Waits until the writers have done more; a case that waits in vain fails. */
static void await(const volatile uint32_t *counts)
{
	const struct timespec moment = { 0, 100000 };
	uint32_t before = sum(counts);

	for (int i = 0; i < 5000; i++) {
		if (sum(counts) != before)
			return;
		nanosleep(&moment, NULL);
	}
	CHECK(sum(counts) != before);
}

/*
 * Where processors are fewer than writers, each of these has its turn at first: all rounds may be over before the next
 * turn of a writer begins.
 */
static void await_all(void)
{
	const struct timespec moment = { 0, 1000000 };

	for (uint32_t i = 0; i < WRITERS; i++)
		for (int j = 0; j < 2000 && !stores[i]; j++)
			nanosleep(&moment, NULL);
}

static void map_area(void)
{
	CHECK(mmap(area, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == area);
}

static void forbid(char *at, size_t size)
{
	CHECK(mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
}

/* What is at `at` now must stay, however many stores are tried. */
static void stays(const char *at)
{
	static char before[SIZE];

	memcpy(before, at, SIZE);
	await(faults);
	CHECK_EQUAL(memcmp(before, at, SIZE), 0);
}

static void change(void (*once)(void))
{
	pthread_t threads[WRITERS];
	pid_t victim;

	area = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	victim = test_child(use_fresh_pages, NULL);
	CHECK(sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = skip_store, .sa_flags = SA_NODEFER }, NULL) == 0);
	for (uintptr_t i = 0; i < WRITERS; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, write_all, (void *)i), 0);
	await_all();
	for (uint32_t round = 0; round < ROUNDS; round++) {
		await(stores);
		once();
	}
	stop = 1;
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < WRITERS; i++)
		CHECK(stores[i] > 0);
	CHECK_EQUAL(waitpid(victim, NULL, WNOHANG), 0);
	MUST(kill(victim, SIGKILL));
	CHECK_EQUAL(test_wait(victim), 1000 + SIGKILL);
}

static void unmap_once(void)
{
	MUST(munmap(area, SIZE));
	await(faults);
	map_area();
}

static void unmapped(void)
{
	change(unmap_once);
}

static void protect_once(void)
{
	MUST(mprotect(area, SIZE, PROT_READ));
	stays(area);
	MUST(mprotect(area, SIZE, PROT_READ | PROT_WRITE));
}

static void protected(void)
{
	change(protect_once);
}

static void move_once(void)
{
	char *to = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(to != MAP_FAILED);
	CHECK(mremap(area, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	stays(to);
	CHECK(mremap(to, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, area) == area);
}

static void moved(void)
{
	change(move_once);
}

static void shrink_once(void)
{
	CHECK(mremap(area, SIZE, PAGE, 0) == area);
	await(faults);
	forbid(area + PAGE, SIZE - PAGE);
	MUST(munmap(area, SIZE));
	map_area();
}

static void shrunk(void)
{
	change(shrink_once);
}

static void drop_once(void)
{
	MUST(madvise(area, SIZE, MADV_DONTNEED));
	await(stores);
	forbid(area, SIZE);
	await(faults);
	map_area();
}

static void dropped(void)
{
	change(drop_once);
}

/* A child that shares the pages, copied on write, sees no later store. */
static int shared_stay(void *unused)
{
	static char before[SIZE];
	const struct timespec moment = { 0, 1000000 };

	(void)unused;
	memcpy(before, area, SIZE);
	nanosleep(&moment, NULL);
	return memcmp(before, area, SIZE) ? 1 : 0;
}

static void fork_once(void)
{
	CHECK_EQUAL(test_in_child(shared_stay, NULL), 0);
}

static void copied(void)
{
	change(fork_once);
}

static const struct test_case cases[] = {
	CASE(unmapped), CASE(protected), CASE(moved), CASE(shrunk), CASE(dropped), CASE(copied),
};

ATTACK_MAIN("remap", cases)
