/* mmap, munmap, mprotect, mremap, msync, madvise. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "machine.h"

#define PAGE 4096ul

static sigjmp_buf back;
static volatile int got_signal, got_code;
static void *volatile got_address;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	got_signal = number;
	got_code = info->si_code;
	got_address = info->si_addr;
	siglongjmp(back, 1);
}

static void catch_faults(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	MUST(sigaction(SIGSEGV, &action, NULL));
	MUST(sigaction(SIGBUS, &action, NULL));
}

/* The signal that a read or write of the byte raises, or 0. */
static int faults(volatile void *where, int write)
{
	got_signal = 0;
	if (sigsetjmp(back, 1) == 0) {
		if (write)
			*(volatile char *)where = 1;
		else
			(void)*(volatile char *)where;
	}
	return got_signal;
}

static char *map(size_t size, int protection)
{
	char *where = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(where != MAP_FAILED);
	CHECK_EQUAL((uintptr_t)where % PAGE, 0);
	return where;
}

static void anonymous_is_zero(void)
{
	char *where = map(100 * PAGE, PROT_READ | PROT_WRITE);

	for (size_t i = 0; i < 100 * PAGE; i++)
		CHECK_EQUAL(where[i], 0);
	memset(where, 1, 100 * PAGE);
	MUST(munmap(where, 100 * PAGE));
	where = map(100 * PAGE, PROT_READ | PROT_WRITE);
	for (size_t i = 0; i < 100 * PAGE; i += 64)
		CHECK_EQUAL(where[i], 0);
}

static void unmapped_faults(void)
{
	char *where = map(3 * PAGE, PROT_READ | PROT_WRITE);

	catch_faults();
	memset(where, 1, 3 * PAGE);
	MUST(munmap(where + PAGE, PAGE));
	CHECK_EQUAL(faults(where, 0), 0);
	CHECK_EQUAL(faults(where + PAGE, 0), SIGSEGV);
	CHECK_EQUAL(got_code, SEGV_MAPERR);
	CHECK(got_address == where + PAGE);
	CHECK_EQUAL(faults(where + 2 * PAGE - 1, 1), SIGSEGV);
	CHECK(got_address == where + 2 * PAGE - 1);
	CHECK_EQUAL(faults(where + 2 * PAGE, 1), 0);
	/* Unmapping an unmapped range is no error. */
	MUST(munmap(where + PAGE, PAGE));
}

static void null_faults(void)
{
	catch_faults();
	CHECK_EQUAL(faults((void *)16, 0), SIGSEGV);
	CHECK_EQUAL(faults((void *)16, 1), SIGSEGV);
	CHECK(got_address == (void *)16);
}

static void protection(void)
{
	char *where = map(4 * PAGE, PROT_READ | PROT_WRITE);

	catch_faults();
	memset(where, 'x', 4 * PAGE);
	MUST(mprotect(where + PAGE, PAGE, PROT_READ));
	CHECK_EQUAL(faults(where + PAGE, 0), 0);
	CHECK_EQUAL(faults(where + PAGE, 1), SIGSEGV);
	CHECK_EQUAL(faults(where, 1), 0);
	CHECK_EQUAL(faults(where + 2 * PAGE, 1), 0);
	MUST(mprotect(where + PAGE, PAGE, PROT_NONE));
	CHECK_EQUAL(faults(where + PAGE, 0), SIGSEGV);
	MUST(mprotect(where, 4 * PAGE, PROT_READ | PROT_WRITE));
	CHECK_EQUAL(where[PAGE + 5], 'x');
	CHECK_EQUAL(faults(where + PAGE, 1), 0);
	CHECK_ERROR(mprotect(where + 1, PAGE, PROT_READ), EINVAL);
}

