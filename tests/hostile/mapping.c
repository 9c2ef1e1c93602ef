/* Mappings that are moved, grown or placed over others, and calls that fail half-way. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/attack.h"

#define PAGE 4096u

static char *map(size_t size, int flags)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

#define CHECK_NO_MAP(call, number) CHECK((call) == MAP_FAILED && errno == (number))

/* The second mapping would overlap the beginning of the first one. */
static void a_second_mapping_over_the_first(void)
{
	char *at = map(4 * PAGE, MAP_SHARED), *next = map(4 * PAGE, MAP_SHARED);
	unsigned char resident[4];

	at[0] = 'a';
	next[0] = 'b';
	CHECK_NO_MAP(mremap(at, 0, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at - 2 * PAGE), EINVAL);
	CHECK_EQUAL(at[0], 'a');
	CHECK_EQUAL(next[0], 'b');
	/* It may overlap the end of the first one. */
	CHECK(mremap(at, 0, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + 3 * PAGE) == at + 3 * PAGE);
	CHECK_EQUAL(at[3 * PAGE], 'a');
	/* The target is unmapped first, and the first mapping with it. */
	CHECK_NO_MAP(mremap(at, 0, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at), EFAULT);
	CHECK_ERROR(mincore(at, 4 * PAGE, &resident[0]), ENOMEM);
	CHECK_EQUAL(next[0], 'b');
}

static int no_room(void)
{
	struct rlimit limit = { 16 << 20, 16 << 20 };

	return setrlimit(RLIMIT_AS, &limit);
}

/*
 * When mmap cannot make a mapping at a fixed address, the old mapping there stays. mremap unmaps its target first, as
 * on Linux, and the mapping that it was to move stays.
 */
static void a_failing_call_leaves_what_was_there(void)
{
	char *at = map(4 * PAGE, MAP_PRIVATE), *other = map(2 * PAGE, MAP_PRIVATE);
	int directory = (int)MUST(open("/tmp", O_RDONLY | O_DIRECTORY)), zero = (int)MUST(open("/dev/null", O_RDWR));
	int write_only = (int)MUST(open(test_path("file"), O_WRONLY | O_CREAT, 0600));
	unsigned char resident[4];

	memset(at, 'a', 4 * PAGE);
	memset(other, 'o', 2 * PAGE);
	CHECK_NO_MAP(mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, directory, 0), ENODEV);
	CHECK_NO_MAP(mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, zero, 0), ENODEV);
	CHECK_NO_MAP(mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, write_only, 0), EACCES);
	MUST(no_room());
	CHECK_NO_MAP(mmap(at, 32 << 20, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0), ENOMEM);
	CHECK_NO_MAP(mremap(other, 2 * PAGE, 32 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, at - (64 << 20)), ENOMEM);
	for (unsigned int i = 0; i < 4 * PAGE; i++)
		CHECK_EQUAL(at[i], 'a');
	for (unsigned int i = 0; i < 2 * PAGE; i++)
		CHECK_EQUAL(other[i], 'o');
	/* A mapping that replaces another needs no more address space than before. */
	CHECK(mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == at);
	CHECK_EQUAL(at[0], 0);
	CHECK_EQUAL(at[PAGE], 'a');
	CHECK_NO_MAP(mremap(other, 2 * PAGE, 32 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, at), ENOMEM);
	CHECK_ERROR(mincore(at, 4 * PAGE, &resident[0]), ENOMEM);
	CHECK_EQUAL(other[PAGE], 'o');
}

