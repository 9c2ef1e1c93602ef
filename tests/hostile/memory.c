/* Memory that a process holds outside of its address space, until no memory is left. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/attack.h"

#define PAGE 4096
#define HOGS 3

static char data[65536];

static void hold_pipes(void)
{
	int ends[2];

	while (pipe2(ends, O_NONBLOCK) == 0)
		if (write(ends[1], data, sizeof(data)) < (ssize_t)sizeof(data))
			return;
}

static void hold_files(void)
{
	int fd;

	while ((fd = memfd_create("hog", 0)) >= 0)
		for (int i = 0; i < 64; i++)
			if (write(fd, data, sizeof(data)) < (ssize_t)sizeof(data))
				return;
}

/* Takes all the memory that it can get, then waits. The first hog also takes the rest, so that the kernel must kill a
 * process. */
static int hog(void *argument)
{
	int number = *(int *)argument;

	if (number % 2)
		hold_files();
	else
		hold_pipes();
	if (number == 0) {
		for (;;) {
			char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			for (size_t i = 0; at != MAP_FAILED && i < 1 << 20; i += PAGE)
				at[i] = 1;
		}
	}
	for (;;)
		pause();
	return 0;
}

/* The kernel kills some of the hogs, but never a process that holds little memory. */
static void the_hogs_go(void)
{
	static int number[HOGS];
	pid_t hogs[HOGS];
	int status;

	memset(data, 'x', sizeof(data));
	for (int i = HOGS - 1; i >= 0; i--) {
		number[i] = i;
		hogs[i] = test_child(hog, &number[i]);
	}
	CHECK_EQUAL(test_wait(hogs[0]), 1000 + SIGKILL);
	for (int i = 1; i < HOGS; i++) {
		kill(hogs[i], SIGKILL);
		MUST(waitpid(hogs[i], &status, 0));
	}
}

static int nothing(void *argument)
{
	(void)argument;
	return 0;
}

/* Fills memory with files, and the rest with pipes, says so, and waits. */
static int fill_and_wait(void *full)
{
	hold_files();
	hold_pipes();
	MUST(write(*(int *)full, "", 1));
	for (;;)
		pause();
	return 0;
}

/* A call that needs memory gets it as a page fault does: a process that holds much is killed. */
static void a_call_gets_memory_back(void)
{
	pid_t hogs[HOGS];
	int full[2], status;
	char byte;

	MUST(pipe2(full, O_CLOEXEC));
	for (int i = 0; i < HOGS; i++) {
		hogs[i] = test_child(fill_and_wait, &full[1]);
		/* Either it waits, or it has been killed by now. */
		while (MUST(waitpid(hogs[i], &status, WNOHANG)) == 0) {
			struct pollfd said = { .fd = full[0], .events = POLLIN };

			if (poll(&said, 1, 10) == 1) {
				MUST(read(full[0], &byte, 1));
				break;
			}
		}
		for (int calls = 0; calls < 64; calls++)
			CHECK_EQUAL(test_in_child(nothing, NULL), 0);
	}
	for (int i = 0; i < HOGS; i++) {
		kill(hogs[i], SIGKILL);
		waitpid(hogs[i], &status, 0);
	}
	close(full[0]);
	close(full[1]);
}

/* Together more than memory, each less than a bystander of the superuser. */
#define KIDS 80
#define KID_PAGES 200

static int hold_pages(void *argument)
{
	char *at = mmap(NULL, KID_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)argument;
	CHECK(at != MAP_FAILED);
	for (int i = 0; i < KID_PAGES; i++)
		at[i * PAGE] = 1;
	for (;;)
		pause();
	return 0;
}

/*
 * Many small processes of one user weigh as much as a large one: one of them is killed, not the larger process of the
 * superuser, which ATTACK_MAIN starts.
 */
static void small_processes_count_together(void)
{
	static pid_t kids[KIDS];
	int status;

	for (int i = 0; i < KIDS; i++)
		kids[i] = test_child(hold_pages, NULL);
	for (int i = 0; i < KIDS; i++) {
		kill(kids[i], SIGKILL);
		MUST(waitpid(kids[i], &status, 0));
	}
}

static int fill_mapping(void *argument)
{
	int fd = (int)MUST(open(argument, O_RDWR | O_CREAT, 0600));
	size_t size = 512u << 20;
	char *at;

	MUST(ftruncate(fd, (off_t)size));
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(at != MAP_FAILED);
	for (size_t i = 0; i < size; i += PAGE)
		at[i] = 1;
	return 0;
}

/* Writing through a mapping lets a file grow no further than write() does. */
static void a_mapped_file_fills_its_file_system(void)
{
	CHECK_EQUAL(test_in_child(fill_mapping, (void *)test_path("file")), 1000 + SIGBUS);
}

