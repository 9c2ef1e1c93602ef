/* thread-faults: the threads of one process, each on its own processor, touch pages of their own at the same time. The
 * row is the time in which each thread has one fault; mapping and unmapping are not measured. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/bench.h"
#include "../common/counts.h"
#include "../common/crew.h"

#define PAGE 4096ul

struct job {
	unsigned long pages, threads;
	size_t bytes; /* of one thread */
	unsigned char *memory;
	int file; /* -1: fresh memory */
	unsigned int region;
};

static void touch(void *context, unsigned long number)
{
	const struct job *job = context;
	volatile unsigned char *part = job->memory + number * job->bytes;

	for (size_t at = 0; at < job->bytes; at += PAGE)
		if (job->file < 0)
			part[at] = 1;
		else
			(void)part[at];
}

static void once(struct job *job, int measured)
{
	size_t all = job->bytes * job->threads;
	int of_file = job->file >= 0;

	job->memory = mmap(NULL, all, of_file ? PROT_READ : PROT_READ | PROT_WRITE,
			   of_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, job->file, 0);
	if (job->memory == MAP_FAILED)
		bench_die("mmap");
	if (measured)
		bench_region_again(job->region);
	bench_crew_begin(touch, job);
	touch(job, 0);
	bench_crew_wait();
	if (measured)
		bench_region_end(job->region);
	bench_check(munmap(job->memory, all), "munmap");
}

int main(int argc, char **argv)
{
	struct job job = { .pages = 256, .threads = 2, .file = -1 };
	const char *of = "memory", *path = NULL;
	const struct bench_option options[] = {
		BENCH_NUMBER("pages", &job.pages, 1, 4096, "pages of each thread"),
		BENCH_NUMBER("threads", &job.threads, 1, 8, "threads in all, each on its processor"),
		BENCH_WORD("of", &of, "memory|file", "what they touch: write fresh memory, or read a mapped file"),
		BENCH_END,
	};

	bench_start("thread-faults", argc, argv, options, 4, 1);
	job.bytes = job.pages * PAGE;
	if (strcmp(of, "file") == 0) {
		path = bench_file("thread-faults", job.bytes * job.threads);
		job.file = (int)bench_check(open(path, O_RDONLY), path);
	}
	bench_crew_start(job.threads - 1, 0);
	job.region = bench_region_begin();
	bench_region_end(job.region);
	for (unsigned long i = 0; i < bench_warmup; i++)
		once(&job, 0);
	bench_counts_begin();
	for (unsigned long i = 0; i < bench_iterations; i++)
		once(&job, 1);
	bench_counts_end();
	bench_row("thread-faults", job.region, bench_iterations * job.pages, 0, BENCH_US, 0);
	if (path)
		unlink(path);
	return 0;
}