/* Moves of every size and direction between two places, compared with a plain copy. */
static void moves_of_every_shape(void)
{
	for (unsigned int from = 0; from < 4; from++) {
		for (unsigned int old = 1; old + from <= 4; old++) {
			for (unsigned int new = 1; new <= 6; new++) {
				char *at = map(4 * PAGE, MAP_PRIVATE), *to = map(8 * PAGE, MAP_PRIVATE);

				for (unsigned int i = 0; i < 4; i++)
					at[i * PAGE] = (char)('0' + i);
				for (unsigned int i = 0; i < 8; i++)
					to[i * PAGE] = (char)('a' + i);
				/* An area grows only when the call names its end. */
				if (new > old && from + old < 4 &&
				    mremap(at + from * PAGE, old * PAGE, new * PAGE, 0) != MAP_FAILED)
					CHECK(0);
				CHECK(mremap(at + from * PAGE, old * PAGE, new * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
					     to + PAGE) == to + PAGE);
				CHECK_EQUAL(to[0], 'a');
				for (unsigned int i = 0; i < new; i++)
					CHECK_EQUAL(to[(1 + i) * PAGE], i < old ? (char)('0' + from + i) : 0);
				for (unsigned int i = new + 1; i < 8; i++)
					CHECK_EQUAL(to[i * PAGE], 'a' + (int)i);
				for (unsigned int i = 0; i < 4; i++) {
					unsigned char in;

					if (i < from || i >= from + old)
						CHECK_EQUAL(at[i * PAGE], '0' + (int)i);
					else
						CHECK_ERROR(mincore(at + i * PAGE, PAGE, &in), ENOMEM);
				}
				munmap(at, 4 * PAGE);
				munmap(to, 8 * PAGE);
			}
		}
	}
}

/* Growing a locked area does not exceed RLIMIT_MEMLOCK. */
static void locked_memory_does_not_grow(void)
{
	struct rlimit limit = { 4 * PAGE, 4 * PAGE };
	char *at = map(4 * PAGE, MAP_PRIVATE);

	MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
	MUST(mlock(at, 4 * PAGE));
	CHECK_NO_MAP(mremap(at, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE), EAGAIN);
	MUST(munlockall());
	MUST(mlockall(MCL_FUTURE));
	CHECK_NO_MAP(mmap(NULL, 8 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), EAGAIN);
	CHECK(sbrk(64 * PAGE) == (void *)-1);
}

/* A mapping near the end of a very large file: page numbers have 32 bits. */
static void a_mapping_at_the_end_of_the_file(void)
{
	int fd = (int)MUST(memfd_create("far", 0));
	off_t far = ((off_t)0xffffffff - 8) * PAGE;
	char *at = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, far);

	CHECK(at != MAP_FAILED);
	CHECK_NO_MAP(mremap(at, 4 * PAGE, 32 * PAGE, MREMAP_MAYMOVE), EINVAL);
	CHECK_NO_MAP(mremap(at, 0, 32 * PAGE, MREMAP_MAYMOVE), EINVAL);
}

/* To cut a very large file takes no longer than its pages do. */
static void the_end_of_a_large_file_goes(void)
{
	int fd = (int)MUST(memfd_create("large", 0));
	const off_t size = (off_t)0xffffffff * PAGE;
	char *at;

	MUST(ftruncate(fd, size));
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, size - PAGE);
	CHECK(at != MAP_FAILED);
	*at = 1;
	MUST(ftruncate(fd, 0));
	MUST(ftruncate(fd, size));
	CHECK_EQUAL(*at, 0);
}

/* Only private memory without a file grows downwards. Below a mapping of a file or a device lie pages of something
 * else. */
static void only_stacks_grow(void)
{
	static const char *const files[] = { "/dev/pagewalk", "/dev/zero", "/proc/self/exe" };
	char *stack;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd = open(files[i], O_RDONLY);

		if (fd < 0)             /* the machine has no such device */
			continue;
		CHECK_NO_MAP(mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_GROWSDOWN, fd, 0), EINVAL);
		CHECK_NO_MAP(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_GROWSDOWN, fd, 0), EINVAL);
		close(fd);
	}
	CHECK_NO_MAP(mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_GROWSDOWN | MAP_ANONYMOUS, -1, 0), EINVAL);
	stack = map(PAGE, MAP_PRIVATE | MAP_GROWSDOWN);
	stack[-(int)PAGE] = 's';
	CHECK_EQUAL(stack[0], 0);
}

static const struct test_case cases[] = {
	CASE(a_second_mapping_over_the_first),
	CASE(a_failing_call_leaves_what_was_there),
	CASE(moves_of_every_shape),
	CASE(locked_memory_does_not_grow),
	CASE(a_mapping_at_the_end_of_the_file),
	CASE(the_end_of_a_large_file_goes),
	CASE(only_stacks_grow),
};

ATTACK_MAIN("mapping", cases)
