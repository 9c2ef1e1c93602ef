/* LmBench's timing intervals as regions of interest: linked with --wrap=benchmp, so that each of a program's benchmarks
 * runs between the two marks. Writes "@region <number> <iterations>" for a benchmark's longest intervals (the shorter ones
 * find out how many iterations that takes). LMBENCH_REGION is the number of the first region. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef void benchmark(unsigned long iterations, void *cookie);

enum { REGION_BEGIN = 0x00 / 4, REGION_END = 0x04 / 4 };
#define LENGTHS 32

/* What the process that is timed tells the one that prints. */
struct lengths {
	unsigned int last;
	unsigned long of[LENGTHS], done[LENGTHS];
};

static volatile uint32_t *control;
static struct lengths *lengths;
static unsigned int first;
static benchmark *timed;

void __real_benchmp(benchmark *initialize, benchmark *run, benchmark *cleanup, int enough, int parallel, int warmup,
		    int repetitions, void *cookie);
void __wrap_benchmp(benchmark *initialize, benchmark *run, benchmark *cleanup, int enough, int parallel, int warmup,
		    int repetitions, void *cookie);

/* A page that a child has too, in the place of one of the heap, so that the program has no further page table. */
static void *shared(int flags, int fd)
{
	void *page = NULL;

	if (posix_memalign(&page, 4096, 4096) == 0)
		page = mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | flags, fd, 0);
	if (!page || page == MAP_FAILED) {
		perror("a shared page");
		exit(1);
	}
	return page;
}

static void marked(unsigned long iterations, void *cookie)
{
	if (lengths->of[lengths->last] != iterations && lengths->of[lengths->last] && lengths->last + 1 < LENGTHS)
		lengths->last++;
	lengths->of[lengths->last] = iterations;
	lengths->done[lengths->last] += iterations;
	control[REGION_BEGIN] = first + lengths->last;
	timed(iterations, cookie);
	control[REGION_END] = first + lengths->last;
}

void __wrap_benchmp(benchmark *initialize, benchmark *run, benchmark *cleanup, int enough, int parallel, int warmup,
		    int repetitions, void *cookie)
{
	unsigned int i, longest = 0;

	if (!control) {
		control = shared(0, open("/dev/pagewalk", O_RDWR));
		first = (unsigned int)atoi(getenv("LMBENCH_REGION"));
	}
	lengths = shared(MAP_ANONYMOUS, -1);
	timed = run;
	__real_benchmp(initialize, marked, cleanup, enough, parallel, warmup, repetitions, cookie);
	for (i = 1; i < LENGTHS; i++)
		if (lengths->of[i] > lengths->of[longest])
			longest = i;
	fprintf(stderr, "@region %u %lu\n", first + longest, lengths->done[longest]);
	first += LENGTHS;
}
