/* Calls that take very long: signals end them, and other processes run meanwhile. Uses guest time, so only our kernel
 * can pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096u
#define MB (1u << 20)
#define NAMES 20000
#define HUGE (1u << 30)

/* A signal is delivered within two ticks, because another process must get its time slice first. */
#define TAKEN_NS 20000000

static void *map(size_t size, int protection, int flags)
{
	void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static void send_from(const char *path)
{
	int in = (int)MUST(open(path, O_RDONLY)), out = (int)MUST(open("/dev/null", O_WRONLY));

	for (;;)
		MUST(sendfile(out, in, NULL, HUGE));
}

static int send_zeros(void *argument)
{
	(void)argument;
	send_from("/dev/zero");
	return 0;
}

static int send_random(void *argument)
{
	(void)argument;
	send_from("/dev/random");
	return 0;
}

static int read_a_hole(void *argument)
{
	int fd = (int)MUST(memfd_create("hole", 0));
	struct iovec pieces[1000];
	void *one = map(MB, PROT_READ | PROT_WRITE, 0);

	(void)argument;
	for (size_t i = 0; i < 1000; i++)
		pieces[i] = (struct iovec){ one, MB };
	MUST(ftruncate(fd, 1000 * MB));
	for (;;)
		MUST(preadv(fd, pieces, 1000, 0));
	return 0;
}

static int look_at_pages(void *argument)
{
	void *at = map(HUGE, PROT_READ, 0);
	unsigned char *vector = map(HUGE / PAGE, PROT_READ | PROT_WRITE, 0);

	(void)argument;
	for (;;)
		MUST(mincore(at, HUGE, vector));
	return 0;
}

static int populate(void *argument)
{
	(void)argument;
	for (;;)
		MUST(munmap(map(HUGE, PROT_READ, MAP_POPULATE), HUGE));
	return 0;
}

static int seek(void *argument)
{
	int fd = (int)MUST(memfd_create("hole", 0));

	(void)argument;
	MUST(ftruncate(fd, (off_t)1 << 43));
	for (;;)
		CHECK_ERROR(lseek(fd, 0, SEEK_DATA), ENXIO);
	return 0;
}

static int punch(void *argument)
{
	int fd = (int)MUST(memfd_create("hole", 0));

	(void)argument;
	MUST(ftruncate(fd, (off_t)1 << 43));
	for (;;)
		MUST(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)1 << 43));
	return 0;
}

/* The line is full, so the rest is dropped. */
static int type_at_a_terminal(void *argument)
{
	int fd = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY));
	void *at = map(HUGE, PROT_READ, 0);

	(void)argument;
	for (;;)
		MUST(write(fd, at, HUGE));
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void *);
	long long within;	/* ns from kill to wait */
} endless[] = {
	{ "send_zeros", send_zeros, TAKEN_NS },
	{ "send_random", send_random, TAKEN_NS },
	{ "read_a_hole", read_a_hole, TAKEN_NS },
	{ "look_at_pages", look_at_pages, TAKEN_NS },
	/* The kernel unmaps all pages mapped so far, which takes as long as mapping them. */
	{ "populate", populate, 50 * TAKEN_NS },
	{ "seek", seek, TAKEN_NS },
	{ "punch", punch, TAKEN_NS },
	{ "type_at_a_terminal", type_at_a_terminal, TAKEN_NS },
};
#define ENDLESS (sizeof(endless) / sizeof(endless[0]))

static void a_long_call_is_killed(void)
{
	int late = 0;

	for (size_t i = 0; i < ENDLESS; i++) {
		const struct timespec some = { 0, 30000000 };
		pid_t child = test_child(endless[i].run, NULL);
		long long before;

		MUST(nanosleep(&some, NULL));
		before = test_now();
		MUST(kill(child, SIGKILL));
		CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
		printf("%s: %lld ns\n", endless[i].name, test_now() - before);
		late += test_is_timed() && test_now() - before > endless[i].within;
	}
	CHECK_EQUAL(late, 0);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int n)
{
	(void)n;
	alarms++;
}

/* The call returns the number of bytes that it had moved when the signal came. */
static void a_long_call_is_interrupted(void)
{
	static const char *const from[] = { "/dev/zero", "/dev/random" };
	const struct sigaction handle = { .sa_handler = on_alarm };
	const struct itimerval soon = { { 0, 0 }, { 0, 30000 } };
	int out = (int)MUST(open("/dev/null", O_WRONLY));

	MUST(sigaction(SIGALRM, &handle, NULL));
	for (int i = 0; i < 2; i++) {
		int in = (int)MUST(open(from[i], O_RDONLY));
		long long before = test_now();
		ssize_t n;

		alarms = 0;
		MUST(setitimer(ITIMER_REAL, &soon, NULL));
		n = sendfile(out, in, NULL, HUGE);
		CHECK(n > 0 && n < (ssize_t)HUGE);
		CHECK_EQUAL(alarms, 1);
		CHECK(!test_is_timed() || test_now() - before < 30000000 + TAKEN_NS);
		close(in);
	}
	close(out);
}

/* Listing goes on behind thousands of names. */
static int list_behind_names(void *argument)
{
	static char entries[PAGE];
	char name[16];
	int fd;

	(void)argument;
	MUST(mkdir(test_path("listed"), 0700));
	MUST(chdir(test_path("listed")));
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "%d", i);
		MUST(mknod(name, S_IFREG | 0600, 0));
	}
	fd = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
	for (;;) {
		MUST(lseek(fd, NAMES, SEEK_SET));
		CHECK(MUST(syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0);
	}
}

static void others_run_during_a_listing(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	const struct timespec little = { 0, 1000000 };
	pid_t child = test_child(list_behind_names, NULL);
	long long longest = 0;

	sleep(1);
	MUST(sched_setscheduler(0, SCHED_FIFO, &first));
	for (int i = 0; i < 50; i++) {
		long long before = test_now(), took;

		MUST(nanosleep(&little, NULL));
		took = test_now() - before;
		longest = took > longest ? took : longest;
	}
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
	MUST(sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 }));
	printf("listing: another process waits %lld us\n", longest / 1000);
	CHECK(!test_is_timed() || longest < 5000000);
}

static const struct test_case cases[] = {
	CASE(a_long_call_is_killed),
	CASE(a_long_call_is_interrupted),
	CASE(others_run_during_a_listing),
};

TEST_MAIN("long_call", cases)
