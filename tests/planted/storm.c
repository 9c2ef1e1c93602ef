/*
 * A storm of changes of translations, which the translation sanitizer must find nothing in: storm MILLISECONDS. A
 * thread on each processor, or two threads on one, maps, protects, moves, drops, copies, truncates and writes anew
 * pages of data and of instructions, and checks what the pages hold. Prints the turns of all threads; status 1 if a
 * page holds something else.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "returns.h"

#define PAGE  4096
#define PAGES 12
#define MOST  8
#define SIZE  (PAGES * PAGE)
#define CROWD (768L * PAGE)

static long long until; /* in milliseconds */
static long turns[MOST], processors;
/* What makes a fork long, so that another thread may run between its changes and its flush. */
static char *crowd;
static char *places; /* twice SIZE for each thread, so that no thread maps pages at another one's addresses */

static void cannot(const char *what)
{
	perror(what);
	_exit(2);
}

static void wrong(const char *what, int is, int wanted)
{
	printf("storm: %s: %d, not %d\n", what, is, wanted);
	fflush(stdout);
	_exit(1);
}

static void holds(const volatile char *at, char wanted)
{
	for (long n = 0; n < PAGES; n++)
		if (at[n * PAGE] != wanted)
			wrong("a page holds", at[n * PAGE], wanted);
}

static void fill(volatile char *at, char value)
{
	for (long n = 0; n < PAGES; n++)
		at[n * PAGE] = value;
}

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static char *mapped(void *where, long bytes, int protection, int file)
{
	int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *at = mmap(where, (size_t)bytes, protection, kind | (where ? MAP_FIXED : 0), file, 0);

	if (at == MAP_FAILED)
		cannot("mmap");
	return at;
}

/* What the parent writes is not the child's, and the other way round. */
static void copies(char *at, char value)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		cannot("fork");
	if (child == 0) {
		holds(at, value);
		fill(at, 101);
		holds(at, 101);
		_exit(0);
	}
	fill(at, (char)(value + 1));
	if (waitpid(child, &status, 0) != child || status != 0)
		wrong("a child ended with", status, 0);
	holds(at, (char)(value + 1));
}

static void protects(char *at, char value)
{
	if (mprotect(at + PAGE, SIZE - 2 * PAGE, PROT_READ))
		cannot("mprotect");
	holds(at, value);
	if (mprotect(at, SIZE, PROT_READ | PROT_WRITE))
		cannot("mprotect");
	fill(at, 5);
	holds(at, 5);
}

static void moves(char *at, char value)
{
	char *to = mapped(at + SIZE, SIZE, PROT_NONE, -1);

	if (mremap(at, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		cannot("mremap");
	mapped(at, SIZE, PROT_READ | PROT_WRITE, -1);
	holds(at, 0);
	holds(to, value);
	munmap(to, SIZE);
}

static void drops(char *at, char value)
{
	(void)value;
	madvise(at + PAGE, SIZE - PAGE, MADV_DONTNEED);
	at[0] = 0;
	holds(at, 0);
}

/* Pages of a file, which is truncated while they are mapped. */
static void truncates(char *at, char value)
{
	int file = memfd_create("storm", 0);
	char *shared;

	if (file < 0 || ftruncate(file, SIZE))
		cannot("memfd_create");
	shared = mapped(at + SIZE, SIZE, PROT_READ | PROT_WRITE, file);
	fill(shared, value);
	if (ftruncate(file, 0) || ftruncate(file, SIZE))
		cannot("ftruncate");
	holds(shared, 0);
	munmap(shared, SIZE);
	close(file);
}

/* A page of instructions is written to after it has run: what is known of its instructions' entry changes. */
static void writes_code(char *at, char value)
{
	int (*call)(void) = (int (*)(void))(void *)at;
	int returned;

	if (mprotect(at, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC))
		cannot("mprotect");
	for (int n = 0; n < 4; n++) {
		write_code(at, n % 2);
		returned = call();
		if (returned != n % 2 + 1)
			wrong("code returns", returned, n % 2 + 1);
	}
	at[0] = value;
	holds(at, value);
}

static void (*const all[])(char *at, char value) = {copies, protects, moves, drops, truncates, writes_code};

static void *storms(void *argument)
{
	long number = (long)argument;
	unsigned seed = (unsigned)number + 1;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((int)(number % processors), &one);
	if (sched_setaffinity(0, sizeof one, &one))
		cannot("sched_setaffinity");
	do {
		char *at = mapped(places + number * 2 * SIZE, SIZE, PROT_READ | PROT_WRITE, -1);
		char value = (char)(turns[number] % 90 + 1);

		fill(at, value);
		seed = seed * 1103515245 + 12345;
		all[(seed >> 16) % (sizeof all / sizeof *all)](at, value);
		munmap(at, SIZE);
		turns[number]++;
	} while (now() < until);
	return NULL;
}

int main(int count, char **words)
{
	pthread_t threads[MOST];
	long many, sum = 0;

	until = now() + (count > 1 ? atol(words[1]) : 1000);
	processors = sysconf(_SC_NPROCESSORS_ONLN);
	many = processors == 1 ? 2 : processors > MOST ? MOST : processors;
	crowd = mapped(NULL, CROWD, PROT_READ | PROT_WRITE, -1);
	for (long n = 0; n < CROWD; n += PAGE)
		crowd[n] = 1;
	places = mapped(NULL, MOST * 2 * SIZE, PROT_NONE, -1);
	for (long n = 0; n < many; n++)
		if (pthread_create(threads + n, NULL, storms, (void *)n))
			cannot("pthread_create");
	for (long n = 0; n < many; n++) {
		pthread_join(threads[n], NULL);
		sum += turns[n];
	}
	printf("storm: %ld turns\n", sum);
	return 0;
}
