/* refill: a flush, and what it costs afterwards. Each thread has read a working set and the pages of a range; then one
 * thread write-protects the range, and each thread reads its working set again. The row is the time of both. */
#include <sys/mman.h>

#include "../common/bench.h"
#include "../common/crew.h"

#define PAGE 4096ul
#define LINE 64ul

struct job {
	unsigned long pages, set, threads;
	unsigned char *range, *memory;
};

static unsigned char *map(unsigned long pages)
{
	unsigned char *memory =
		mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		bench_die("mmap");
	for (unsigned long n = 0; n < pages; n++)
		*(volatile unsigned char *)(memory + n * PAGE) = 1;
	return memory;
}

/* One word of each page, in another line of each, so that the D-cache holds them as long as it can. */
static void read_set(void *context, unsigned long number)
{
	const struct job *job = context;

	(void)number;
	for (unsigned long n = 0; n < job->set; n++)
		(void)*(volatile unsigned char *)(job->memory + n * PAGE + n * LINE % PAGE);
}

static void each_reads(struct job *job)
{
	if (job->threads > 1)
		bench_crew_begin(read_set, job);
	read_set(job, 0);
	if (job->threads > 1)
		bench_crew_wait();
}

static void once(struct job *job, unsigned int region, int measured)
{
	job->range = map(job->pages);
	bench_crew_touch(job->range, job->pages * PAGE);
	each_reads(job);
	if (measured)
		bench_region_again(region);
	bench_check(mprotect(job->range, job->pages * PAGE, PROT_READ), "mprotect");
	each_reads(job);
	if (measured)
		bench_region_end(region);
	bench_check(munmap(job->range, job->pages * PAGE), "munmap");
}

int main(int argc, char **argv)
{
	struct job job = { .pages = 8, .set = 64, .threads = 1 };
	const struct bench_option options[] = {
		BENCH_NUMBER("pages", &job.pages, 1, 4096, "pages that are protected"),
		BENCH_NUMBER("set", &job.set, 1, 4096, "pages of the working set"),
		BENCH_NUMBER("threads", &job.threads, 1, 8, "threads in all, each on its processor"),
		BENCH_END,
	};
	unsigned int region;

	bench_start("refill", argc, argv, options, 20, 3);
	job.memory = map(job.set);
	bench_crew_start(job.threads - 1, 0);
	region = bench_region_begin();
	bench_region_end(region);
	for (unsigned long i = 0; i < bench_iterations + bench_warmup; i++)
		once(&job, region, i >= bench_warmup);
	bench_row("refill", region, bench_iterations, 0, BENCH_US, 0);
	return 0;
}
