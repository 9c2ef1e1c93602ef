/* Threads, or processes, on processors of their own (crew.h). */
#include "crew.h"

#include <errno.h>
#include <linux/futex.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define LINE 32       /* bytes of a cache line: each word that one thread changes and others read has its own */
#define TO_SLEEP 4000 /* turns of a loop, long enough for a thread to go to sleep */

static struct crew {
	volatile int round __attribute__((aligned(LINE)));
	bench_piece *piece;
	void *context;
	volatile int done __attribute__((aligned(LINE)));
	int sleep;
} of_threads, *crew = &of_threads;
static unsigned long others;

static void *member(void *number)
{
	int seen = 0;

	bench_bind((unsigned long)number);
	for (;;) {
		while (__atomic_load_n(&crew->round, __ATOMIC_ACQUIRE) == seen)
			if (crew->sleep)
				syscall(SYS_futex, &crew->round, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
		seen++;
		crew->piece(crew->context, (unsigned long)number);
		__atomic_add_fetch(&crew->done, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

void bench_crew_start(unsigned long count, int sleep)
{
	crew->sleep = sleep;
	others = count;
	bench_bind(0);
	for (unsigned long i = 1; i <= count; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, NULL, member, (void *)i);
		if (errno)
			bench_die("pthread_create");
	}
}

/* Whoever waits for a process that ended would wait forever. */
static void end_with_child(int number)
{
	(void)number;
	_exit(1);
}

void bench_crew_start_processes(unsigned long count)
{
	crew = mmap(NULL, sizeof(*crew), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (crew == MAP_FAILED)
		bench_die("mmap");
	others = count;
	for (unsigned long i = count + 1; i-- > 0;)     /* so many there are; the caller stays on the first */
		bench_bind(i);
	signal(SIGCHLD, end_with_child);
	for (unsigned long i = 1; i <= count; i++)
		if (bench_check(fork(), "fork") == 0)
			member((void *)i);
}

static void leave(void *context, unsigned long number)
{
	(void)context, (void)number;
	_exit(0);
}

void bench_crew_end_processes(void)
{
	signal(SIGCHLD, SIG_DFL);
	bench_crew_begin(leave, NULL);
	for (unsigned long i = 0; i < others; i++)
		bench_check(wait(NULL), "wait");
}

void bench_crew_begin(bench_piece *piece, void *context)
{
	crew->piece = piece;
	crew->context = context;
	crew->done = 0;
	__atomic_add_fetch(&crew->round, 1, __ATOMIC_RELEASE);
	if (crew->sleep)
		syscall(SYS_futex, &crew->round, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void bench_crew_wait(void)
{
	while (__atomic_load_n(&crew->done, __ATOMIC_ACQUIRE) != (int)others)
		;
	if (crew->sleep)
		for (volatile int turn = 0; turn < TO_SLEEP; turn++)
			;
}

struct range {
	const unsigned char *start;
	size_t bytes;
};

static void read_pages(void *context, unsigned long number)
{
	const struct range *range = context;

	(void)number;
	for (size_t at = 0; at < range->bytes; at += 4096)
		(void)*(volatile const unsigned char *)(range->start + at);
}

void bench_crew_touch(const void *start, size_t bytes)
{
	struct range range = { start, bytes };

	bench_crew_begin(read_pages, &range);
	bench_crew_wait();
}