static void fixed_replaces(void)
{
	char *where = map(3 * PAGE, PROT_READ | PROT_WRITE);

	memset(where, 'o', 3 * PAGE);
	CHECK(mmap(where + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      where + PAGE);
	CHECK_EQUAL(where[PAGE - 1], 'o');
	CHECK_EQUAL(where[PAGE], 0);
	CHECK_EQUAL(where[2 * PAGE - 1], 0);
	CHECK_EQUAL(where[2 * PAGE], 'o');
}

static void arguments(void)
{
	int fd = (int)MUST(open(test_path("readonly"), O_RDONLY | O_CREAT, 0600));

	CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
	CHECK(mmap((void *)0x20000001, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EACCES);
	CHECK_ERROR(munmap((void *)0x1001, PAGE), EINVAL);
	CHECK_ERROR(munmap((void *)0x20000000, 0), EINVAL);
}

static void hint_is_taken(void)
{
	void *hint = (void *)0x3a000000;

	CHECK(mmap(hint, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == hint);
	CHECK(mmap(hint, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != hint);
}

static void shared_file(void)
{
	const char *path = test_path("file");
	char buffer[3 * PAGE + 1];
	char *first, *second;
	int fd = (int)MUST(open(path, O_RDWR | O_CREAT, 0600));

	MUST(ftruncate(fd, 3 * PAGE));
	first = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	second = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PAGE);
	CHECK(first != MAP_FAILED && second != MAP_FAILED);
	MUST(close(fd));
	first[PAGE] = 'm';
	CHECK_EQUAL(second[0], 'm');
	CHECK_EQUAL(test_read_file(path, buffer, sizeof(buffer)), 3 * PAGE);
	CHECK_EQUAL(buffer[PAGE], 'm');
	CHECK_EQUAL(buffer[0], 0);
	fd = (int)MUST(open(path, O_RDWR));
	CHECK_EQUAL(pwrite(fd, "w", 1, PAGE + 1), 1);
	CHECK_EQUAL(second[1], 'w');
	MUST(msync(first, 3 * PAGE, MS_SYNC));
	CHECK_ERROR(msync(first + 1, PAGE, MS_SYNC), EINVAL);
	MUST(munmap(first, 3 * PAGE));
	/* The mapping keeps the file after unlink and close. */
	MUST(unlink(path));
	MUST(close(fd));
	CHECK_EQUAL(second[1], 'w');
}

static void beyond_the_end(void)
{
	const char *path = test_path("file");
	char *where;
	int fd;

	catch_faults();
	test_write_file(path, "short", 5);
	fd = (int)MUST(open(path, O_RDWR));
	where = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(where != MAP_FAILED);
	CHECK(memcmp(where, "short\0\0", 7) == 0);
	CHECK_EQUAL(where[PAGE - 1], 0);
	CHECK_EQUAL(faults(where + PAGE, 0), SIGBUS);
	MUST(ftruncate(fd, 2 * PAGE));
	CHECK_EQUAL(faults(where + PAGE, 1), 0);
	MUST(ftruncate(fd, 5));
	CHECK_EQUAL(faults(where + PAGE, 0), SIGBUS);
	CHECK_EQUAL(faults(where, 0), 0);
}

static void remap_grows_and_moves(void)
{
	char *where = map(8 * PAGE, PROT_READ | PROT_WRITE), *moved;

	catch_faults();
	for (unsigned int i = 0; i < 8; i++)
		where[i * PAGE] = (char)('0' + i);
	/* Shrinks in place. */
	CHECK(mremap(where, 8 * PAGE, 4 * PAGE, 0) == where);
	CHECK_EQUAL(faults(where + 4 * PAGE, 0), SIGSEGV);
	/* Another mapping prevents growth in place: it must move. */
	CHECK(mmap(where + 4 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      where + 4 * PAGE);
	CHECK(mremap(where, 4 * PAGE, 16 * PAGE, 0) == MAP_FAILED && errno == ENOMEM);
	moved = mremap(where, 4 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);
	CHECK(moved != MAP_FAILED && moved != where);
	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQUAL(moved[i * PAGE], '0' + (int)i);
	CHECK_EQUAL(moved[15 * PAGE], 0);
	CHECK_EQUAL(faults(where, 0), SIGSEGV);
}

static void holes_and_neighbours(void)
{
	char *where = map(64 * PAGE, PROT_READ | PROT_WRITE);

	catch_faults();
	memset(where, 1, 64 * PAGE);
	for (unsigned int i = 0; i < 64; i += 2)
		MUST(munmap(where + i * PAGE, PAGE));
	for (unsigned int i = 0; i < 64; i++)
		CHECK_EQUAL(faults(where + i * PAGE, 1), i % 2 ? 0 : SIGSEGV);
	MUST(munmap(where, 64 * PAGE));
	for (unsigned int i = 0; i < 64; i++)
		CHECK_EQUAL(faults(where + i * PAGE, 0), SIGSEGV);
}

static void dont_need(void)
{
	char *where = map(4 * PAGE, PROT_READ | PROT_WRITE);

	memset(where, 9, 4 * PAGE);
	MUST(madvise(where + PAGE, 2 * PAGE, MADV_DONTNEED));
	CHECK_EQUAL(where[0], 9);
	CHECK_EQUAL(where[PAGE], 0);
	CHECK_EQUAL(where[2 * PAGE], 0);
	CHECK_EQUAL(where[3 * PAGE], 9);
	CHECK_ERROR(madvise(where + 1, PAGE, MADV_DONTNEED), EINVAL);
}

static void map_and_unmap_often(void)
{
	for (unsigned int i = 0; i < 500; i++) {
		size_t size = (1 + i % 37) * PAGE;
		char *where = map(size, PROT_READ | PROT_WRITE);

		CHECK_EQUAL(where[size - 1], 0);
		where[size - 1] = 1;
		where[0] = 1;
		MUST(munmap(where, size));
	}
}

static void more_than_there_is(void)
{
	CHECK(mmap(NULL, 0xf0000000ul, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
	      errno == ENOMEM);
}

static void code_can_be_written_and_run(void)
{
	char *where = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	int (*function)(void) = (int (*)(void))(uintptr_t)where;

	machine_code_returning(where, 42);
	machine_code_written(where);
	CHECK_EQUAL(function(), 42);
	machine_code_returning(where, 7);
	machine_code_written(where);
	CHECK_EQUAL(function(), 7);
}

typedef int mapped_function(void);

static mapped_function *map_function(const char *path)
{
	int fd = (int)MUST(open(path, O_RDONLY));
	void *where = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	CHECK(where != MAP_FAILED);
	MUST(close(fd));
	return (mapped_function *)(uintptr_t)where;
}

/*
 * After code was executed from a file, the instruction cache may still hold it when the file is written again. The
 * mappings are made in advance, so that few instructions run between the write and the call.
 */
static void a_file_run_is_what_was_written_last(void)
{
	unsigned char codes[2][MACHINE_CODE_SIZE];
	const char *path = test_path("code");
	int fd = (int)MUST(open(path, O_RDWR | O_CREAT | O_TRUNC, 0700));
	mapped_function *functions[6];
	unsigned char *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(shared != MAP_FAILED);
	machine_code_returning(codes[0], 42);
	machine_code_returning(codes[1], 7);
	for (int i = 0; i < 6; i++)
		functions[i] = map_function(path);
	CHECK_EQUAL(pwrite(fd, codes[0], sizeof(codes[0]), 0), sizeof(codes[0]));
	CHECK_EQUAL(functions[0](), 42);
	CHECK_EQUAL(pwrite(fd, codes[1], sizeof(codes[1]), 0), sizeof(codes[1]));
	CHECK_EQUAL(functions[1](), 7);
	memcpy(shared, codes[0], sizeof(codes[0]));
	CHECK_EQUAL(functions[2](), 42);
	MUST(munmap(shared, PAGE));
	MUST(close(fd));
	CHECK_EQUAL(functions[3](), 42);
	fd = (int)MUST(open(path, O_WRONLY));
	CHECK_EQUAL(pwrite(fd, codes[1], sizeof(codes[1]), 0), sizeof(codes[1]));
	MUST(close(fd));
	CHECK_EQUAL(functions[4](), 7);
	MUST(truncate(path, 0));
	MUST(truncate(path, sizeof(codes[0])));
	fd = (int)MUST(open(path, O_WRONLY));
	CHECK_EQUAL(pwrite(fd, codes[0], sizeof(codes[0]), 0), sizeof(codes[0]));
	CHECK_EQUAL(functions[5](), 42);
	MUST(close(fd));
	for (int i = 0; i < 6; i++)
		MUST(munmap((void *)(uintptr_t)functions[i], PAGE));
	MUST(unlink(path));
}

/* An area of a file cannot grow. */
static void growing_file(void)
{
	const char *path = test_path("file");
	int fd;

	test_write_file(path, "x", 1);
	fd = (int)MUST(open(path, O_RDWR));
	for (int type = MAP_SHARED; type <= 3 /* MAP_SHARED_VALIDATE */; type++)
		CHECK(mmap(NULL, PAGE, PROT_READ, type | MAP_GROWSDOWN, fd, 0) == MAP_FAILED && errno == EINVAL);
}

static void locked_pages_stay(void)
{
	size_t page = 4096;
	char *where = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(where != MAP_FAILED);
	MUST(mlock(where + page, page));
	MUST(msync(where, 4 * page, MS_SYNC));
	CHECK_ERROR(msync(where, 4 * page, MS_INVALIDATE), EBUSY);
	MUST(msync(where, page, MS_INVALIDATE));
	MUST(munlock(where + page, page));
	MUST(msync(where, 4 * page, MS_INVALIDATE));
	MUST(munmap(where + 2 * page, page));
	CHECK_ERROR(mlock(where, 4 * page), ENOMEM);
}

static int present(char *at, size_t pages)
{
	unsigned char vector[8];
	int count = 0;

	MUST(mincore(at, pages * PAGE, vector));
	for (size_t i = 0; i < pages; i++)
		count += vector[i] & 1;
	return count;
}

static char *new_pages(size_t pages, int flags)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static char *grown_heap(void)
{
	char *end = sbrk(0);

	end += -(uintptr_t)end % PAGE;
	MUST(brk(end + 2 * PAGE));
	return end;
}

/* Locked areas are faulted in when they are made or grow, but not those that are locked as they are used. */
static void locked_on_fault(void)
{
	char *at = new_pages(8, 0);

	MUST(munmap(at + PAGE, 7 * PAGE));
	if (syscall(SYS_mlock2, at, PAGE, MLOCK_ONFAULT) < 0)
		return;         /* not known to an emulator */
	at = mremap(at, PAGE, 4 * PAGE, MREMAP_MAYMOVE);
	CHECK(at != MAP_FAILED);
	CHECK_EQUAL(present(at, 4), 0);
	MUST(mlock(at, 4 * PAGE));
	CHECK_EQUAL(present(at, 4), 4);
	at = mremap(at, 4 * PAGE, 6 * PAGE, MREMAP_MAYMOVE);
	CHECK_EQUAL(present(at, 6), 6);
	CHECK_EQUAL(present(new_pages(4, MAP_POPULATE), 4), 4);
	CHECK_EQUAL(present(new_pages(4, MAP_POPULATE | MAP_NONBLOCK), 4), 0);

	MUST(mlockall(MCL_FUTURE | MCL_ONFAULT));
	at = new_pages(4, 0);
	CHECK_EQUAL(present(at, 4), 0);
	at[PAGE] = 1;
	CHECK_EQUAL(present(at, 4), 1);
	CHECK_EQUAL(present(new_pages(4, MAP_LOCKED), 4), 0);
	CHECK_EQUAL(present(grown_heap(), 2), 0);
	CHECK_ERROR(madvise(at, PAGE, MADV_DONTNEED), EINVAL);
	MUST(mlockall(MCL_FUTURE));
	CHECK_EQUAL(present(new_pages(4, 0), 4), 4);
	CHECK_EQUAL(present(grown_heap(), 2), 2);
	MUST(munlockall());
	MUST(madvise(at, PAGE, MADV_DONTNEED));
	CHECK_EQUAL(present(new_pages(4, 0), 4), 0);
}

static const struct test_case cases[] = {
	CASE(locked_pages_stay), CASE(locked_on_fault), CASE(growing_file),
	CASE(anonymous_is_zero), CASE(unmapped_faults), CASE(null_faults), CASE(protection), CASE(fixed_replaces),
	CASE(arguments), CASE(hint_is_taken), CASE(shared_file), CASE(beyond_the_end), CASE(remap_grows_and_moves),
	CASE(holes_and_neighbours), CASE(dont_need), CASE(map_and_unmap_often), CASE(more_than_there_is),
	CASE(code_can_be_written_and_run), CASE(a_file_run_is_what_was_written_last),
};

TEST_MAIN("mmap", cases)
