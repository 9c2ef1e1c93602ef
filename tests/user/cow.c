/* Copy-on-write: after fork each side has memory of its own, in whatever way a side writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "machine.h"

#define PAGE 4096
#define PAGES 64

static char data_page[PAGE] = "data";
static char bss_page[PAGE * 2];

static unsigned char *anonymous(int flags)
{
	unsigned char *where = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(where != MAP_FAILED);
	return where;
}

static void fill(unsigned char *where, int value)
{
	for (int i = 0; i < PAGES; i++)
		memset(where + i * PAGE, value + i, PAGE);
}

static int holds(const unsigned char *where, int value)
{
	const unsigned int *words = (const void *)where;

	for (unsigned int i = 0; i < PAGES * PAGE / sizeof(*words); i++)
		if (words[i] != 0x01010101u * (unsigned char)(value + (int)(i * sizeof(*words) / PAGE)))
			return 0;
	return 1;
}

static int child_writes(void *where)
{
	CHECK(holds(where, 1));
	fill(where, 2);
	CHECK(holds(where, 2));
	return 0;
}

static void child_write_stays_with_child(void)
{
	unsigned char *where = anonymous(MAP_PRIVATE);

	fill(where, 1);
	CHECK_EQUAL(test_in_child(child_writes, where), 0);
	CHECK(holds(where, 1));
}

/* For each pair of neighbouring pages, one instruction that accesses both. */
static int child_goes_across_pages(void *where)
{
	unsigned char *bytes = where;

	for (int i = 1; i < PAGES; i++) {
		unsigned char *across = bytes + i * PAGE - 2;

		CHECK_EQUAL(machine_load(across), MACHINE_BYTES(i, i, i + 1, i + 1));
		machine_store(across, MACHINE_BYTES('a', 'b', 'c', 'd'));
		CHECK(memcmp(across, "abcd", 4) == 0);
		across[0] = across[1] = (unsigned char)i;
		across[2] = across[3] = (unsigned char)(i + 1);
	}
	CHECK(holds(where, 1));
	return 0;
}

static void writes_across_pages(void)
{
	unsigned char *where = anonymous(MAP_PRIVATE);

	fill(where, 1);
	CHECK_EQUAL(test_in_child(child_goes_across_pages, where), 0);
	CHECK(holds(where, 1));
}

static void parent_write_stays_with_parent(void)
{
	unsigned char *where = anonymous(MAP_PRIVATE);
	int ends[2];
	char byte = 0;
	pid_t child;

	fill(where, 1);
	MUST(pipe(ends));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		if (read(ends[0], &byte, 1) != 1)
			_exit(2);
		_exit(holds(where, 1) ? 0 : 3);
	}
	fill(where, 5);
	CHECK_EQUAL(write(ends[1], &byte, 1), 1);
	CHECK_EQUAL(test_wait(child), 0);
	CHECK(holds(where, 5));
}

static void shared_memory_is_shared(void)
{
	unsigned char *where = anonymous(MAP_SHARED);

	fill(where, 1);
	CHECK_EQUAL(test_in_child(child_writes, where), 0);
	CHECK(holds(where, 2));
}

static int grandchildren(void *where)
{
	fill(where, 10);
	CHECK_EQUAL(test_in_child(child_writes, where) == 99 ? 0 : 1, 0);
	CHECK(holds(where, 10));
	return 0;
}

/* The innermost child expects 1, finds 10, prints this and fails: silence its output. */
static int quiet_grandchildren(void *where)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(null, 1);
	return grandchildren(where);
}

static void three_generations(void)
{
	unsigned char *where = anonymous(MAP_PRIVATE);

	fill(where, 1);
	CHECK_EQUAL(test_in_child(quiet_grandchildren, where), 0);
	CHECK(holds(where, 1));
}

static int write_sections(void *argument)
{
	(void)argument;
	strcpy(data_page, "changed");
	memset(bss_page, 7, sizeof(bss_page));
	return 0;
}

static void data_and_bss(void)
{
	memset(bss_page, 3, sizeof(bss_page));
	CHECK_EQUAL(test_in_child(write_sections, NULL), 0);
	CHECK(strcmp(data_page, "data") == 0);
	CHECK_EQUAL(bss_page[0], 3);
	CHECK_EQUAL(bss_page[sizeof(bss_page) - 1], 3);
}

/* The kernel's own writes to user memory (here a read into a shared page) must copy the page too. */
static int kernel_writes(void *where)
{
	int zero = (int)MUST(open("/dev/zero", O_RDONLY));

	CHECK_EQUAL(read(zero, where, PAGES * PAGE), PAGES * PAGE);
	return 0;
}

static void kernel_write_stays_with_child(void)
{
	unsigned char *where = anonymous(MAP_PRIVATE);

	fill(where, 1);
	CHECK_EQUAL(test_in_child(kernel_writes, where), 0);
	CHECK(holds(where, 1));
}

