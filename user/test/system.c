/* What /proc tells of descriptors and limits, and that the limits hold: of the kernel's own, which qemu-ppc does not show. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096ul

/* What fdinfo says of a descriptor. */
static const char *info(int fd)
{
	static char text[1024];
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	test_read_file(path, text, sizeof(text));
	return text;
}

static void descriptors_told(void)
{
	const char *path = test_path("file");
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 7 };
	int fd, ends[2], set, watcher, process, watch;
	char expected[128];
	struct stat status;
	sigset_t mask;

	test_write_file(path, "text", 4);
	fd = (int)MUST(open(path, O_RDWR | O_APPEND | O_CLOEXEC));
	MUST(lseek(fd, 3, SEEK_SET));
	MUST(fstat(fd, &status));
	CHECK(strncmp(info(fd), "pos:\t3\nflags:\t0", 15) == 0);
	CHECK_EQUAL(strtol(strstr(info(fd), "flags:\t") + 7, NULL, 8) & ~O_LARGEFILE,
		    (O_RDWR | O_APPEND | O_CLOEXEC) & ~O_LARGEFILE);
	snprintf(expected, sizeof(expected), "ino:\t%llu\n", (unsigned long long)status.st_ino);
	CHECK(strstr(info(fd), expected) != NULL);
	MUST(pipe(ends));
	set = (int)MUST(epoll_create1(0));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
	snprintf(expected, sizeof(expected), "tfd: %8d events:", ends[0]);
	CHECK(strstr(info(set), expected) != NULL);
	watcher = (int)MUST(inotify_init1(0));
	watch = (int)MUST(inotify_add_watch(watcher, path, IN_OPEN));
	snprintf(expected, sizeof(expected), "inotify wd:%x ino:%llx", watch, (unsigned long long)status.st_ino);
	CHECK(strstr(info(watcher), expected) != NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	CHECK(strstr(info((int)MUST(signalfd(-1, &mask, 0))), "sigmask:\t0000000000000200\n") != NULL);
	process = (int)MUST(syscall(SYS_pidfd_open, getpid(), 0));
	snprintf(expected, sizeof(expected), "Pid:\t%d\n", getpid());
	CHECK(strstr(info(process), expected) != NULL);
	MUST(close(process));
	snprintf(expected, sizeof(expected), "/proc/self/fdinfo/%d", process);
	CHECK_ERROR(open(expected, O_RDONLY), ENOENT);
}

static unsigned long limit_told(const char *path)
{
	char text[64];

	test_read_file(path, text, sizeof(text));
	return strtoul(text, NULL, 10);
}

static void limits_hold(void)
{
	size_t most = limit_told("/proc/sys/kernel/msgmax");
	struct msgbuf *message = calloc(1, sizeof(long) + most + 1);
	int queue = (int)MUST(msgget(IPC_PRIVATE, 0600)), ends[2];

	message->mtype = 1;
	CHECK_ERROR(msgsnd(queue, message, most + 1, 0), EINVAL);
	MUST(msgsnd(queue, message, most, 0));
	MUST(msgctl(queue, IPC_RMID, NULL));
	MUST(pipe(ends));
	CHECK_EQUAL(fcntl(ends[0], F_SETPIPE_SZ, limit_told("/proc/sys/fs/pipe-max-size")),
		    limit_told("/proc/sys/fs/pipe-max-size"));
	CHECK_EQUAL(limit_told("/proc/sys/kernel/cap_last_cap"), 40);
	CHECK(limit_told("/proc/sys/kernel/pty/nr") < limit_told("/proc/sys/kernel/pty/max"));
}

static void too_large_a_mapping(void)
{
	const char *path = test_path("file");
	int fd;
	char *place = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	test_write_file(path, "text", 4);
	fd = (int)MUST(open(path, O_RDWR));
	CHECK(mmap(place, 0xfffff000, PROT_READ, MAP_FIXED | MAP_SHARED, fd, 0) == MAP_FAILED);
	CHECK_EQUAL(errno, ENOMEM);
}

/* The time of a store through a mapping is known from the next msync on. */
static void msync_tells_of_stores(void)
{
	const char *path = test_path("file");
	struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	struct stat status;
	char *area;
	int fd;

	test_write_file(path, "text", 4);
	fd = (int)MUST(open(path, O_RDWR));
	area = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(area != MAP_FAILED);
	MUST(futimens(fd, old));
	*area = 'T';
	MUST(msync(area, PAGE, MS_SYNC));
	MUST(fstat(fd, &status));
	CHECK(status.st_mtim.tv_sec > 1000);
}

static void queued_signals_are_limited(void)
{
	struct rlimit few = { 5, 5 };
	union sigval value = { .sival_int = 1 };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGRTMIN);
	MUST(sigprocmask(SIG_BLOCK, &blocked, NULL));
	MUST(setrlimit(RLIMIT_SIGPENDING, &few));
	for (int i = 0; i < 5; i++)
		MUST(sigqueue(getpid(), SIGRTMIN, value));
	CHECK_ERROR(sigqueue(getpid(), SIGRTMIN, value), EAGAIN);
	CHECK_ERROR(syscall(SYS_tkill, getpid(), SIGRTMIN), EAGAIN);
	MUST(kill(getpid(), SIGRTMIN));
	MUST(sigqueue(getpid(), SIGURG, value));
}

/* A descriptor that only names a place is none for anything else. */
static void places_are_no_files(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int place = (int)MUST(open("/tmp", O_PATH)), set = (int)MUST(epoll_create1(0)), ends[2];

	MUST(pipe(ends));
	CHECK_ERROR(listen(place, 1), EBADF);
	CHECK_ERROR(epoll_ctl(set, EPOLL_CTL_ADD, place, &event), EBADF);
	CHECK_ERROR(epoll_ctl(place, EPOLL_CTL_ADD, ends[0], &event), EBADF);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, place, 0) == MAP_FAILED);
	CHECK_EQUAL(errno, EBADF);
}

static const struct test_case cases[] = {
	CASE(descriptors_told), CASE(limits_hold), CASE(too_large_a_mapping), CASE(msync_tells_of_stores),
	CASE(queued_signals_are_limited), CASE(places_are_no_files),
};

TEST_MAIN("system", cases)
