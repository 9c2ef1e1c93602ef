/* Mapping and unmapping under policies, which only our kernel has: round faults, in long ranges, out of memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/proc.h"

#define PAGE 4096u
#define PAGES 300u

/* Notes of slots that were made before notes were switched off are no entries, whoever removes the pages. */
static void old_notes_are_no_entries(void)
{
	volatile char *where = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error = policy_set("hpte.slot=noted");

	CHECK(where != MAP_FAILED);
	CHECK(error == 0 || error == -ENODEV);
	for (unsigned int i = 0; i < PAGES; i++)
		where[i * PAGE] = 1;
	if (error == 0)
		CHECK_EQUAL(policy_set("hpte.slot=search"), 0);
	CHECK_EQUAL(policy_set("pte.update=batch"), 0);
	MUST(madvise((void *)where, PAGES * PAGE, MADV_DONTNEED));
	CHECK_EQUAL(policy_set("pte.update=range"), 0);
	for (unsigned int i = 0; i < PAGES; i += 2)
		CHECK_EQUAL(where[i * PAGE], 0);
	for (unsigned int i = 0; i < PAGES; i++) {
		where[i * PAGE] = 2;
		CHECK_EQUAL(where[i * PAGE], 2);
	}
	MUST(munmap((void *)where, PAGES * PAGE));
}

static int touch(void *page)
{
	return *(volatile char *)page;
}

static unsigned long long mapped_by(volatile char *page)
{
	unsigned long long before = policy_count("mapped_around=");

	(void)*page;
	return policy_count("mapped_around=") - before;
}

