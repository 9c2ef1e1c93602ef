/* Long calls let others run. What these do meanwhile to the memory and the signals of the caller. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096u
#define MB (1u << 20)
#define ROUNDS 40

/* What the caller and the other process share. */
static volatile struct shared {
	int calls;              /* the caller is in the call */
	int ends;
	int ready, caught;
} *shared;

static void share(void)
{
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
}

/* On Linux with its limits this fails, and the test checks less. */
static void be_urgent(void)
{
	(void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 5 });
}

static void sleep_us(long us)
{
	nanosleep(&(struct timespec){ 0, us * 1000 }, NULL);
}

/* Writes into the parent's memory, at one of `count` places that are `step` apart, while the parent is in the call. */
struct writer {
	char *start;
	unsigned int step, count;
};

static int write_to_parent(void *argument)
{
	const struct writer *w = argument;
	char byte = 77;

	be_urgent();
	for (unsigned int n = 0; !shared->ends; n++) {
		struct iovec from = { &byte, 1 }, to = { w->start + n * 7 % w->count * w->step + 8, 1 };

		sleep_us(100 + n * 37 % 700);
		if (shared->calls)
			(void)process_vm_writev(getppid(), &from, 1, &to, 1, 0);
	}
	return 0;
}

static pid_t start_writer(struct writer *writer)
{
	share();
	MUST(prctl(PR_SET_DUMPABLE, 1));
	return test_child(write_to_parent, writer);
}

static void end_writer(pid_t writer)
{
	shared->ends = 1;
	CHECK_EQUAL(test_wait(writer), 0);
}

static int store_policy(const char *words)
{
	int fd = open("/proc/policy", O_WRONLY);
	int done = fd >= 0 && write(fd, words, strlen(words)) == (ssize_t)strlen(words);

	close(fd);
	return done;
}

static void fork_once(char *memory, unsigned int size)
{
	pid_t child;

	shared->calls = 1;
	child = (pid_t)MUST(fork());
	if (child == 0) {
		for (unsigned int at = 0; at < size; at += PAGE)
			CHECK_EQUAL(*(unsigned int *)(memory + at), at);
		_exit(0);
	}
	shared->calls = 0;
	CHECK_EQUAL(test_wait(child), 0);
	for (unsigned int at = 0; at < size; at += 16 * PAGE)
		memory[at + 16] = 1;
}

/* The memory is written to while a fork goes over it, with either form of fork. */
static void a_write_into_a_fork(void)
{
	const unsigned int size = 3 * MB;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct writer places = { memory, PAGE, size / PAGE };
	pid_t writer = start_writer(&places);

	for (unsigned int at = 0; at < size; at += PAGE)
		*(unsigned int *)(memory + at) = at;
	for (int shares = 0; shares < 2; shares++) {
		int set = shares && store_policy("fork.tables=share");

		for (int i = 0; i < ROUNDS / 2; i++)
			fork_once(memory, size);
		if (set)
			CHECK(store_policy("fork.tables=copy"));
	}
	end_writer(writer);
}

/* An area below a stack is replaced; the stack grows down to what is gone already. */
static void a_stack_grows_into_a_mapping(void)
{
	enum { AREAS = 64, HOLE = 64, ALL = AREAS + HOLE };
	char *memory = mmap(NULL, (ALL + 8) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct writer places = { memory, 13 * PAGE, 5 };
	pid_t writer = start_writer(&places);

	CHECK(memory != MAP_FAILED);
	for (int i = 0; i < ROUNDS; i++) {
		MUST(munmap(memory, (ALL + 8) * PAGE));
		CHECK(mmap(memory + (ALL + 2) * PAGE, 4 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0) != MAP_FAILED);
		for (int k = 0; k < AREAS; k++) {
			int rights = PROT_READ | PROT_WRITE | (k % 2 ? 0 : PROT_EXEC);
			char *at = mmap(memory + k * PAGE, PAGE, rights, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1,
					0);

			CHECK(at != MAP_FAILED);
			at[5] = 1;
		}
		shared->calls = 1;
		CHECK(mmap(memory, ALL * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0) == memory);
		shared->calls = 0;
		CHECK_EQUAL(memory[5], 0);
	}
	end_writer(writer);
}

static void catch_signal(int number)
{
	(void)number;
	shared->caught = 1;
}

static void *wait_in_thread(void *argument)
{
	shared->ready = 1;
	for (;;)
		pause();
	return argument;
}

/* The leader ends, and gives up a large file on the way; another thread goes on. */
static int end_the_leader(void *argument)
{
	pthread_t thread;
	int fd;
	char *file;

	(void)argument;
	(void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	CHECK(signal(SIGUSR1, catch_signal) != SIG_ERR);
	CHECK_EQUAL(pthread_create(&thread, NULL, wait_in_thread, NULL), 0);
	while (!shared->ready)
		sleep_us(100);
	MUST(unshare(CLONE_FILES));
	fd = (int)MUST(memfd_create("large", MFD_CLOEXEC));
	MUST(ftruncate(fd, 3 * MB));
	file = mmap(NULL, 3 * MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(file != MAP_FAILED);
	memset(file, 1, 3 * MB);
	MUST(munmap(file, 3 * MB));
	shared->calls = 1;
	syscall(SYS_exit, 0);
	return 0;
}

static void a_signal_while_the_leader_ends(void)
{
	share();
	be_urgent();
	for (int i = 0; i < ROUNDS; i++) {
		pid_t child;

		shared->ready = shared->calls = shared->caught = 0;
		child = test_child(end_the_leader, NULL);
		while (!shared->calls)
			sleep_us(200);
		sleep_us(1 + i * 97 % 4000);
		MUST(kill(child, SIGUSR1));
		for (int tries = 0; !shared->caught && tries < 1000; tries++)
			sleep_us(1000);
		CHECK(shared->caught);
		MUST(kill(child, SIGKILL));
		test_wait(child);
	}
}

static const struct test_case cases[] = {
	CASE(a_write_into_a_fork), CASE(a_stack_grows_into_a_mapping), CASE(a_signal_while_the_leader_ends),
};

TEST_MAIN("meanwhile", cases)