/* A program of 1 MB still has enough memory. */
static int small(void *argument)
{
	char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)argument;
	CHECK(at != MAP_FAILED);
	memset(at, 1, 1 << 20);
	return 0;
}

static int make_sets(void *argument)
{
	int *sets = argument;

	for (int i = 0; i < 128 && (sets[i] = semget(IPC_PRIVATE, 32000, 0600)) >= 0; i++)
		;
	return 0;
}

/* Objects that outlive their makers leave memory for others, because killing the makers would not free the objects. */
static void sets_leave_memory(void)
{
	int *sets = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(sets != MAP_FAILED);
	memset(sets, -1, PAGE);
	CHECK_EQUAL(test_in_child(make_sets, sets), 0);
	CHECK(sets[0] >= 0);
	CHECK_EQUAL(test_in_child(small, NULL), 0);
	for (int i = 0; i < 128 && sets[i] >= 0; i++)
		MUST(semctl(sets[i], 0, IPC_RMID));
}

static int fill_segment(void *id)
{
	char *at = shmat(*(int *)id, NULL, 0);

	CHECK(at != (char *)-1);
	for (size_t i = 0; i < 512u << 20; i += PAGE)
		at[i] = 1;
	return 0;
}

static void segments_leave_memory(void)
{
	int id = (int)MUST(shmget(IPC_PRIVATE, 512u << 20, 0600));

	CHECK_EQUAL(test_in_child(fill_segment, &id), 1000 + SIGBUS);
	CHECK_EQUAL(test_in_child(small, NULL), 0);
	MUST(shmctl(id, IPC_RMID, NULL));
}

/* File locks: as many as one user may have, in a few files. */
static int lock_all(void *argument)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
	long made = 0;

	(void)argument;
	for (int file = 0; file < 9; file++) {
		int fd = (int)MUST(memfd_create("locks", 0));

		for (lock.l_start = 0; lock.l_start < 20000; lock.l_start += 2, made++)
			if (fcntl(fd, F_SETLK, &lock)) {
				CHECK_EQUAL(errno, ENOLCK);
				CHECK(made > 1000);
				/* A call that needs another lock is refused; a call that frees locks is not. */
				CHECK_ERROR(flock(fd, LOCK_EX), ENOLCK);
				lock = (struct flock){ .l_type = F_UNLCK };
				MUST(fcntl(fd, F_SETLK, &lock));
				return 0;
			}
	}
	return 1;
}

static void locks_are_limited(void)
{
	/* The first process's locks are freed when it ends. */
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(test_in_child(lock_all, NULL), 0);
}

static int watch_all(void *argument)
{
	struct epoll_event event = { .events = EPOLLIN };
	int files[900];

	(void)argument;
	for (int i = 0; i < 900; i++)
		files[i] = (int)MUST(eventfd(0, 0));
	for (int set = 0; set < 100; set++) {
		int fd = (int)MUST(epoll_create1(0));

		for (int i = 0; i < 900; i++)
			if (epoll_ctl(fd, EPOLL_CTL_ADD, files[i], &event)) {
				CHECK_EQUAL(errno, ENOSPC);
				CHECK(set > 0);
				if (i) {
					MUST(epoll_ctl(fd, EPOLL_CTL_DEL, files[0], NULL));
					MUST(epoll_ctl(fd, EPOLL_CTL_ADD, files[0], &event));
				}
				return 0;
			}
	}
	return 1;
}

static void epoll_items_are_limited(void)
{
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(test_in_child(watch_all, NULL), 0);
}

static int make_inotifies(void *argument)
{
	int made = 0;

	(void)argument;
	while (inotify_init1(0) >= 0)
		made++;
	CHECK_EQUAL(errno, EMFILE);
	CHECK_EQUAL(made, 128);
	return 0;
}

static void inotifies_are_limited(void)
{
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(test_in_child(make_inotifies, NULL), 0);
}

