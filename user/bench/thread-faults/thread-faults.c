/* thread-faults: the threads of one process, or as many processes, each on its own processor, touch pages of their own
 * at the same time. The row is the time in which each has one fault; mapping and unmapping are not measured. */
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
	int apart; /* they are processes: each maps its own part */
	unsigned int region;
};

static void map_from(struct job *job, size_t bytes, size_t offset)
{
	int of_file = job->file >= 0;

	job->memory = mmap(NULL, bytes, of_file ? PROT_READ : PROT_READ | PROT_WRITE,
			   of_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, job->file, of_file ? (off_t)offset : 0);
	if (job->memory == MAP_FAILED)
		bench_die("mmap");
}

static void map_own(void *context, unsigned long number)
{
	struct job *job = context;

	map_from(job, job->bytes, number * job->bytes);
}

static void unmap_own(void *context, unsigned long number)
{
	struct job *job = context;

	(void)number;
	bench_check(munmap(job->memory, job->bytes), "munmap");
}

static void touch(void *context, unsigned long number)
{
	const struct job *job = context;
	volatile unsigned char *part = job->memory + (job->apart ? 0 : number * job->bytes);

	for (size_t at = 0; at < job->bytes; at += PAGE)
		if (job->file < 0)
			part[at] = 1;
		else
			(void)part[at];
}

/* All do the piece of work at the same time. */
static void all_do(bench_piece *piece, struct job *job)
{
	bench_crew_begin(piece, job);
	piece(job, 0);
	bench_crew_wait();
}

static void once(struct job *job, int measured)
{
	if (job->apart)
		all_do(map_own, job);
	else
		map_from(job, job->bytes * job->threads, 0);
	if (measured)
		bench_region_again(job->region);
	all_do(touch, job);
	if (measured)
		bench_region_end(job->region);
	if (job->apart)
		all_do(unmap_own, job);
	else
		bench_check(munmap(job->memory, job->bytes * job->threads), "munmap");
}

int main(int argc, char **argv)
{
	struct job job = { .pages = 256, .threads = 2, .file = -1 };
	const char *of = "memory", *as = "threads", *path = NULL;
	const struct bench_option options[] = {
		BENCH_NUMBER("pages", &job.pages, 1, 4096, "pages of each thread"),
		BENCH_NUMBER("threads", &job.threads, 1, 8, "threads in all, each on its processor"),
		BENCH_WORD("of", &of, "memory|file", "what they touch: write fresh memory, or read a mapped file"),
		BENCH_WORD("as", &as, "threads|processes", "who they are: threads of one process, or a process each"),
		BENCH_END,
	};

	bench_start("thread-faults", argc, argv, options, 4, 1);
	job.bytes = job.pages * PAGE;
	if (strcmp(of, "file") == 0) {
		path = bench_file("thread-faults", job.bytes * job.threads);
		job.file = (int)bench_check(open(path, O_RDONLY), path);
	}
	job.apart = strcmp(as, "processes") == 0;
	if (job.apart)
		bench_crew_start_processes(job.threads - 1);
	else
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
	if (job.apart)
		bench_crew_end_processes();
	if (path)
		unlink(path);
	return 0;
}
