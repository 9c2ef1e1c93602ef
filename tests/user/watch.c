/* inotify: events of files and names. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

static int watcher;
static char buffer[4096] __attribute__((aligned(8)));
static size_t at, end;

static void begin(void)
{
	watcher = (int)MUST(inotify_init1(IN_NONBLOCK));
	at = end = 0;
}

/* Checks that the next event is this one; returns its cookie. */
static uint32_t expect(int watch, uint32_t mask, const char *name)
{
	const struct inotify_event *event;

	if (at == end) {
		at = 0;
		end = (size_t)MUST(read(watcher, buffer, sizeof(buffer)));
	}
	event = (const struct inotify_event *)(buffer + at);
	CHECK_EQUAL(event->wd, watch);
	CHECK_EQUAL(event->mask, mask);
	CHECK(strcmp(event->len ? event->name : "", name) == 0);
	at += sizeof(*event) + event->len;
	return event->cookie;
}

static void nothing_more(void)
{
	CHECK_EQUAL(at, end);
	CHECK_ERROR(read(watcher, buffer, sizeof(buffer)), EAGAIN);
}

static void file_events(void)
{
	const char *path = test_path("file");
	struct pollfd asked = { 0 };
	int fd, watch, bytes;
	char byte;

	test_write_file(path, "text", 4);
	begin();
	asked.fd = watcher;
	asked.events = POLLIN;
	watch = (int)MUST(inotify_add_watch(watcher, path, IN_ALL_EVENTS));
	CHECK_EQUAL(poll(&asked, 1, 0), 0);
	fd = (int)MUST(open(path, O_RDWR));
	CHECK_EQUAL(read(fd, &byte, 1), 1);
	CHECK_EQUAL(write(fd, "x", 1), 1);
	MUST(ftruncate(fd, 1));
	MUST(fchmod(fd, 0600));
	MUST(close(fd));
	CHECK_EQUAL(poll(&asked, 1, 0), 1);
	MUST(ioctl(watcher, FIONREAD, &bytes));
	CHECK_EQUAL(bytes, 5 * (int)sizeof(struct inotify_event));
	CHECK_ERROR(read(watcher, buffer, sizeof(struct inotify_event) - 1), EINVAL);
	expect(watch, IN_OPEN, "");
	expect(watch, IN_ACCESS, "");
	expect(watch, IN_MODIFY, "");	/* two equal events in a row become one */
	expect(watch, IN_ATTRIB, "");
	expect(watch, IN_CLOSE_WRITE, "");
	fd = (int)MUST(open(path, O_RDONLY));
	MUST(close(fd));
	expect(watch, IN_OPEN, "");
	expect(watch, IN_CLOSE_NOWRITE, "");
	MUST(unlink(path));
	expect(watch, IN_ATTRIB, "");
	expect(watch, IN_DELETE_SELF, "");
	expect(watch, IN_IGNORED, "");
	nothing_more();
}

static void name_events(void)
{
	const char *folder = test_path("folder"), *inside = test_path("folder/one"), *moved = test_path("folder/two");
	uint32_t mask = IN_CREATE | IN_DELETE | IN_MOVE | IN_CLOSE_WRITE;
	uint32_t cookie;
	int watch;

	MUST(mkdir(folder, 0700));
	begin();
	watch = (int)MUST(inotify_add_watch(watcher, folder, mask));
	test_write_file(inside, "x", 1);
	MUST(rename(inside, moved));
	MUST(unlink(moved));
	MUST(mkdir(inside, 0700));
	MUST(rmdir(inside));
	expect(watch, IN_CREATE, "one");
	expect(watch, IN_CLOSE_WRITE, "one");
	cookie = expect(watch, IN_MOVED_FROM, "one");
	CHECK(cookie != 0);
	CHECK_EQUAL(expect(watch, IN_MOVED_TO, "two"), cookie);
	expect(watch, IN_DELETE, "two");
	expect(watch, IN_CREATE | IN_ISDIR, "one");
	expect(watch, IN_DELETE | IN_ISDIR, "one");
	nothing_more();
}

static void watches(void)
{
	const char *path = test_path("file");
	int watch;

	test_write_file(path, "", 0);
	begin();
	watch = (int)MUST(inotify_add_watch(watcher, path, IN_OPEN | IN_ONESHOT));
	MUST(close((int)MUST(open(path, O_RDONLY))));
	expect(watch, IN_OPEN, "");
	expect(watch, IN_IGNORED, "");
	MUST(close((int)MUST(open(path, O_RDONLY))));
	nothing_more();
	watch = (int)MUST(inotify_add_watch(watcher, path, IN_OPEN));
	CHECK_EQUAL(inotify_add_watch(watcher, path, IN_CLOSE_NOWRITE | IN_MASK_ADD), watch);
	MUST(close((int)MUST(open(path, O_RDONLY))));
	expect(watch, IN_OPEN, "");
	expect(watch, IN_CLOSE_NOWRITE, "");
	MUST(inotify_rm_watch(watcher, watch));
	expect(watch, IN_IGNORED, "");
	CHECK_ERROR(inotify_rm_watch(watcher, watch), EINVAL);
	CHECK_ERROR(inotify_add_watch(watcher, path, 0), EINVAL);
	CHECK_ERROR(inotify_add_watch(watcher, path, IN_OPEN | IN_ONLYDIR), ENOTDIR);
	CHECK_ERROR(inotify_add_watch(watcher, test_path("none"), IN_OPEN), ENOENT);
	CHECK_ERROR(inotify_add_watch(0, path, IN_OPEN), EINVAL);
	CHECK_ERROR(inotify_init1(1), EINVAL);
	nothing_more();
}

#define PAGE 4096
#define REMOVALS 1000

/* Times that the file has gone, in shared memory. */
static volatile unsigned *removals;

/* Makes and removes a file again and again, at changing times. */
static int make_and_remove(void *path)
{
	/* On Linux with its limits this fails, and the test checks less. */
	(void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 5 });
	for (unsigned n = 0;; n++) {
		close(open(path, O_CREAT | O_RDWR, 0600));
		nanosleep(&(struct timespec){ 0, 50000 + n * 7919 % 300000 }, NULL);
		unlink(path);
		++*removals;
	}
	return 0;
}

/* The watched file may go while the watch is being closed. */
static void closed_while_the_file_goes(void)
{
	const char *path = test_path("file");
	int watched = 0;
	pid_t child;

	removals = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(removals != MAP_FAILED);
	child = test_child(make_and_remove, (void *)(uintptr_t)path);
	while (*removals < REMOVALS) {
		int fd = (int)MUST(inotify_init1(0));

		watched += inotify_add_watch(fd, path, IN_MODIFY) >= 0;
		MUST(close(fd));
	}
	CHECK(watched);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static const struct test_case cases[] = {
	CASE(file_events), CASE(name_events), CASE(watches), CASE(closed_while_the_file_goes),
};

TEST_MAIN("watch", cases)