/* A fault maps the pages of its window that the file has in memory, in this area only, and no private page writable. */
static void faults_map_around(void)
{
	enum { WINDOW = 16, ALL = 5 * WINDOW, HOLE = 37, LAST = 70 };
	int fd = (int)MUST(memfd_create("around", 0));
	char *room = mmap(NULL, 2 * ALL * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *where = (char *)(((unsigned long)room + WINDOW * PAGE - 1) & -(unsigned long)(WINDOW * PAGE)), byte;
	unsigned long long before;

	for (char page = 0; page < LAST; page++)
		if (page != HOLE)
			MUST(pwrite(fd, &page, 1, page * PAGE));
	CHECK(mmap(where, ALL * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == where);
	CHECK_EQUAL(policy_set("fault.around=3"), -EINVAL);
	CHECK_EQUAL(policy_set("fault.around=128"), -EINVAL);
	CHECK_EQUAL(policy_set("fault.around=16"), 0);
	MUST(mprotect(where + 3 * PAGE, PAGE, PROT_NONE));
	/* The table is there from now on, and the program's own pages that the test needs. */
	for (int i = 0; i < 2; i++)
		(void)mapped_by(where + 4 * WINDOW * PAGE);
	CHECK_EQUAL(mapped_by(where + 8 * PAGE), WINDOW - 1 - 4);
	CHECK_EQUAL(mapped_by(where + 9 * PAGE), 0);
	CHECK_EQUAL(mapped_by(where + 1 * PAGE), 2);
	CHECK_EQUAL(mapped_by(where + 36 * PAGE), WINDOW - 2);
	CHECK_EQUAL(mapped_by(where + HOLE * PAGE), 0);
	/* A write maps nothing around, copies its page, and leaves the file alone. */
	before = policy_count("mapped_around=");
	where[20 * PAGE] = 1;
	CHECK_EQUAL(policy_count("mapped_around="), before);
	where[9 * PAGE] = 1;
	MUST(pread(fd, &byte, 1, 9 * PAGE));
	CHECK_EQUAL(byte, 9);
	for (int page = 0; page < LAST; page++)
		if (page != 3)
			CHECK_EQUAL(where[page * PAGE], page == 20 || page == 9 ? 1 : page == HOLE ? 0 : page);
	/* What is mapped goes with the file's end. */
	MUST(ftruncate(fd, 34 * PAGE));
	CHECK_EQUAL(where[33 * PAGE], 33);
	CHECK_EQUAL(test_in_child(touch, where + 34 * PAGE), 1000 + SIGBUS);
	CHECK_EQUAL(policy_set("fault.around=off"), 0);
	MUST(madvise(where, 2 * PAGE, MADV_DONTNEED));
	CHECK_EQUAL(mapped_by(where), 0);
	MUST(munmap(room, 2 * ALL * PAGE));
	MUST(close(fd));
}

enum { LONG = 1024 * PAGE };

static unsigned long long contexts_of_unmapping(int fd, int flags)
{
	char *where = mmap(NULL, LONG, PROT_READ, flags, fd, 0);
	unsigned long long before;

	CHECK(where != MAP_FAILED);
	CHECK_EQUAL(where[LONG / 2], 0);
	before = policy_count("ranges_cut=");
	MUST(munmap(where, LONG));
	return policy_count("ranges_cut=") - before;
}

static unsigned long long contexts_of_fork(int unused, int pages)
{
	static char *where;
	unsigned long long before;

	(void)unused;
	if (!where)
		where = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(where != MAP_FAILED);
	for (int i = 0; i < pages; i++)
		where[(size_t)i * PAGE] = 1;
	before = policy_count("contexts_renewed=");
	CHECK_EQUAL(test_in_child(touch, where), 1);
	return policy_count("contexts_renewed=") - before;
}

/* The least of some tries: whoever waits to run makes a call flush once more. */
static unsigned long long least(unsigned long long (*contexts)(int fd, int flags), int fd, int flags)
{
	unsigned long long best = contexts(fd, flags);

	for (unsigned int i = 0; i < 4 && best > 1; i++) {
		unsigned long long again = contexts(fd, flags);

		best = again < best ? again : best;
	}
	return best;
}

/*
 * Unmapping 4 MB goes in parts, but one new context, or two with unmap.flush=twice, flushes all of them. So does a fork
 * that copies 8 MB. Several processors clear the entries of each part before they flush it.
 */
static void long_ranges_are_flushed_once(void)
{
	int fd = (int)MUST(memfd_create("long", 0));

	if (sysconf(_SC_NPROCESSORS_ONLN) == 1) {
		MUST(ftruncate(fd, LONG));
		CHECK_EQUAL(policy_set("tlb.cutoff=20"), 0);
		CHECK_EQUAL(least(contexts_of_unmapping, fd, MAP_SHARED), 1);
		CHECK_EQUAL(policy_set("unmap.flush=twice"), 0);
		CHECK_EQUAL(least(contexts_of_unmapping, fd, MAP_SHARED), 2);
		CHECK_EQUAL(least(contexts_of_unmapping, fd, MAP_PRIVATE), 1);
		CHECK_EQUAL(policy_set("tlb.cutoff=off unmap.flush=once tlb.flush=lazy"), 0);
		CHECK_EQUAL(least(contexts_of_fork, fd, 2 * LONG / PAGE), 1);
		CHECK_EQUAL(policy_set("tlb.flush=search"), 0);
	}
	MUST(close(fd));
}

#define ALL_MEMORY (1u << 30)

static int use_all_memory(void *soon)
{
	char *memory = mmap(NULL, ALL_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			    0);

	nanosleep(soon, NULL);
	for (size_t at = 0; memory != MAP_FAILED && at < ALL_MEMORY; at += PAGE)
		memory[at] = 1;
	return 0;
}

/* Memory runs out while the idle task has cleared a part of a frame, which it keeps. */
static void memory_ends_while_idle_clears(void)
{
	MUST(policy_set("idle.clear=cached"));
	for (long us = 20; us < 200; us += 50) {
		struct timespec soon = { 0, us * 1000 };

		CHECK_EQUAL(test_in_child(use_all_memory, &soon), 1000 + SIGKILL);
	}
	MUST(policy_set("idle.clear=off"));
}

/* Both parts of a split area that grows down grow down. QEMU refuses the flags. */
static void split_areas_grow(void)
{
	char *stack = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);

	CHECK(stack != MAP_FAILED);
	MUST(mprotect(stack, PAGE, PROT_READ | PROT_GROWSDOWN));
	MUST(mprotect(stack + PAGE, PAGE, PROT_READ | PROT_GROWSDOWN));
	CHECK_ERROR(mprotect(stack + PAGE, PAGE, PROT_READ | PROT_GROWSUP), EINVAL);
	MUST(mprotect(stack + PAGE, PAGE, PROT_READ | PROT_WRITE));
	MUST(munmap(stack, PAGE));
	*(volatile char *)(stack + PAGE - 4) = 1;
}

static const struct test_case cases[] = {
	CASE(old_notes_are_no_entries),
	CASE(faults_map_around),
	CASE(long_ranges_are_flushed_once),
	CASE(memory_ends_while_idle_clears),
	CASE(split_areas_grow),
};

TEST_MAIN("mapping", cases)
