/* Long calls let others run. What these do meanwhile to the memory and the signals of the caller. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
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

#define SPARSE (4 * PAGE)       /* so far apart are the pages that are used */

static void fork_once(char *memory, unsigned int size)
{
	pid_t child;

	shared->calls = 1;
	child = (pid_t)MUST(fork());
	if (child == 0) {
		for (unsigned int at = 0; at < size; at += SPARSE)
			CHECK_EQUAL(*(unsigned int *)(memory + at), at);
		_exit(0);
	}
	shared->calls = 0;
	CHECK_EQUAL(test_wait(child), 0);
	for (unsigned int at = 0; at < size; at += 16 * PAGE)
		memory[at + 16] = 1;
}

/* Memory with several page tables is written to while a fork goes over it, with either form of fork. */
static void a_write_into_a_fork(void)
{
	const unsigned int size = 12 * MB;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct writer places = { memory, SPARSE, size / SPARSE };
	pid_t writer = start_writer(&places);

	/* Areas that begin and end within a page table. */
	for (unsigned int at = MB; at < size; at += 3 * MB)
		MUST(mprotect(memory + at, MB, PROT_READ | PROT_WRITE | PROT_EXEC));
	for (unsigned int at = 0; at < size; at += SPARSE)
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

/* No area of this process begins before the one below it ends. */
static void areas_do_not_overlap(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, last = 0;
	char line[256];

	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps)) {
		CHECK_EQUAL(sscanf(line, "%lx-%lx", &start, &end), 2);
		CHECK(start >= last && end > start);
		last = end;
	}
	fclose(maps);
}

/* Areas and a hole below a stack are replaced, while writes into the hole try to make the stack grow. */
static void a_stack_grows_into_a_mapping(void)
{
	enum { AREAS = 64, HOLE = 640, ALL = AREAS + HOLE };
	char *memory = mmap(NULL, (ALL + 8) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct writer places = { memory, 55 * PAGE, 13 };
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
		areas_do_not_overlap();
	}
	end_writer(writer);
}

