/* Bad pointers: every call that takes one fails with EFAULT and does no damage. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096

static char *unmapped, *edge, *read_only;

/* `edge` points at the last eight bytes before an unmapped page. */
static void make_addresses(void)
{
	char *two = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(two != MAP_FAILED);
	read_only = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(read_only != MAP_FAILED);
	MUST(munmap(two + PAGE, PAGE)); /* last, because a later mapping may fill the hole */
	unmapped = two + PAGE;
	edge = two + PAGE - 8;
}

/* Raw system calls, because the C library must not use the pointer itself. */
#define FAULTS(number, ...) CHECK_ERROR(syscall(number, __VA_ARGS__), EFAULT)

static void paths(void)
{
	make_addresses();
	memset(edge, 'a', 8); /* a name without an end */
	char *const bad[] = { unmapped, edge, (char *)1, (char *)(uintptr_t)0xc0000000u,
		(char *)(uintptr_t)0xfffffff0u };

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FAULTS(SYS_open, bad[i], O_RDONLY, 0);
		FAULTS(SYS_mkdir, bad[i], 0777);
		FAULTS(SYS_unlink, bad[i]);
		FAULTS(SYS_chdir, bad[i]);
		FAULTS(SYS_rename, bad[i], "x");
		FAULTS(SYS_symlink, bad[i], "x");
		FAULTS(SYS_access, bad[i], 0);
		FAULTS(SYS_chmod, bad[i], 0);
		FAULTS(SYS_readlink, bad[i], unmapped, 10);
		FAULTS(SYS_execve, bad[i], NULL, NULL);
	}
}

static void buffers(void)
{
	int ends[2], zero = (int)MUST(open("/dev/zero", O_RDWR)), file;

	make_addresses();
	file = (int)MUST(open(test_path("file"), O_RDWR | O_CREAT, 0600));
	CHECK_EQUAL(write(file, "0123456789", 10), 10);
	MUST(pipe(ends));
	CHECK_EQUAL(write(ends[1], "0123456789", 10), 10);
	FAULTS(SYS_read, zero, unmapped, 10);
	FAULTS(SYS_read, ends[0], unmapped, 10);
	FAULTS(SYS_write, ends[1], unmapped, 10);
	FAULTS(SYS_read, zero, read_only, 10);
	FAULTS(SYS_write, file, unmapped, 10);
	MUST(lseek(file, 0, SEEK_SET));
	FAULTS(SYS_read, file, unmapped, 10);
	FAULTS(SYS_read, file, read_only, 10);
	FAULTS(SYS_getcwd, unmapped, 100);
	FAULTS(SYS_pipe, unmapped);
	FAULTS(SYS_uname, unmapped);
	FAULTS(SYS_getrandom, unmapped, 10, 0);
}

/* A transfer that begins in memory and ends in the hole: it moves a part or fails with EFAULT, and never passes the
 * edge. */
static void partial(void)
{
	int file;
	ssize_t n;

	make_addresses();
	file = (int)MUST(open(test_path("file"), O_RDWR | O_CREAT, 0600));
	CHECK_EQUAL(write(file, "0123456789abcdef", 16), 16);
	MUST(lseek(file, 0, SEEK_SET));
	memset(edge, 0, 8);
	n = syscall(SYS_read, file, edge, 16);
	CHECK(n == 8 || (n == -1 && errno == EFAULT));
	if (n == 8)
		CHECK(memcmp(edge, "01234567", 8) == 0);
	n = syscall(SYS_write, file, edge, 16);
	CHECK(n == 8 || (n == -1 && errno == EFAULT));
}

static void structures(void)
{
	int ends[2];

	make_addresses();
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	FAULTS(SYS_clock_gettime, CLOCK_MONOTONIC, unmapped);
	FAULTS(SYS_gettimeofday, unmapped, NULL);
	FAULTS(SYS_getrlimit, RLIMIT_NOFILE, unmapped);
	FAULTS(SYS_setrlimit, RLIMIT_NOFILE, unmapped);
	FAULTS(SYS_getrusage, RUSAGE_SELF, unmapped);
	FAULTS(SYS_rt_sigaction, SIGUSR1, unmapped, NULL, 8);
	FAULTS(SYS_rt_sigprocmask, SIG_BLOCK, unmapped, NULL, 8);
	FAULTS(SYS_poll, unmapped, 1, 0);
	FAULTS(SYS_readv, ends[0], unmapped, 1);
	FAULTS(SYS_writev, ends[0], unmapped, 1);
	FAULTS(SYS_sigaltstack, unmapped, NULL);
	FAULTS(SYS_bind, ends[0], unmapped, 16);
	FAULTS(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, unmapped);
	FAULTS(SYS_times, unmapped);
	FAULTS(SYS_setitimer, ITIMER_REAL, unmapped, NULL);
	FAULTS(SYS_futex, unmapped, 0, 0, NULL, NULL, 0);
}

static void vectors(void)
{
	struct iovec parts[2] = { { (void *)"good", 4 }, { NULL, 10 } };
	int null = (int)MUST(open(test_path("file"), O_RDWR | O_CREAT, 0600));
	ssize_t n;

	make_addresses();
	parts[1].iov_base = unmapped;
	n = writev(null, parts, 2);
	CHECK(n == 4 || (n == -1 && errno == EFAULT));
	parts[0].iov_len = (size_t)-1;
	CHECK_ERROR(writev(null, parts, 2), EINVAL);
}

static void wait_status(void)
{
	pid_t child = (pid_t)MUST(fork());

	if (child == 0)
		_exit(0);
	make_addresses();
	FAULTS(SYS_wait4, child, unmapped, 0, NULL);
}

static void exec_arguments(void)
{
	char *arguments[2];

	make_addresses();
	arguments[0] = unmapped;
	arguments[1] = NULL;
	FAULTS(SYS_execve, "/proc/self/exe", unmapped, NULL);
	FAULTS(SYS_execve, "/proc/self/exe", arguments, NULL);
}

static const struct test_case cases[] = {
	CASE(paths), CASE(buffers), CASE(partial), CASE(structures), CASE(vectors), CASE(wait_status),
	CASE(exec_arguments),
};

TEST_MAIN("pointer", cases)
