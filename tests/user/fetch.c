/* When pages are made ready for instruction fetch: policy icache.flush, which only our kernel has. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/proc.h"

#define PAGE 4096u

#define FLUSHED 8u

static int end_at_once(void *nothing)
{
	(void)nothing;
	return 0;
}

static void access_pages(volatile char *where, bool write)
{
	for (unsigned int i = 0; i < FLUSHED; i++)
		if (write)
			where[i * PAGE] = 1;
		else
			(void)where[i * PAGE];
}

/* How many pages are flushed when a page of a file is read first, and when an own page is written after a fork. */
static void count_flushes(const char *choice, unsigned long long *of_file, unsigned long long *of_own)
{
	int fd = memfd_create("pages", 0);
	volatile char *file, *own;

	MUST(fd);
	MUST(ftruncate(fd, FLUSHED * PAGE));
	file = mmap(NULL, FLUSHED * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	own = mmap(NULL, FLUSHED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(file != MAP_FAILED && own != MAP_FAILED);
	CHECK_EQUAL(policy_set(choice), 0);
	*of_file = policy_count("flushes_changed=");
	access_pages(file, false);
	*of_file = policy_count("flushes_changed=") - *of_file;
	access_pages(own, true);
	CHECK_EQUAL(test_in_child(end_at_once, NULL), 0);
	*of_own = policy_count("flushes_changed=");
	access_pages(own, true);
	*of_own = policy_count("flushes_changed=") - *of_own;
	CHECK_EQUAL(policy_set("icache.flush=mapping"), 0);
	MUST(munmap((void *)file, FLUSHED * PAGE));
	MUST(munmap((void *)own, FLUSHED * PAGE));
	MUST(close(fd));
}

/* 2.4 flushed a file's page twice, and no page that is only made writable; 2.0.4 flushed once at each fault. */
static void pages_are_flushed_as_linux_did(void)
{
	unsigned long long of_file, of_own;

	count_flushes("icache.flush=twice", &of_file, &of_own);
	CHECK(of_file >= 2 * FLUSHED && of_own < FLUSHED);
	count_flushes("icache.flush=every", &of_file, &of_own);
	CHECK(of_file >= FLUSHED && of_file < 2 * FLUSHED && of_own >= FLUSHED);
}

/*
 * A page that was mapped, but not fetched from, while the permission to fetch was withheld, is ready once another
 * choice no longer withholds it. The fetch sanitizer would report a stale line.
 */
static void pages_are_ready_after_exec(void)
{
	static const uint32_t code[] = { 0x3860002a, 0x4e800020 };      /* li 3, 42; blr */
	int error = policy_set("icache.flush=exec"), fd;
	uint32_t *page;

	CHECK(error == 0 || error == -ENODEV);
	fd = MUST(open("/tmp/code", O_RDWR | O_CREAT | O_TRUNC, 0700));
	CHECK_EQUAL(write(fd, code, sizeof(code)), sizeof(code));
	page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(page != MAP_FAILED);
	CHECK_EQUAL(*(volatile uint32_t *)page, code[0]);
	CHECK_EQUAL(policy_set("icache.flush=mapping"), 0);
	CHECK_EQUAL(((int (*)(void))page)(), 42);
	munmap(page, 4096);
	close(fd);
	unlink("/tmp/code");
}

static int read_then_run(void *page)
{
	uint32_t word = *(volatile uint32_t *)page;
	int result;

	alarm(2);       /* a fetch that is refused for ever ends by this */
	raise(SIGSTOP);
	result = ((int (*)(void))page)();
	return word ? result : 0;
}

/* One of two processes that share page tables gets the permission to fetch, after the other one has read the page. */
static void permission_to_fetch_with_shared_tables(void)
{
	static const uint32_t code[] = { 0x3860002a, 0x4e800020 };      /* li 3, 42; blr */
	int error = policy_set("icache.flush=exec"), fd, status;
	uint32_t *page;
	pid_t child;

	CHECK(error == 0 || error == -ENODEV);
	CHECK_EQUAL(policy_set("fork.tables=share"), 0);
	/* Where a 405's kernel needs few entries of the TLB, the other process keeps its own. */
	(void)policy_set("kernel.map=large");
	(void)policy_set("pin=ram");
	fd = MUST(open("/tmp/code", O_RDWR | O_CREAT | O_TRUNC, 0700));
	CHECK_EQUAL(write(fd, code, sizeof(code)), sizeof(code));
	page = mmap((void *)0x40000000, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
	CHECK(page != MAP_FAILED);
	CHECK_EQUAL(*(volatile uint32_t *)page, code[0]);
	child = test_child(read_then_run, page);
	CHECK_EQUAL(waitpid(child, &status, WUNTRACED), child);
	CHECK_EQUAL(((int (*)(void))page)(), 42);
	MUST(kill(child, SIGCONT));
	CHECK_EQUAL(test_wait(child), 42);
	CHECK_EQUAL(policy_set("pin=off"), 0);
	CHECK_EQUAL(policy_set("kernel.map=pte"), 0);
	CHECK_EQUAL(policy_set("fork.tables=copy"), 0);
	CHECK_EQUAL(policy_set("icache.flush=mapping"), 0);
	munmap(page, 4096);
	close(fd);
	unlink("/tmp/code");
}

static const struct test_case cases[] = {
	CASE(pages_are_flushed_as_linux_did),
	CASE(pages_are_ready_after_exec),
	CASE(permission_to_fetch_with_shared_tables),
};

TEST_MAIN("fetch", cases)
