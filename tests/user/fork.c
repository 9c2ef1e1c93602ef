/* A change of a mapping in the child does not change the parent's mappings, and the other way round. The areas are at
 * least as large as what one page table covers, so that kernels that share page tables are tested too. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096ul
#define SPAN (4ul << 20)
#define SIZE (2 * SPAN)
/* The pages in use: at the beginning and at the end of the first page table, and in the second one. */
static const unsigned long used[] = { 0, 1, 37, SPAN / PAGE - 1, SPAN / PAGE, SPAN / PAGE + 500 };
#define USED (sizeof(used) / sizeof(used[0]))

static unsigned char *area(void)
{
	unsigned char *where = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(where != MAP_FAILED);
	for (size_t i = 0; i < USED; i++)
		where[used[i] * PAGE] = (unsigned char)(i + 1);
	return where;
}

static int intact(const unsigned char *where)
{
	for (size_t i = 0; i < USED; i++)
		if (where[used[i] * PAGE] != i + 1)
			return 0;
	return 1;
}

static int child_unmaps(void *where)
{
	CHECK(intact(where));
	MUST(munmap((char *)where + PAGE, SPAN));
	CHECK_EQUAL(*(unsigned char *)where, 1);
	CHECK_EQUAL(((unsigned char *)where)[used[5] * PAGE], 6);
	return 0;
}

static int child_discards(void *where)
{
	unsigned char *bytes = where;

	MUST(madvise(where, SIZE, MADV_DONTNEED));
	for (size_t i = 0; i < USED; i++)
		CHECK_EQUAL(bytes[used[i] * PAGE], 0);
	return 0;
}

static int child_moves(void *where)
{
	unsigned char *to = mremap(where, SIZE, SIZE + SPAN, MREMAP_MAYMOVE);

	CHECK(to != MAP_FAILED);
	CHECK(intact(to));
	to[0] = 99;
	return 0;
}

static int writes(void *where)
{
	*(volatile unsigned char *)where = 7;
	return 0;
}

static int child_protects(void *where)
{
	MUST(mprotect(where, SIZE, PROT_READ));
	CHECK(intact(where));
	signal(SIGSEGV, SIG_DFL);
	CHECK_EQUAL(test_in_child(writes, where), 1000 + SIGSEGV);
	return 0;
}

static int child_ends(void *where)
{
	CHECK(intact(where));
	return 0;
}

static int child_has_child(void *where)
{
	unsigned char *bytes = where;

	CHECK_EQUAL(test_in_child(child_unmaps, where), 0);
	CHECK(intact(where));
	bytes[used[4] * PAGE] = 200;
	CHECK_EQUAL(bytes[used[5] * PAGE], 6);
	return 0;
}

static void check(int (*child)(void *))
{
	unsigned char *where = area();

	/* A second child must find the memory as the first child left it. */
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(test_in_child(child, where), 0);
		CHECK(intact(where));
	}
	where[0] = 1;
	CHECK(intact(where));
	MUST(munmap(where, SIZE));
}

static void unmapped(void)
{
	check(child_unmaps);
}

static void discarded(void)
{
	check(child_discards);
}

static void moved(void)
{
	check(child_moves);
}

static void made_read_only(void)
{
	check(child_protects);
}

static void left(void)
{
	check(child_ends);
}

static void grandchildren(void)
{
	check(child_has_child);
}

static int pipes[2][2];

/* Waits until the parent has changed its mappings. */
static int child_waits(void *where)
{
	char token;

	CHECK_EQUAL(write(pipes[0][1], "", 1), 1);
	CHECK_EQUAL(read(pipes[1][0], &token, 1), 1);
	CHECK(intact(where));
	return 0;
}

static void parent_changes(void)
{
	unsigned char *where = area();
	pid_t child;
	char token;

	MUST(pipe(pipes[0]));
	MUST(pipe(pipes[1]));
	child = test_child(child_waits, where);
	CHECK_EQUAL(read(pipes[0][0], &token, 1), 1);
	where[used[1] * PAGE] = 50;
	where[2 * PAGE] = 51;
	MUST(munmap(where + SPAN, SPAN));
	CHECK_EQUAL(write(pipes[1][1], "", 1), 1);
	CHECK_EQUAL(test_wait(child), 0);
	CHECK_EQUAL(where[used[1] * PAGE], 50);
}

/* A file is made shorter in every address space: access beyond its end is SIGBUS for parent and child. */
static int child_truncates(void *context)
{
	MUST(ftruncate(*(int *)context, (off_t)PAGE));
	return 0;
}

static int reads(void *where)
{
	return *(volatile unsigned char *)where;
}

static void file_truncated(void)
{
	static unsigned char page[3 * PAGE];
	const char *path = test_path("file");
	int fd;
	unsigned char *where;

	memset(page, 5, sizeof(page));
	test_write_file(path, page, sizeof(page));
	fd = (int)MUST(open(path, O_RDWR));
	where = mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(where != MAP_FAILED);
	where[PAGE] = 9;
	CHECK_EQUAL(where[2 * PAGE], 5);
	CHECK_EQUAL(test_in_child(reads, where + PAGE), 9);
	CHECK_EQUAL(test_in_child(child_truncates, &fd), 0);
	CHECK_EQUAL(where[0], 5);
	CHECK_EQUAL(test_in_child(reads, where), 5);
	CHECK_EQUAL(test_in_child(reads, where + 2 * PAGE), 1000 + SIGBUS);
}

/* The kernel stores the child's number where it can: another address is no error, and the child runs. */
static void number_nowhere(void)
{
	const unsigned flags[] = { CLONE_PARENT_SETTID, CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID,
				   CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID };
	void *read_only = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *const nowhere[] = { NULL, (void *)8, read_only, (void *)-PAGE };

	CHECK(read_only != MAP_FAILED);
	for (unsigned i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++)
		for (unsigned j = 0; j < sizeof(flags) / sizeof(*flags); j++) {
			pid_t child = (pid_t)MUST(
				syscall(SYS_clone, flags[j] | SIGCHLD, 0, nowhere[i], 0, nowhere[i]));

			if (!child)
				_exit(7);
			CHECK_EQUAL(test_wait(child), 7);
		}
}

static const struct test_case cases[] = {
	CASE(unmapped), CASE(discarded), CASE(moved), CASE(made_read_only), CASE(left), CASE(grandchildren),
	CASE(parent_changes), CASE(file_truncated), CASE(number_nowhere),
};

TEST_MAIN("fork", cases)
