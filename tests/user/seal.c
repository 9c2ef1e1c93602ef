/* Seals of files without a name. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096

static int sealable(void)
{
	int fd = (int)MUST(memfd_create("sealed", MFD_ALLOW_SEALING));

	MUST(ftruncate(fd, 2 * PAGE));
	return fd;
}

static void added(void)
{
	int fd = sealable(), plain = (int)MUST(memfd_create("plain", 0)), ends[2];

	CHECK_EQUAL(fcntl(fd, F_GET_SEALS), 0);
	MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW));
	MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	CHECK_EQUAL(fcntl(fd, F_GET_SEALS), F_SEAL_GROW | F_SEAL_SHRINK);
	CHECK_ERROR(fcntl(fd, F_ADD_SEALS, 0x4000), EINVAL);
	MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL));
	CHECK_ERROR(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
	CHECK_EQUAL(fcntl(plain, F_GET_SEALS), F_SEAL_SEAL);
	CHECK_ERROR(fcntl(plain, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
	MUST(pipe(ends));
	CHECK_ERROR(fcntl(ends[0], F_GET_SEALS), EINVAL);
}

static void sizes(void)
{
	int fd = sealable();

	MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW));
	CHECK_ERROR(ftruncate(fd, 2 * PAGE + 1), EPERM);
	CHECK_EQUAL(pwrite(fd, "xy", 2, 2 * PAGE - 1), 1);
	CHECK_ERROR(pwrite(fd, "xy", 2, 2 * PAGE), EPERM);
	CHECK_EQUAL(pwrite(fd, "xy", 2, 2 * PAGE - 2), 2);
	CHECK_ERROR(fallocate(fd, 0, 0, 3 * PAGE), EPERM);
	MUST(ftruncate(fd, PAGE));
	MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	CHECK_ERROR(ftruncate(fd, 0), EPERM);
	MUST(ftruncate(fd, PAGE));
}

static void writes(void)
{
	int fd = sealable();
	char *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *view, *own;

	CHECK(shared != MAP_FAILED);
	CHECK_ERROR(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EBUSY);
	*shared = 'x';
	MUST(munmap(shared, PAGE));
	MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	CHECK_ERROR(write(fd, "y", 1), EPERM);
	CHECK_ERROR(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE), EPERM);
	CHECK(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	CHECK_EQUAL(errno, EPERM);
	/* Reading and private mappings are still allowed. */
	view = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(view != MAP_FAILED && own != MAP_FAILED);
	CHECK_ERROR(mprotect(view, PAGE, PROT_READ | PROT_WRITE), EACCES);
	*own = 'z';
	CHECK_EQUAL(*view, 'x');
}

/* A process that already has a writable mapping may continue to write. */
static void later_writes(void)
{
	int fd = sealable();
	char *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), byte;

	CHECK(shared != MAP_FAILED);
	MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
	*shared = 'x';
	CHECK_EQUAL(read(fd, &byte, 1), 1);
	CHECK_EQUAL(byte, 'x');
	CHECK_ERROR(write(fd, "y", 1), EPERM);
	CHECK(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
}

static const struct test_case cases[] = { CASE(added), CASE(sizes), CASE(writes), CASE(later_writes) };

TEST_MAIN("seal", cases)
