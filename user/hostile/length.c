/* Offsets, lengths and counts whose sums and differences wrap, or lie where there is nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/attack.h"

#define PAGE 4096
#define PUNCH (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

static int small_file(size_t size)
{
	int fd = (int)MUST(open(test_path("file"), O_RDWR | O_CREAT | O_TRUNC, 0600));
	static char data[2 * PAGE];

	memset(data, 'x', sizeof(data));
	CHECK_EQUAL(write(fd, data, size), size);
	return fd;
}

/* Behind the end of the file, in its last page and after it, there is nothing to zero. */
static void a_hole_behind_the_end(void)
{
	static const int modes[] = { PUNCH, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE };
	static const off_t offsets[] = { 1, 100, PAGE - 1, PAGE, 5 * PAGE, (off_t)1 << 40 };
	char byte;

	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
			int fd = small_file(1);

			MUST(fallocate(fd, modes[m], offsets[i], 50));
			CHECK_EQUAL(pread(fd, &byte, 1, 0), 1);
			CHECK_EQUAL(byte, 'x');
			close(fd);
		}
	}
}

static const struct test_case cases[] = {
	CASE(a_hole_behind_the_end),
};

ATTACK_MAIN("length", cases)
