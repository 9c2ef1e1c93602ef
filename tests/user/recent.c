/* Calls that are new in Linux or rarely used: openat2, epoll_pwait2, ioprio, adjtimex; and the files of /proc and /sys
 * about mounts and processors. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

struct how {
	uint64_t flags, mode, resolve;
};
enum { NO_XDEV = 1, NO_MAGICLINKS = 2, NO_SYMLINKS = 4, BENEATH = 8, IN_ROOT = 16, CACHED = 32 };

static long open2(int directory, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct how how = { flags, mode, resolve };

	return syscall(437, directory, path, &how, sizeof(how));
}

static void opened(long fd)
{
	MUST(fd);
	close((int)fd);
}

static void openat2_arguments(void)
{
	struct how how = { O_RDONLY, 0, 0 };
	char large[64] = { 0 };
	int directory = (int)MUST(open(test_path(""), O_RDONLY | O_DIRECTORY));

	test_write_file(test_path("file"), "x", 1);
	opened(open2(directory, "file", O_RDONLY, 0, 0));
	opened(open2(directory, "new", O_RDWR | O_CREAT, 0600, 0));
	CHECK_ERROR(open2(directory, "file", 1ull << 40, 0, 0), EINVAL);
	CHECK_ERROR(open2(directory, "file", O_RDONLY, 0600, 0), EINVAL);
	CHECK_ERROR(open2(directory, "other", O_RDWR | O_CREAT, 010600, 0), EINVAL);
	CHECK_ERROR(open2(directory, "file", O_RDONLY, 0, 64), EINVAL);
	CHECK_ERROR(open2(directory, "file", O_RDONLY, 0, BENEATH | IN_ROOT), EINVAL);
	CHECK_ERROR(open2(directory, "file", O_PATH | O_RDWR, 0, 0), EINVAL);
	CHECK_ERROR(open2(directory, "file", O_RDWR | O_TRUNC, 0, CACHED), EAGAIN);
	CHECK_ERROR(syscall(437, directory, "file", &how, sizeof(how) - 8), EINVAL);
	CHECK_ERROR(syscall(437, directory, "file", &how, 8192), E2BIG);
	CHECK_ERROR(syscall(437, directory, "file", NULL, sizeof(how)), EFAULT);
	opened(syscall(437, directory, "file", large, sizeof(large)));
	large[40] = 1;
	CHECK_ERROR(syscall(437, directory, "file", large, sizeof(large)), E2BIG);
}

static void openat2_stays_below(void)
{
	int directory;
	struct stat root, got;
	long fd;

	MUST(mkdir(test_path("a"), 0700));
	MUST(mkdir(test_path("a/b"), 0700));
	test_write_file(test_path("outside"), "x", 1);
	test_write_file(test_path("a/file"), "x", 1);
	MUST(symlink("../../outside", test_path("a/b/up")));
	MUST(symlink("../file", test_path("a/b/within")));
	MUST(symlink("/file", test_path("a/absolute")));
	MUST(symlink("b/within", test_path("a/link")));
	directory = (int)MUST(open(test_path("a"), O_RDONLY | O_DIRECTORY));
	for (int resolve = BENEATH; resolve <= IN_ROOT; resolve *= 2) {
		opened(open2(directory, "file", O_RDONLY, 0, resolve));
		opened(open2(directory, "b/../file", O_RDONLY, 0, resolve));
		opened(open2(directory, "b/within", O_RDONLY, 0, resolve));
		opened(open2(directory, "link", O_RDONLY, 0, resolve));
		opened(open2(directory, ".", O_RDONLY, 0, resolve));
	}
	CHECK_ERROR(open2(directory, "..", O_RDONLY, 0, BENEATH), EXDEV);
	CHECK_ERROR(open2(directory, "../outside", O_RDONLY, 0, BENEATH), EXDEV);
	CHECK_ERROR(open2(directory, "b/../../outside", O_RDONLY, 0, BENEATH), EXDEV);
	CHECK_ERROR(open2(directory, "b/up", O_RDONLY, 0, BENEATH), EXDEV);
	CHECK_ERROR(open2(directory, "absolute", O_RDONLY, 0, BENEATH), EXDEV);
	CHECK_ERROR(open2(directory, "/", O_RDONLY, 0, BENEATH), EXDEV);
	CHECK_ERROR(open2(directory, "../outside", O_RDONLY, 0, IN_ROOT), ENOENT);
	CHECK_ERROR(open2(directory, "b/up", O_RDONLY, 0, IN_ROOT), ENOENT);
	opened(open2(directory, "absolute", O_RDONLY, 0, IN_ROOT));
	opened(open2(directory, "/file", O_RDONLY, 0, IN_ROOT));
	opened(open2(directory, "../../file", O_RDONLY, 0, IN_ROOT));
	MUST(fstat(directory, &root));
	fd = MUST(open2(directory, "//", O_RDONLY, 0, IN_ROOT));
	MUST(fstat((int)fd, &got));
	CHECK_EQUAL(got.st_ino, root.st_ino);
	fd = MUST(open2(directory, "b/../..", O_RDONLY, 0, IN_ROOT));
	MUST(fstat((int)fd, &got));
	CHECK_EQUAL(got.st_ino, root.st_ino);
	/* A file may be made below the directory, but not outside of it. */
	opened(open2(directory, "b/made", O_RDWR | O_CREAT, 0600, BENEATH));
	CHECK_ERROR(open2(directory, "../made", O_RDWR | O_CREAT, 0600, BENEATH), EXDEV);
	opened(open2(directory, "b", O_RDWR | O_TMPFILE, 0600, BENEATH));
	CHECK_ERROR(open2(directory, "..", O_RDWR | O_TMPFILE, 0600, BENEATH), EXDEV);
}

