/* Process descriptors: how they are made, waited for, and used to send signals and to take descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

#define OUR_P_PIDFD 3

static int descriptor_of(pid_t pid, unsigned flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

static long send_signal(int pidfd, int number)
{
	return syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

static int sleeps(void *unused)
{
	(void)unused;
	pause();
	return 0;
}

static int ends_with(void *status)
{
	return *(int *)status;
}

static void opened(void)
{
	int fd = (int)MUST(descriptor_of(getpid(), 0));

	CHECK_EQUAL(fcntl(fd, F_GETFD), FD_CLOEXEC);
	MUST(close(fd));
	CHECK_ERROR(descriptor_of(0, 0), EINVAL);
	CHECK_ERROR(descriptor_of(-1, 0), EINVAL);
	CHECK_ERROR(descriptor_of(getpid(), 1), EINVAL);
	CHECK_ERROR(descriptor_of(0x3fffffff, 0), ESRCH);
}

static void readable_at_the_end(void)
{
	int ends[2], fd;
	pid_t child;
	struct pollfd asked;
	char byte;

	MUST(pipe(ends));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? 7 : 1);
	}
	fd = (int)MUST(descriptor_of(child, 0));
	asked = (struct pollfd){ .fd = fd, .events = POLLIN };
	CHECK_EQUAL(poll(&asked, 1, 0), 0);
	MUST(close(ends[1]));
	CHECK_EQUAL(poll(&asked, 1, -1), 1);
	CHECK_EQUAL(asked.revents, POLLIN);
	CHECK_EQUAL(test_wait(child), 7);
	/* The process has ended; a new process with the same number must not get the signal. */
	CHECK_ERROR(send_signal(fd, 0), ESRCH);
	CHECK(poll(&asked, 1, 0) == 1 && asked.revents & POLLIN);
}

static void signals(void)
{
	siginfo_t other = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };
	pid_t child = test_child(sleeps, NULL);
	int fd = (int)MUST(descriptor_of(child, 0));

	CHECK_EQUAL(send_signal(fd, 0), 0);
	CHECK_ERROR(send_signal(fd, 65), EINVAL);
	CHECK_ERROR(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0x100), EINVAL);
	CHECK_ERROR(syscall(SYS_pidfd_send_signal, fd, SIGUSR2, &other, 0), EINVAL);
	CHECK_ERROR(send_signal(0, 0), EBADF);
	CHECK_ERROR(send_signal(-1, 0), EBADF);
	CHECK_EQUAL(send_signal(fd, SIGTERM), 0);
	CHECK_EQUAL(test_wait(child), 1000 + SIGTERM);
}

/* A directory of /proc/<pid> can stand for a process descriptor; other files of /proc cannot. */
static void signals_by_directory(void)
{
	pid_t child = test_child(sleeps, NULL);
	char path[64];
	int fd, other;

	snprintf(path, sizeof(path), "/proc/%d", child);
	fd = (int)MUST(open(path, O_RDONLY | O_DIRECTORY));
	CHECK_EQUAL(send_signal(fd, 0), 0);
	other = (int)MUST(open(path, O_PATH));
	CHECK_ERROR(send_signal(other, 0), EBADF);
	strcat(path, "/task");
	other = (int)MUST(open(path, O_RDONLY));
	CHECK_ERROR(send_signal(other, 0), EBADF);
	other = (int)MUST(open("/proc", O_RDONLY));
	CHECK_ERROR(send_signal(other, 0), EBADF);
	CHECK_EQUAL(send_signal(fd, SIGTERM), 0);
	CHECK_EQUAL(test_wait(child), 1000 + SIGTERM);
	CHECK_ERROR(send_signal(fd, 0), ESRCH);
}

static void waited_for(void)
{
	int status = 5, fd;
	pid_t child = test_child(ends_with, &status);
	siginfo_t info;

	fd = (int)MUST(descriptor_of(child, 0));
	memset(&info, 0, sizeof(info));
	MUST(waitid((idtype_t)OUR_P_PIDFD, (id_t)fd, &info, WEXITED));
	CHECK_EQUAL(info.si_pid, child);
	CHECK_EQUAL(info.si_code, CLD_EXITED);
	CHECK_EQUAL(info.si_status, 5);
	CHECK_ERROR(waitid((idtype_t)OUR_P_PIDFD, (id_t)fd, &info, WEXITED), ECHILD);
	CHECK_ERROR(waitid((idtype_t)OUR_P_PIDFD, 0, &info, WEXITED), EBADF);
	CHECK_ERROR(waitid((idtype_t)OUR_P_PIDFD, (id_t)-1, &info, WEXITED), EINVAL);
	/* The process is not a child. */
	fd = (int)MUST(descriptor_of(getpid(), 0));
	CHECK_ERROR(waitid((idtype_t)OUR_P_PIDFD, (id_t)fd, &info, WEXITED), ECHILD);
}