/* A page never written reads as zero, and stays zero for the other side after one side writes to it. */
static int write_untouched(void *where)
{
	fill(where, 1);
	return 0;
}

static void untouched_pages_are_zero(void)
{
	unsigned char *where = anonymous(MAP_PRIVATE);

	CHECK_EQUAL(where[5 * PAGE], 0);
	CHECK_EQUAL(test_in_child(write_untouched, where), 0);
	for (int i = 0; i < PAGES * PAGE; i++)
		CHECK_EQUAL(where[i], 0);
}

static void many_children_at_once(void)
{
	enum { CHILDREN = 16 };
	unsigned char *where = anonymous(MAP_PRIVATE);
	pid_t children[CHILDREN];

	fill(where, 1);
	for (int i = 0; i < CHILDREN; i++) {
		children[i] = (pid_t)MUST(fork());
		if (children[i] == 0) {
			for (int round = 0; round < 4; round++) {
				fill(where, i + round);
				if (!holds(where, i + round))
					_exit(1);
			}
			_exit(0);
		}
	}
	for (int i = 0; i < CHILDREN; i++)
		CHECK_EQUAL(test_wait(children[i]), 0);
	CHECK(holds(where, 1));
}

/*
 * Processes read the same few addresses, which share one TLB set, so that each read misses, and are preempted in the
 * middle. Every one of the 32 sets is tried, among them those of the kernel's own pages.
 */
static int looks(volatile uint32_t *where, uint32_t self)
{
	enum { SETS = 32, LOOKS = 4, SET = PAGE / sizeof(uint32_t), APART = SETS * SET, ROUNDS = 1500 };

	for (uint32_t set = 0; set < SETS; set++, where += SET) {
		for (uint32_t n = 0; n < LOOKS; n++)
			where[n * APART] = self << 16 | n;
		for (int round = 0; round < ROUNDS; round++)
			for (uint32_t n = 0; n < LOOKS; n++)
				if (where[n * APART] != (self << 16 | n))
					return 1;
	}
	return 0;
}

static void same_addresses_in_time_slices(void)
{
	enum { CHILDREN = 3, BYTES = 4 * 32 * PAGE };
	void *where = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t children[CHILDREN];

	CHECK(where != MAP_FAILED);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		children[i] = (pid_t)MUST(fork());
		if (children[i] == 0)
			_exit(looks(where, i));
	}
	for (int i = 0; i < CHILDREN; i++)
		CHECK_EQUAL(test_wait(children[i]), 0);
}

static void file_mapping_private(void)
{
	const char *path = test_path("file");
	static char page[PAGE];
	char buffer[PAGE + 1];
	char *where;
	int fd;

	memset(page, 'a', PAGE);
	test_write_file(path, page, PAGE);
	fd = (int)MUST(open(path, O_RDWR));
	where = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(where != MAP_FAILED);
	CHECK_EQUAL(where[0], 'a');
	where[0] = 'b';
	CHECK_EQUAL(test_read_file(path, buffer, sizeof(buffer)), PAGE);
	CHECK_EQUAL(buffer[0], 'a');
	/* A written page of a private mapping no longer changes with the file. */
	CHECK_EQUAL(pwrite(fd, "zz", 2, 0), 2);
	CHECK_EQUAL(where[0], 'b');
	CHECK_EQUAL(where[1], 'a');
}

/* A fork of many page tables takes time for pages in use only, and a child that writes little needs little memory. */
static void big_process_forks(void)
{
	enum { BIG = 4096, STEP = 37 };
	volatile unsigned int *where = mmap(NULL, BIG * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
					    0);
	const unsigned int words = PAGE / sizeof(*where);

	CHECK(where != MAP_FAILED);
	for (unsigned int i = 0; i < BIG; i++)
		where[i * words] = i + 1;
	for (unsigned int round = 0; round < 3; round++) {
		pid_t child = (pid_t)MUST(fork());

		if (child == 0) {
			for (unsigned int i = 0; i < BIG; i += STEP)
				where[i * words] = 0;
			for (unsigned int i = 0; i < BIG; i++)
				CHECK_EQUAL(where[i * words], i % STEP ? i + 1 : 0);
			_exit(0);
		}
		/* Meanwhile the parent writes to pages that the child does not write to. */
		for (unsigned int i = 1; i < BIG; i += STEP)
			where[i * words] = i + 1;
		CHECK_EQUAL(test_wait(child), 0);
		for (unsigned int i = 0; i < BIG; i++)
			CHECK_EQUAL(where[i * words], i + 1);
	}
}

static const struct test_case cases[] = {
	CASE(child_write_stays_with_child), CASE(writes_across_pages), CASE(parent_write_stays_with_parent),
	CASE(shared_memory_is_shared), CASE(three_generations), CASE(data_and_bss), CASE(kernel_write_stays_with_child),
	CASE(untouched_pages_are_zero), CASE(many_children_at_once), CASE(same_addresses_in_time_slices),
	CASE(file_mapping_private), CASE(big_process_forks),
};

TEST_MAIN("cow", cases)
