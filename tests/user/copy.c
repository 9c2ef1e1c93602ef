/* Copies to and from programs that meet faults, by each form of policy copy, which only our kernel has. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/check.h"
#include "common/proc.h"

#define PAGE 4096u

/*
 * Copies `size` bytes to and from the program, of which the page behind `end` leaves only `whole`: exactly these must
 * arrive. The bytes in front of the target must stay.
 */
static void copy_up_to(int fd, char *end, unsigned int whole, unsigned int size, unsigned int from)
{
	char *start = end - whole;

	memset(start - 64, 0x55, whole + 64);
	CHECK_EQUAL(pread(fd, start, size, from), whole);
	for (unsigned int i = 0; i < whole; i++)
		CHECK_EQUAL((unsigned char)start[i], (from + i) % 251);
	for (unsigned int i = 1; i <= 64; i++)
		CHECK_EQUAL(start[-(int)i], 0x55);
	CHECK_EQUAL(pwrite(fd, start, size, from), whole);
}

static const char *const copy_forms[] = { "copy=lines", "copy=ahead", "copy=doubleword", "copy=doubleword6",
					  "copy=words" };
#define COPY_FORMS (sizeof(copy_forms) / sizeof(copy_forms[0]))

/* Each form of copying stops at the first byte that it cannot reach, however both sides lie to cache lines. */
static void copies_stop_at_faults(void)
{
	static unsigned char pattern[4 * PAGE];
	char *end = (char *)mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 3 * PAGE;
	int fd = (int)MUST(memfd_create("pattern", 0));

	MUST(mprotect(end, PAGE, PROT_NONE));
	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(i % 251);
	for (unsigned int form = 0; form < COPY_FORMS; form++) {
		int error = policy_set(copy_forms[form]);

		CHECK(error == 0 || error == -ENODEV);
		MUST(pwrite(fd, pattern, sizeof(pattern), 0));
		for (unsigned int whole = 120; whole < 330; whole += 7)
			for (unsigned int from = 0; from < 40; from += 13)
				copy_up_to(fd, end, whole, whole + 500, from);
		copy_up_to(fd, end, PAGE + 24, 2 * PAGE, 8);
		copy_up_to(fd, end, 24, 24, 100);
	}
	MUST(close(fd));
}

enum { COPIED = 5 };

/* Copies untouched pages, from `from` bytes behind the start of one to `to` bytes behind the start of another. */
static void copy_untouched(int fd, int other, unsigned int from, unsigned int to)
{
	unsigned int size = COPIED * PAGE - from;
	char *source = mmap(NULL, COPIED * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	char *target = mmap(NULL, (COPIED + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(source != MAP_FAILED && target != MAP_FAILED);
	CHECK_EQUAL(pwrite(other, source + from, size, 0), size);
	CHECK_EQUAL(pread(other, target + to, size, 0), size);
	for (unsigned int i = 0; i < size; i++)
		CHECK_EQUAL((unsigned char)target[to + i], (from + i) % 251);
	for (unsigned int i = 0; i < to; i++)
		CHECK_EQUAL(target[i], 0);
	MUST(munmap(source, COPIED * PAGE));
	MUST(munmap(target, (COPIED + 1) * PAGE));
}

/* Each form goes on after a fault that was served in its middle, however both sides lie to doublewords. */
static void copies_go_on_after_faults(void)
{
	static const unsigned int offsets[] = { 0, 1, 6, 8, 131 };
	static unsigned char pattern[COPIED * PAGE];
	int fd = (int)MUST(memfd_create("pattern", 0)), other = (int)MUST(memfd_create("copy", 0));

	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(i % 251);
	MUST(pwrite(fd, pattern, sizeof(pattern), 0));
	for (unsigned int form = 0; form < COPY_FORMS; form++) {
		int error = policy_set(copy_forms[form]);

		CHECK(error == 0 || error == -ENODEV);
		for (unsigned int from = 0; from < sizeof(offsets) / sizeof(offsets[0]); from++)
			for (unsigned int to = 0; to < sizeof(offsets) / sizeof(offsets[0]); to++)
				copy_untouched(fd, other, offsets[from], offsets[to]);
	}
	MUST(close(fd));
	MUST(close(other));
}

static const struct test_case cases[] = {
	CASE(copies_stop_at_faults),
	CASE(copies_go_on_after_faults),
};

TEST_MAIN("copy", cases)
