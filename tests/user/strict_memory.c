/* Promises of Linux about memory that qemu-ppc does not keep, so only our kernel can pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096ul

static sigjmp_buf back;
static volatile int got_code;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	got_code = info->si_code;
	siglongjmp(back, 1);
}

static char *map(size_t size, int protection)
{
	char *where = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(where != MAP_FAILED);
	return where;
}

static void fault_codes(void)
{
	struct sigaction action;
	volatile char *where = map(PAGE, PROT_READ);

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	MUST(sigaction(SIGSEGV, &action, NULL));
	if (sigsetjmp(back, 1) == 0)
		*where = 1;
	CHECK_EQUAL(got_code, SEGV_ACCERR);
	MUST(munmap((void *)where, PAGE));
	if (sigsetjmp(back, 1) == 0)
		*where = 1;
	CHECK_EQUAL(got_code, SEGV_MAPERR);
}

static void unmapped_ranges(void)
{
	char *where = map(2 * PAGE, PROT_READ | PROT_WRITE);

	MUST(munmap(where, 2 * PAGE));
	CHECK_ERROR(msync(where, PAGE, MS_SYNC), ENOMEM);
	CHECK(mremap(where, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
	CHECK_ERROR(mprotect(where, PAGE, PROT_READ), ENOMEM);
	CHECK_ERROR(madvise(where, PAGE, MADV_DONTNEED), ENOMEM);
}

/* MREMAP_DONTUNMAP moves the pages; the area stays, and the next access finds zeros. */
static void remap_leaves_the_area(void)
{
	char *where = map(4 * PAGE, PROT_READ | PROT_WRITE), *moved, *aimed;
	pid_t child;

	for (unsigned int i = 0; i < 4; i++)
		where[i * PAGE] = (char)('0' + i);
	CHECK(mremap(where, 4 * PAGE, 4 * PAGE, MREMAP_DONTUNMAP) == MAP_FAILED && errno == EINVAL);
	CHECK(mremap(where, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) == MAP_FAILED && errno == EINVAL);
	moved = mremap(where, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	CHECK(moved != MAP_FAILED && moved != where);
	for (unsigned int i = 0; i < 4; i++) {
		CHECK_EQUAL(moved[i * PAGE], '0' + (int)i);
		CHECK_EQUAL(where[i * PAGE], 0);
	}
	where[0] = 'a';
	CHECK_EQUAL(moved[0], '0');

	/* The same to a fixed address with another mapping, from the middle of an area. */
	aimed = map(2 * PAGE, PROT_READ | PROT_WRITE);
	aimed[PAGE] = 'b';
	CHECK(mremap(moved + PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
		     aimed) == aimed);
	CHECK_EQUAL(aimed[0], '1');
	CHECK_EQUAL(aimed[PAGE], '2');
	CHECK_EQUAL(moved[0], '0');
	CHECK_EQUAL(moved[PAGE], 0);
	CHECK_EQUAL(moved[3 * PAGE], '3');

	/* A child inherits both areas, with pages of its own. */
	moved[PAGE] = 'c';
	child = (pid_t)MUST(fork());
	if (child == 0) {
		aimed[0] = 'd';
		_exit(moved[PAGE] == 'c' && where[0] == 'a' && aimed[PAGE] == '2' ? 0 : 1);
	}
	CHECK_EQUAL(test_wait(child), 0);
	CHECK_EQUAL(aimed[0], '1');
	MUST(munmap(where, 4 * PAGE));
	CHECK_EQUAL(moved[3 * PAGE], '3');
}

static int touch_beyond_brk(void *argument)
{
	char *end = sbrk(0);

	(void)argument;
	sbrk(4 * PAGE);
	memset(end, 1, 4 * PAGE);
	MUST(brk(end));
	*(volatile char *)(end + 3 * PAGE) = 1;
	return 0;
}

static void beyond_brk_faults(void)
{
	CHECK_EQUAL(test_in_child(touch_beyond_brk, NULL), 1000 + SIGSEGV);
}

static int parent_of_vfork(void *argument)
{
	volatile int shared = 1;
	pid_t child = vfork();

	(void)argument;
	if (child == 0) {
		shared = 2;
		_exit(0);
	}
	CHECK_EQUAL(test_wait(child), 0);
	CHECK_EQUAL(shared, 2);
	return 0;
}

static void vfork_shares_memory(void)
{
	CHECK_EQUAL(test_in_child(parent_of_vfork, NULL), 0);
}

static void sleep_faults(void)
{
	char *where = map(4096, PROT_READ | PROT_WRITE);

	MUST(munmap(where, 4096));
	CHECK_ERROR(syscall(SYS_nanosleep, where, NULL), EFAULT);
}

static int reads(void *where)
{
	return *(volatile char *)where;
}

/* Areas that madvise makes empty or absent in a child, among others that it inherits. */
static int child_lacks(void *where)
{
	char *bytes = where;

	CHECK_EQUAL(bytes[0], 1);
	CHECK_EQUAL(bytes[2 * PAGE], 0);
	CHECK_EQUAL(bytes[3 * PAGE], 1);
	CHECK_EQUAL(test_in_child(reads, bytes + PAGE), 1000 + SIGSEGV);
	return 0;
}

static void kept_from_child(void)
{
	char *where = map(4 * PAGE, PROT_READ | PROT_WRITE);

	for (unsigned long i = 0; i < 4; i++)
		where[i * PAGE] = 1;
	MUST(madvise(where + PAGE, PAGE, MADV_DONTFORK));
	MUST(madvise(where + 2 * PAGE, PAGE, MADV_WIPEONFORK));
	CHECK_EQUAL(test_in_child(child_lacks, where), 0);
	for (unsigned long i = 0; i < 4; i++)
		CHECK_EQUAL(where[i * PAGE], 1);
}

/* The highest address with room for `size` bytes between the areas of /proc/self/maps, below the start of mappings. */
static uintptr_t highest_room(size_t size)
{
	static char text[65536];
	uintptr_t top = 0xb7ff0000u, best = 0, below = 4096, start, end;
	const char *line = text;

	test_read_file("/proc/self/maps", text, sizeof(text));
	for (int more = 1; more; line = strchr(line, '\n') + 1) {
		more = sscanf(line, "%lx-%lx", (unsigned long *)&start, (unsigned long *)&end) == 2;
		if (!more || start > top)
			start = top;
		if (start > below && start - below >= size)
			best = start - size;
		if (!more || end > top)
			break;
		below = end;
	}
	return best;
}

/* Makes and removes mappings of all sizes. Each new one must get the highest place with room for it. */
static void highest_place_with_room(void)
{
	enum { MOST = 150 };
	struct { char *at; size_t size; } held[MOST];
	unsigned seed = 12345, count = 0, most = 0;

	for (int i = 0; i < 500; i++) {
		unsigned draw = (seed = seed * 1103515245u + 12345u) >> 16;

		if (count < MOST && (i < 200 || draw % 2)) {
			/* Different rights keep neighbouring areas from being joined. */
			int rights = count % 2 ? PROT_READ : PROT_NONE;
			size_t size = PAGE * (1 + draw / 2 % 9);
			uintptr_t expected = highest_room(size);

			held[count].at = mmap(NULL, size, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			CHECK_EQUAL((uintptr_t)held[count].at, expected);
			held[count++].size = size;
		} else if (count) {
			unsigned at = draw / 2 % count;
			size_t part = held[at].size > PAGE && draw & 1024 ? PAGE : 0;

			MUST(munmap(held[at].at + part, held[at].size - part));
			if (part)
				held[at].size = part;
			else
				held[at] = held[--count];
		}
		most = count > most ? count : most;
	}
	CHECK(most > 100);
}

/* What a transfer says whose memory ends within it. */
static void memory_that_ends(void)
{
	struct iovec two[2] = { { NULL, 10 }, { NULL, 10 } };
	int zero = (int)MUST(open("/dev/zero", O_RDONLY)), null = (int)MUST(open("/dev/null", O_WRONLY));
	char *before_nothing = map(4 * PAGE, PROT_READ | PROT_WRITE) + 3 * PAGE;

	memset(before_nothing - 3 * PAGE, 1, 3 * PAGE);
	MUST(munmap(before_nothing, PAGE));
	CHECK_EQUAL(read(zero, before_nothing - 100, 200), 100);
	CHECK_EQUAL(read(zero, before_nothing - 5000, 9000), 5000);
	for (int i = 0; i < 5000; i++)
		CHECK_EQUAL(before_nothing[-1 - i], 0);
	two[0].iov_base = before_nothing - 10;
	two[1].iov_base = before_nothing;
	CHECK_EQUAL(readv(zero, two, 2), 10);
	CHECK_EQUAL(writev(null, two, 2), 20);
	/* Outside of what a program can have, a piece is refused before anything is moved. */
	two[1].iov_base = (void *)0xfffff000;
	CHECK_ERROR(readv(zero, two, 2), EFAULT);
	CHECK_ERROR(writev(null, two, 2), EFAULT);
	two[1].iov_len = (size_t)-1;
	CHECK_ERROR(writev(null, two, 2), EINVAL);
	MUST(close(zero));
	MUST(close(null));
}

/* MAP_SHARED_VALIDATE knows the sizes of huge pages, but no file here has any. */
static void huge_pages(void)
{
	int fd = (int)MUST(open(test_path("file"), O_RDONLY | O_CREAT, 0600));

	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED_VALIDATE | 21 << 26, fd, 0) != MAP_FAILED);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED_VALIDATE | 1 << 19, fd, 0) == MAP_FAILED && errno == EOPNOTSUPP);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_HUGETLB, fd, 0) == MAP_FAILED && errno == EINVAL);
#ifdef MAP_32BIT
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED_VALIDATE | MAP_32BIT, fd, 0) != MAP_FAILED);
#endif
}

static const struct test_case cases[] = {
	CASE(fault_codes), CASE(unmapped_ranges), CASE(remap_leaves_the_area), CASE(beyond_brk_faults),
	CASE(vfork_shares_memory), CASE(sleep_faults), CASE(kept_from_child), CASE(highest_place_with_room),
	CASE(memory_that_ends), CASE(huge_pages),
};

TEST_MAIN("strict_memory", cases)