/* Links that lead through the directory that they are in, so that a walk of them takes long. */
#define LONG_LINKS 36

static void make_long_links(void)
{
	char text[4000], path[64];

	for (int i = 0; i < LONG_LINKS; i++) {
		snprintf(path, sizeof(path), "a/b/link%d", i);
		for (unsigned at = 0; at < 3900; at += 2)
			strcpy(text + at, "./");
		if (i < LONG_LINKS - 1)
			sprintf(text + 3900, "link%d", i + 1);
		else
			strcpy(text + 3900, "../outside");
		MUST(symlink(text, test_path(path)));
	}
}

/* A walk's time in nanoseconds, while nothing moves. */
static long walk_takes(int directory)
{
	struct timespec before, after;

	MUST(clock_gettime(CLOCK_MONOTONIC, &before));
	CHECK_ERROR(open2(directory, "b/link0", O_RDONLY, 0, IN_ROOT), ENOENT);
	MUST(clock_gettime(CLOCK_MONOTONIC, &after));
	return (long)((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec);
}

/* Another task moves the directory out while a walk is in it: ".." may not lead to the new parent. The moves come at
 * tenths of the time of a walk, which differs between machines. Both tasks run on one processor, which
 * the one that moves takes from the walk. */
static void openat2_moved(void)
{
	struct sched_param first = { .sched_priority = 1 };
	int directory, status, seen = 0;
	long walk;
	char old[256];
	cpu_set_t one;

	MUST(mkdir(test_path("a"), 0700));
	MUST(mkdir(test_path("a/b"), 0700));
	test_write_file(test_path("outside"), "x", 1);
	make_long_links();
	strcpy(old, test_path("a/b"));
	directory = (int)MUST(open(test_path("a"), O_RDONLY | O_DIRECTORY));
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	MUST(sched_setaffinity(0, sizeof(one), &one));
	walk_takes(directory);
	walk = walk_takes(directory);
	CHECK(walk < 1000000000);
	MUST(sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first));
	for (int tries = 0; tries < 20; tries++) {
		struct timespec wait = { 0, walk / 10 * (tries / 2 + 1) };
		pid_t child = (pid_t)MUST(fork());

		if (child == 0) {
			long fd = open2(directory, "b/link0", O_RDONLY, 0, tries % 2 ? BENEATH : IN_ROOT);

			_exit(fd >= 0 ? 255 : errno);
		}
		MUST(nanosleep(&wait, NULL));
		MUST(rename(old, test_path("moved")));
		MUST(waitpid(child, &status, 0));
		MUST(rename(test_path("moved"), old));
		CHECK(WIFEXITED(status));
		CHECK(WEXITSTATUS(status) == EAGAIN || WEXITSTATUS(status) == ENOENT);
		seen += WEXITSTATUS(status) == EAGAIN;
	}
	CHECK(seen);
}