/* Protecting areas of two kinds, while others run, leaves one area: all of it moves in one call. */
static void an_mprotect_that_joins_areas(void)
{
	const unsigned int size = 800 * PAGE;
	char *memory = mmap(NULL, 2 * size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *to = memory + size;
	struct writer places = { memory, 2 * PAGE, 400 };
	pid_t writer;

	CHECK(memory != MAP_FAILED);
	writer = start_writer(&places);
	for (int round = 0; round < ROUNDS; round++) {
		CHECK(mmap(memory, size, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == memory);
		for (unsigned int at = 0; at < size; at += 2 * PAGE)
			MUST(mprotect(memory + at, PAGE, PROT_READ | PROT_WRITE));
		shared->calls = 1;
		MUST(mprotect(memory, size, PROT_READ));
		shared->calls = 0;
		CHECK(mremap(memory, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	}
	end_writer(writer);
}

/* What a thread does while the other one is in a long call. */
static struct act {
	int (*meanwhile)(void);
	volatile int waits, done;
} act;

static void *act_meanwhile(void *argument)
{
	be_urgent();
	act.waits = 1;
	while (!act.done) {
		sleep_us(150);
		if (act.waits == 2)
			act.done = act.meanwhile();
	}
	return argument;
}

static pthread_t start_acting(int (*meanwhile)(void))
{
	pthread_t thread;

	act = (struct act){ .meanwhile = meanwhile };
	CHECK_EQUAL(pthread_create(&thread, NULL, act_meanwhile, NULL), 0);
	while (!act.waits)
		sleep_us(100);
	return thread;
}

#define AREAS_MOST 65536        /* of one address space, of our kernel */

/* Leaves room for one more area in this address space. False: there are too many, or too few pages for them. */
static int fill_areas(void)
{
	char *many = mmap(NULL, (AREAS_MOST + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned int at = PAGE;

	if (many == MAP_FAILED)
		return 0;
	while (at < (AREAS_MOST + 1) * PAGE && mprotect(many + at, PAGE, PROT_READ) == 0)
		at += 2 * PAGE;
	if (at >= (AREAS_MOST + 1) * PAGE)
		return 0;
	/* The last call may have made one area of two. */
	return munmap(many + at - 2 * PAGE, PAGE) == 0;
}

static char *leaving, *hole;

static int map_across_the_end(void)
{
	return mmap(hole - PAGE, 2 * PAGE, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

/* There is no memory for a second part of munmap, which must be cut out of what another thread maps meanwhile. What is
 * left can grow as before. */
static void a_munmap_that_fails_halfway(void)
{
	const unsigned int size = 3 * MB;
	unsigned char in;
	pthread_t thread;
	char *room;
	int result;

	if (access("/proc/policy", F_OK))
		return;
	room = mmap(NULL, size + 4 * MB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(room != MAP_FAILED);
	MUST(munmap(room, size + 4 * MB));
	leaving = mmap(room + 2 * MB, size, PROT_READ | PROT_WRITE,
		       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
	CHECK(leaving == room + 2 * MB);
	memset(leaving, 1, size);
	hole = leaving + size + 4 * PAGE;
	thread = start_acting(map_across_the_end);
	CHECK(fill_areas());
	act.waits = 2;
	result = munmap(leaving, size + 4 * PAGE);
	if (result == 0 && !test_is_timed()) {
		/* By the host's clock the call was over before the other thread woke. */
		pthread_join(thread, NULL);
		return;
	}
	CHECK_ERROR(result, ENOMEM);
	CHECK_EQUAL(act.done, 1);
	while (mincore(leaving, PAGE, &in))
		leaving += PAGE;
	CHECK(leaving > room + 2 * MB && leaving < hole - 5 * PAGE);
	leaving[-(int)PAGE] = 1;
	CHECK_EQUAL(leaving[0], 1);
	pthread_join(thread, NULL);
}

static int grow_where_it_is_free(void)
{
	char *at = mmap(leaving + 6 * MB, PAGE, PROT_READ | PROT_WRITE,
			MAP_FIXED_NOREPLACE | MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);

	if (at == MAP_FAILED)
		return 0;
	at[-(int)PAGE] = 1;
	return 1;
}

/* What another thread maps where munmap has been already is not what munmap removes: it can grow. */
static void a_stack_where_munmap_has_been(void)
{
	const unsigned int size = 12 * MB;
	pthread_t thread;

	/* QEMU's user mode has no stacks that grow. */
	if (access("/proc/policy", F_OK))
		return;
	leaving = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(leaving != MAP_FAILED);
	memset(leaving, 1, size);
	thread = start_acting(grow_where_it_is_free);
	act.waits = 2;
	MUST(munmap(leaving, size));
	while (!act.done)
		sleep_us(100);
	pthread_join(thread, NULL);
}

static int lower_the_heap(void)
{
	return sbrk(-(int)MB) != (void *)-1;
}

/* Two threads make the heap smaller at the same time: all of it is there up to its end. */
static void a_heap_that_two_make_smaller(void)
{
	for (int i = 0; i < 5; i++) {
		char *begin = sbrk(0), *end, *at;
		pthread_t thread;
		unsigned char in;

		CHECK(sbrk(8 * MB) == begin);
		memset(begin, 1, 8 * MB);
		thread = start_acting(lower_the_heap);
		act.waits = 2;
		(void)brk(begin + 2 * MB);
		while (!act.done)
			sleep_us(100);
		end = (char *)syscall(SYS_brk, 0);
		CHECK(end >= begin + MB && end <= begin + 8 * MB);
		for (at = begin; at < end; at += PAGE)
			MUST(mincore(at, PAGE, &in));
		pthread_join(thread, NULL);
		CHECK_EQUAL(brk(begin), 0);
	}
}

#define MAPPED_AREAS 40
#define MAPPED_SIZE (256 * PAGE)

static char *mapped[MAPPED_AREAS];

static void all_zero(void)
{
	for (int i = 0; i < MAPPED_AREAS; i++)
		for (unsigned int at = 0; at < MAPPED_SIZE; at += PAGE)
			CHECK_EQUAL(mapped[i][at], 0);
}

/* Has the file mapped, and forks while it is truncated. */
static int fork_meanwhile(void *argument)
{
	pid_t children[4];

	(void)argument;
	be_urgent();
	shared->ready = 1;
	while (!shared->calls)
		sleep_us(100);
	for (int i = 0; i < 4; i++) {
		children[i] = (pid_t)MUST(fork());
		if (children[i] == 0) {
			while (!shared->ends)
				sleep_us(1000);
			all_zero();
			_exit(0);
		}
		sleep_us(200);
	}
	while (!shared->ends)
		sleep_us(1000);
	all_zero();
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(test_wait(children[i]), 0);
	return 0;
}

/* A file that many areas map is truncated while a process with these areas forks: no page stays in any of them. */
static void a_fork_during_a_truncation(void)
{
	int fd = (int)MUST(memfd_create("mapped", 0));
	pid_t child;

	share();
	MUST(ftruncate(fd, MAPPED_SIZE));
	for (int i = 0; i < MAPPED_AREAS; i++) {
		mapped[i] = mmap(NULL, MAPPED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(mapped[i] != MAP_FAILED);
		memset(mapped[i], 1, MAPPED_SIZE);
	}
	child = test_child(fork_meanwhile, NULL);
	while (!shared->ready)
		sleep_us(100);
	for (int i = 0; i < MAPPED_AREAS; i++)
		mapped[i][0] = 1;
	shared->calls = 1;
	MUST(ftruncate(fd, 0));
	MUST(ftruncate(fd, MAPPED_SIZE));
	shared->ends = 1;
	all_zero();
	CHECK_EQUAL(test_wait(child), 0);
}

static int wakes;

/* After some parts of the truncation. */
static int join_areas(void)
{
	return ++wakes == 12 && madvise(mapped[0] + MAPPED_SIZE, MAPPED_SIZE, MADV_DODUMP) == 0;
}

/* A file that many areas map is truncated. The first area, which is done, is joined with the last one, which is not: no
 * page stays in it. */
static void areas_join_during_a_truncation(void)
{
	int fd = (int)MUST(memfd_create("mapped", 0));
	pthread_t thread;

	MUST(ftruncate(fd, 2 * MAPPED_SIZE));
	for (int i = 0; i < MAPPED_AREAS; i++) {
		mapped[i] = mmap(NULL, i ? MAPPED_SIZE : 2 * MAPPED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(mapped[i] != MAP_FAILED);
		memset(mapped[i], 1, i ? MAPPED_SIZE : 2 * MAPPED_SIZE);
	}
	/* Cuts the first area in two: the upper one is now the last that maps the file. */
	MUST(madvise(mapped[0] + MAPPED_SIZE, MAPPED_SIZE, MADV_DONTDUMP));
	wakes = 0;
	thread = start_acting(join_areas);
	act.waits = 2;
	MUST(ftruncate(fd, 0));
	MUST(ftruncate(fd, 2 * MAPPED_SIZE));
	while (!act.done)
		sleep_us(100);
	pthread_join(thread, NULL);
	all_zero();
	for (unsigned int at = MAPPED_SIZE; at < 2 * MAPPED_SIZE; at += PAGE)
		CHECK_EQUAL(mapped[0][at], 0);
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

#define FORK_ALLOCATIONS 50

static char *pages;
static volatile int forked;

static int write_page(void)
{
	pages[3 * PAGE]++;
	return forked;
}

/* The n-th allocation from now on fails. If pwrite() itself needs it, this tries again. */
static void fail_allocation(int file, int n)
{
	char number[12];
	int size = snprintf(number, sizeof(number), "%d", n);

	while (pwrite(file, number, (size_t)size, 0) != size)
		CHECK_EQUAL(errno, ENOMEM);
}

/* A fork that shares page tables fails between two areas of one table. Before the child has given up what it got,
 * another thread of the parent writes to the second area, for which the parent gets a table of its own. */
static void a_fork_that_fails_halfway(void)
{
	const unsigned int size = 8 * MB, table = 4 * MB;
	pthread_t thread;
	char *memory;
	pid_t child;
	int file = open("/proc/failalloc", O_WRONLY);

	if (file < 0 || !store_policy("fork.tables=share"))
		return;
	memory = mmap(NULL, size + 3 * table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	memset(memory, 1, size);
	/* Areas with a hole between them, in a table of their own. */
	pages = (char *)(((unsigned long)memory + size + 2 * table - 1) & ~(unsigned long)(table - 1));
	memset(pages, 1, 8 * PAGE);
	MUST(munmap(pages + 2 * PAGE, PAGE));
	MUST(munmap(memory + size, pages - memory - size));
	thread = start_acting(write_page);
	act.waits = 2;
	/* The other thread's faults allocate too. */
	for (int n = 1; n < FORK_ALLOCATIONS; n++) {
		fail_allocation(file, n);
		child = fork();
		if (child == 0)
			_exit(0);
		CHECK(child > 0 || errno == ENOMEM || errno == EAGAIN);
		if (child > 0)
			CHECK_EQUAL(test_wait(child), 0);
	}
	fail_allocation(file, 0);
	close(file);
	forked = 1;
	pthread_join(thread, NULL);
	CHECK(store_policy("fork.tables=copy"));
}

static const struct test_case cases[] = {
	CASE(a_write_into_a_fork), CASE(a_stack_grows_into_a_mapping), CASE(an_mprotect_that_joins_areas),
	CASE(a_signal_while_the_leader_ends), CASE(a_munmap_that_fails_halfway), CASE(a_heap_that_two_make_smaller),
	CASE(a_stack_where_munmap_has_been), CASE(a_fork_during_a_truncation),
	CASE(areas_join_during_a_truncation), CASE(a_fork_that_fails_halfway),
};

TEST_MAIN("meanwhile", cases)