static void waited_for_without_blocking(void)
{
	pid_t child = test_child(sleeps, NULL);
	int fd = (int)MUST(descriptor_of(child, O_NONBLOCK));
	siginfo_t info;

	CHECK_ERROR(waitid((idtype_t)OUR_P_PIDFD, (id_t)fd, &info, WEXITED), EAGAIN);
	MUST(waitid((idtype_t)OUR_P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG));
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static void descriptors_taken(void)
{
	int ends[2], copy, fd, closed;
	pid_t child;
	char byte = 0;

	MUST(pipe(ends));
	child = test_child(sleeps, NULL);
	closed = ends[0];
	MUST(close(ends[0]));
	fd = (int)MUST(descriptor_of(child, 0));
	/* The child still has the end that was closed here. */
	copy = (int)MUST(syscall(SYS_pidfd_getfd, fd, closed, 0));
	CHECK_EQUAL(fcntl(copy, F_GETFD), FD_CLOEXEC);
	CHECK_EQUAL(write(ends[1], "x", 1), 1);
	CHECK_EQUAL(read(copy, &byte, 1), 1);
	CHECK_EQUAL(byte, 'x');
	CHECK_ERROR(syscall(SYS_pidfd_getfd, fd, 900, 0), EBADF);
	CHECK_ERROR(syscall(SYS_pidfd_getfd, fd, closed, 1), EINVAL);
	CHECK_ERROR(syscall(SYS_pidfd_getfd, ends[1], closed, 0), EBADF);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
	CHECK_ERROR(syscall(SYS_pidfd_getfd, fd, closed, 0), ESRCH);
}

/* What a process that is killed leaves in the kernel. ------------------------------------------------------------ */

#define OUR_CLONE_PIDFD 0x1000
#define PAGE 4096
#define MANY 600
#define ROUNDS 30

/* Objects that the kernel has allocated; 0 on a kernel that does not count them. */
static unsigned long kernel_objects(void)
{
	static const char field[] = "\nkmalloc_objects ";
	char text[2048];
	const char *found;
	int fd = open("/proc/frames", O_RDONLY);
	ssize_t size;

	if (fd < 0)
		return 0;
	size = MUST(read(fd, text, sizeof(text) - 1));
	MUST(close(fd));
	text[size] = 0;
	found = strstr(text, field);
	CHECK(found);
	return strtoul(found + strlen(field), NULL, 10);
}

/* Clones so far of all rounds, in shared memory. */
static volatile unsigned *clones;

/* Most of its time goes into copying the address space, so that the signal usually comes in a clone. */
static int clones_with_descriptors(void *unused)
{
	int fd;
	char *pages = mmap(NULL, MANY * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
			   -1, 0);

	(void)unused;
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	/* Areas of a page each: others may run between two. */
	for (int i = 0; i < MANY; i += 2)
		MUST(mprotect(pages + i * PAGE, PAGE, PROT_READ));
	for (;;) {
		pid_t child = (pid_t)syscall(SYS_clone, OUR_CLONE_PIDFD | SIGCHLD, 0, &fd, 0, 0);

		/* qemu-ppc refuses the flag. */
		if (child < 0 && errno == EINVAL) {
			fd = -1;
			child = fork();
		}
		if (child == 0)
			_exit(0);
		MUST(child);
		if (fd >= 0)
			MUST(close(fd));
		MUST(waitpid(child, NULL, 0));
		++*clones;
	}
	return 0;
}

static void killed_while_cloning(void)
{
	unsigned long before = 0, after = 0;
	const struct sched_param first = { .sched_priority = 1 }, plain = { 0 };

	/* Urgent, so that the signal comes during a clone. Without permission for that, it comes after one. */
	sched_setscheduler(0, SCHED_FIFO, &first);
	clones = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(clones != MAP_FAILED);
	for (int round = 0; round < ROUNDS; round++) {
		const struct timespec tick = { 0, 1000000 }, some = { 0, 1 + round * 130000 };
		unsigned seen = *clones;
		pid_t child = test_child(clones_with_descriptors, NULL);

		while (*clones == seen)
			nanosleep(&tick, NULL);
		nanosleep(&some, NULL);
		MUST(kill(child, SIGKILL));
		CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
		/* The first rounds fill the kernel's caches. init takes the orphans. */
		if (round == 5 || round == ROUNDS - 1) {
			nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
			before = round == 5 ? kernel_objects() : before;
			after = kernel_objects();
		}
	}
	sched_setscheduler(0, SCHED_OTHER, &plain);
	CHECK_EQUAL(after, before);
}

/* What a clone takes while others run. ---------------------------------------------------------------------------- */

#define OUR_CLONE_PARENT 0x8000
#define OUR_CLONE_FILES 0x400

static volatile struct {
	pid_t middle, child;
	int ready;
} *family;

static void many_areas(void)
{
	char *pages = mmap(NULL, MANY * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
			   -1, 0);

	for (int i = 0; i < MANY; i += 2)
		MUST(mprotect(pages + i * PAGE, PAGE, PROT_READ));
}

static int clones_a_sibling(void *unused)
{
	(void)unused;
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	many_areas();
	family->ready = 1;
	family->child = (pid_t)syscall(SYS_clone, OUR_CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	_exit(family->child < 0);
}

static int ends_meanwhile(void *round)
{
	const struct timespec tick = { 0, 100000 }, some = { 0, 1 + *(int *)round * 50000 };

	family->middle = test_child(clones_a_sibling, NULL);
	while (!family->ready)
		nanosleep(&tick, NULL);
	nanosleep(&some, NULL);
	_exit(0);
}

/* The caller's parent ends during the clone: the child's parent is then the one that adopts the caller. */
static void parent_ends_while_cloning(void)
{
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	/* qemu-ppc does not know it. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 && errno == EINVAL)
		return;
	family = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int round = 0; round < ROUNDS; round++) {
		family->ready = family->child = 0;
		CHECK_EQUAL(test_wait(test_child(ends_meanwhile, &round)), 0);
		CHECK_EQUAL(test_wait(family->middle), 0);
		CHECK_EQUAL(test_wait(family->child), 0);
	}
}

static int clones_in_our_table(void *unused)
{
	pid_t child;
	int fd;

	(void)unused;
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	many_areas();
	family->ready = 1;
	for (int n = 0; n < 200; n++) {
		child = (pid_t)syscall(SYS_clone, OUR_CLONE_PIDFD | SIGCHLD, 0, &fd, 0, 0);
		if (child == 0)
			_exit(0);
	}
	for (;;)
		pause();
}

/* A clone that fails leaves no descriptor to those that share the table. */
static void killed_while_cloning_in_a_shared_table(void)
{
	const struct timespec tick = { 0, 100000 };

	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	/* qemu-ppc does not know it. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 && errno == EINVAL)
		return;
	family = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int round = 0; round < ROUNDS; round++) {
		const struct timespec some = { 0, 1 + round * 330000 };
		int first = dup(0), descriptors = 0, children = 0;
		pid_t child;

		MUST(close(first));
		family->ready = 0;
		child = (pid_t)syscall(SYS_clone, OUR_CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
		/* qemu-ppc shares tables among threads only. */
		if (child < 0 && errno == EINVAL)
			return;
		MUST(child);
		if (child == 0)
			_exit(clones_in_our_table(NULL));
		while (!family->ready)
			nanosleep(&tick, NULL);
		nanosleep(&some, NULL);
		MUST(kill(child, SIGKILL));
		for (pid_t ended; (ended = wait(NULL)) > 0;)
			children += ended != child;
		while (close(first + descriptors) == 0)
			descriptors++;
		CHECK_EQUAL(descriptors, children);
	}
}

static const struct test_case cases[] = {
	CASE(opened), CASE(readable_at_the_end), CASE(signals), CASE(signals_by_directory), CASE(waited_for),
	CASE(waited_for_without_blocking),
	CASE(descriptors_taken),
	CASE(killed_while_cloning), CASE(parent_ends_while_cloning),
	CASE(killed_while_cloning_in_a_shared_table),
};

TEST_MAIN("pidfd", cases)