static void openat2_links(void)
{
	int directory;

	test_write_file(test_path("file"), "x", 1);
	MUST(symlink("file", test_path("link")));
	directory = (int)MUST(open(test_path(""), O_RDONLY | O_DIRECTORY));
	opened(open2(directory, "link", O_RDONLY, 0, NO_MAGICLINKS));
	CHECK_ERROR(open2(directory, "link", O_RDONLY, 0, NO_SYMLINKS), ELOOP);
	opened(open2(directory, "link", O_PATH | O_NOFOLLOW, 0, NO_SYMLINKS));
	opened(open2(AT_FDCWD, "/proc/self/root", O_RDONLY, 0, 0));
	CHECK_ERROR(open2(AT_FDCWD, "/proc/self/root", O_RDONLY, 0, NO_MAGICLINKS), ELOOP);
	CHECK_ERROR(open2(AT_FDCWD, "/proc/self/root", O_RDONLY, 0, NO_SYMLINKS), ELOOP);
	CHECK_ERROR(open2(AT_FDCWD, "/proc/version", O_RDONLY, 0, NO_XDEV), EXDEV);
}

static void epoll_waits_for_nanoseconds(void)
{
	int epoll = (int)MUST(epoll_create1(0)), ends[2];
	struct epoll_event event = { .events = EPOLLIN, .data.fd = 5 }, got[2];
	int64_t none[2] = { 0, 0 }, some[2] = { 0, 2000000 }, wrong[2] = { 0, 1000000000 };

	MUST(pipe(ends));
	MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event));
	CHECK_EQUAL(syscall(441, epoll, got, 2, none, NULL, 8), 0);
	CHECK_EQUAL(syscall(441, epoll, got, 2, some, NULL, 8), 0);
	CHECK_ERROR(syscall(441, epoll, got, 2, wrong, NULL, 8), EINVAL);
	MUST(write(ends[1], "x", 1));
	CHECK_EQUAL(syscall(441, epoll, got, 2, NULL, NULL, 8), 1);
	CHECK_EQUAL(got[0].data.fd, 5);
}

static long io_set(int which, int who, int priority)
{
	return syscall(SYS_ioprio_set, which, who, priority);
}

static long io_get(int which, int who)
{
	return syscall(SYS_ioprio_get, which, who);
}

static void io_priority(void)
{
	enum { REAL_TIME = 1 << 13, BEST_EFFORT = 2 << 13, IDLE = 3 << 13 };

	CHECK_EQUAL(io_get(1, 0), 0);
	CHECK_EQUAL(io_set(1, 0, BEST_EFFORT | 3), 0);
	CHECK_EQUAL(io_get(1, 0), BEST_EFFORT | 3);
	CHECK_EQUAL(io_get(1, getpid()), BEST_EFFORT | 3);
	CHECK_EQUAL(io_set(1, 0, IDLE), 0);
	CHECK_EQUAL(io_get(1, 0), IDLE);
	CHECK_ERROR(io_set(1, 0, 1), EINVAL);
	CHECK_ERROR(io_set(1, 0, 4 << 13), EINVAL);
	CHECK_ERROR(io_set(9, 0, 0), EINVAL);
	CHECK_ERROR(io_get(9, 0), EINVAL);
	CHECK_ERROR(io_get(1, 999999), ESRCH);
	CHECK_ERROR(io_set(1, 999999, 0), ESRCH);
	CHECK_EQUAL(io_set(1, 0, 0), 0);
	CHECK_EQUAL(io_get(1, 0), 0);
}