static int make_names(void *argument)
{
	static const char long_name[] = "a-name-that-is-much-longer-than-the-others";
	static char text[4096];
	char name[16], *memory;
	int i = 0;

	(void)argument;
	MUST(mkdir(test_path("names"), 0700));
	MUST(chdir(test_path("names")));
	memset(text, 'x', sizeof(text) - 1);
	MUST(symlink(text, long_name));
	do
		snprintf(name, sizeof(name), "%d", i++);
	while (symlink(text, name) == 0);
	CHECK_EQUAL(errno, ENOSPC);
	/* A short name takes less, while it is made, than a link. */
	do
		snprintf(name, sizeof(name), "%d", i++);
	while (mknod(name, S_IFREG | 0600, 0) == 0);
	CHECK_EQUAL(errno, ENOSPC);
	CHECK_ERROR(mkfifo("fifo", 0600), ENOSPC);
	CHECK_ERROR(mkdir("directory", 0700), ENOSPC);
	CHECK_ERROR(link("0", "link"), ENOSPC);
	CHECK_ERROR(rename("0", "longer"), ENOSPC);
	/* An exchange takes no memory, however much longer one name becomes. */
	MUST(renameat2(AT_FDCWD, long_name, AT_FDCWD, "0", RENAME_EXCHANGE));
	MUST(renameat2(AT_FDCWD, long_name, AT_FDCWD, "0", RENAME_EXCHANGE));
	/* What remains is for programs. */
	memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	memset(memory, 1, 1 << 20);
	while (i-- > 0) {
		snprintf(name, sizeof(name), "%d", i);
		if (unlink(name))
			CHECK_EQUAL(errno, ENOENT);
	}
	MUST(unlink(long_name));
	return 0;
}

static void names_leave_memory(void)
{
	CHECK_EQUAL(test_in_child(make_names, NULL), 0);
}

#define TABLE (4u << 20)        /* what a page table covers */
#define TABLES 12u

static size_t free_pages(void)
{
	char text[1024];
	const char *at;
	int kilobytes;

	test_read_file("/proc/meminfo", text, sizeof(text));
	at = strstr(text, "MemFree:");
	CHECK(at && sscanf(at, "MemFree: %d", &kilobytes) == 1);
	return (size_t)kilobytes / 4;
}

/* Moves a page in each of many tables to and fro, past an area, with one free page less each time. */
static int move_without_memory(void *argument)
{
	const size_t size = TABLES * TABLE, most = 1u << 30;
	char *from = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *hog = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *to = from + size;
	size_t taken = 0;

	CHECK(from != MAP_FAILED && hog != MAP_FAILED);
	for (size_t at = 0; at < size; at += TABLE)
		from[at] = 1;
	while (free_pages() > 3 * TABLES)
		for (int i = 0; i < 16; i++, taken += PAGE)
			hog[taken] = 1;
	for (; taken < most; taken += PAGE) {
		hog[taken] = 1;
		MUST(munmap(to, size));
		CHECK(mmap(to + TABLE, PAGE, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
		CHECK(mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
		CHECK(mremap(to, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, from) == from);
	}
	return argument != NULL;
}

/* A process is killed in an mremap that finds no memory for its last page tables. */
static void a_move_without_memory(void)
{
	CHECK_EQUAL(test_in_child(move_without_memory, NULL), 1000 + SIGKILL);
}

/* Signals without a limit of their own: of kill, and of a file that becomes readable. */
#define SIGNALS 20000
#define OUR_F_SETSIG 10

static long kernel_bytes(void)
{
	char text[2048], *found;

	test_read_file("/proc/frames", text, sizeof(text));
	found = strstr(text, "\nkmalloc_bytes ");
	CHECK(found);
	return strtol(found + strlen("\nkmalloc_bytes "), NULL, 10);
}

static void signals_are_limited(void)
{
	long before = kernel_bytes();
	sigset_t all;
	int ends[2];
	char byte;

	sigfillset(&all);
	MUST(sigprocmask(SIG_SETMASK, &all, NULL));
	for (int i = 0; i < SIGNALS; i++)
		MUST(kill(getpid(), SIGRTMIN));
	CHECK(kernel_bytes() - before < SIGNALS * 16);
	MUST(pipe2(ends, O_NONBLOCK));
	MUST(fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
	MUST(fcntl(ends[0], F_SETOWN, getpid()));
	MUST(fcntl(ends[0], OUR_F_SETSIG, SIGRTMIN + 1));
	for (int i = 0; i < SIGNALS / 4; i++) {
		CHECK_EQUAL(write(ends[1], "", 1), 1);
		CHECK_EQUAL(read(ends[0], &byte, 1), 1);
	}
	CHECK(kernel_bytes() - before < SIGNALS * 16);
}

static const struct test_case cases[] = {
	CASE(signals_are_limited),
	CASE(locks_are_limited),
	CASE(epoll_items_are_limited),
	CASE(inotifies_are_limited),
	CASE(the_hogs_go),
	CASE(a_call_gets_memory_back),
	CASE(small_processes_count_together),
	CASE(a_mapped_file_fills_its_file_system),
	CASE(sets_leave_memory),
	CASE(segments_leave_memory),
	CASE(names_leave_memory),
	CASE(a_move_without_memory),
};

ATTACK_MAIN("memory", cases)