static void clock_adjustment(void)
{
	struct timex state = { .modes = 0 };
	struct timespec now;

	CHECK_EQUAL(adjtimex(&state), TIME_ERROR);
	clock_gettime(CLOCK_REALTIME, &now);
	CHECK(now.tv_sec - state.time.tv_sec <= 1);
	CHECK_EQUAL(state.status & STA_UNSYNC, STA_UNSYNC);
	CHECK_EQUAL(state.tick, 10000);
	CHECK_EQUAL(state.precision, 1);
	CHECK_EQUAL(state.tolerance, 32768000);
	CHECK_EQUAL(clock_adjtime(CLOCK_REALTIME, &state), TIME_ERROR);
	CHECK_ERROR(clock_adjtime(CLOCK_MONOTONIC, &state), EOPNOTSUPP);
	CHECK_ERROR(clock_adjtime(77, &state), EINVAL);
}

/* Every line has a number, the parent mount's number, a device, a root and a mount point; after the dash comes a
 * type. */
static void mount_information(void)
{
	FILE *file = fopen("/proc/self/mountinfo", "r");
	char line[512], place[256], type[64], found = 0;

	CHECK(file != NULL);
	while (fgets(line, sizeof(line), file)) {
		unsigned int id, parent, major, minor;
		const char *dash = strstr(line, " - ");

		CHECK(dash != NULL);
		CHECK_EQUAL(sscanf(line, "%u %u %u:%u %*s %255s", &id, &parent, &major, &minor, place), 5);
		CHECK_EQUAL(sscanf(dash, " - %63s", type), 1);
		if (strcmp(place, "/proc") == 0)
			found = strcmp(type, "proc") == 0;
	}
	CHECK(found);
	fclose(file);
}

static void processors(void)
{
	char text[64];
	DIR *directory = opendir("/sys/devices/system/cpu");
	struct dirent *entry;
	long count = 0;

	CHECK(directory != NULL);
	while ((entry = readdir(directory)))
		if (strncmp(entry->d_name, "cpu", 3) == 0 && entry->d_name[3] >= '0' && entry->d_name[3] <= '9')
			count++;
	closedir(directory);
	CHECK_EQUAL(count, sysconf(_SC_NPROCESSORS_CONF));
	CHECK(sysconf(_SC_NPROCESSORS_ONLN) <= count);
	CHECK(test_read_file("/sys/devices/system/cpu/online", text, sizeof(text)) >= 2);
	CHECK_EQUAL(text[0], '0');
	CHECK(test_read_file("/sys/devices/system/cpu/possible", text, sizeof(text)) >= 2);
	CHECK(test_read_file("/sys/devices/system/cpu/present", text, sizeof(text)) >= 2);
	CHECK(test_read_file("/sys/devices/system/cpu/cpu0/topology/core_id", text, sizeof(text)) >= 2);
	CHECK_ERROR(open("/sys/devices/system/cpu/online", O_WRONLY | O_CREAT | O_EXCL, 0600), EEXIST);
}

static void many_descriptors(void)
{
	struct rlimit limit = { 10032, 10032 };

	MUST(setrlimit(RLIMIT_NOFILE, &limit));
	CHECK_EQUAL(dup2(0, 10031), 10031);
	CHECK_ERROR(dup2(0, 10032), EBADF);
	CHECK_EQUAL(fcntl(0, F_DUPFD, 9000), 9000);
	MUST(close(10031));
}

static const struct test_case cases[] = {
	CASE(openat2_arguments),
	CASE(openat2_stays_below),
	CASE(openat2_moved),
	CASE(openat2_links),
	CASE(epoll_waits_for_nanoseconds),
	CASE(io_priority),
	CASE(clock_adjustment),
	CASE(mount_information),
	CASE(processors),
	CASE(many_descriptors),
};

TEST_MAIN("recent", cases)
