/* shootdown: one thread changes translations that the TLBs of other processors hold. Before each operation every thread
 * has read the pages; while it is measured the others spin in user mode, or sleep. The row is the time of the call, or
 * with cow that of a write to each page. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/bench.h"
#include "../common/counts.h"
#include "../common/crew.h"

struct job {
	unsigned long pages, threads;
	size_t bytes;
	unsigned char *memory;
	unsigned int region;
	pid_t child;
};

struct operation {
	const char *name;
	void (*prepare)(struct job *job);
	void (*measured)(struct job *job);
	void (*after)(struct job *job);
};

static void nothing(struct job *job)
{
	(void)job;
}

static void touch(struct job *job)
{
	for (size_t at = 0; at < job->bytes; at += 4096)
		*(volatile unsigned char *)(job->memory + at) = 1;
}

static void map(struct job *job)
{
	job->memory = mmap(NULL, job->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (job->memory == MAP_FAILED)
		bench_die("mmap");
	touch(job);
}

static void unmap(struct job *job)
{
	bench_check(munmap(job->memory, job->bytes), "munmap");
}

static void drop(struct job *job)
{
	bench_check(madvise(job->memory, job->bytes, MADV_DONTNEED), "madvise");
}

static void protect(struct job *job)
{
	bench_check(mprotect(job->memory, job->bytes, PROT_READ), "mprotect");
}

static void split(struct job *job)
{
	job->child = (pid_t)bench_check(fork(), "fork");
	if (job->child == 0)
		for (;;)
			pause();
}

/* A copy in a child, so that each page that is written has to be copied. */
static void share(struct job *job)
{
	map(job);
	split(job);
}

static void kill_child(struct job *job)
{
	bench_kill(job->child);
	unmap(job);
}

static const struct operation operations[] = {
	{ "munmap", map, unmap, nothing },
	{ "madvise", map, drop, unmap },
	{ "mprotect", map, protect, unmap },
	{ "cow", share, touch, kill_child },
	{ "fork", map, split, kill_child },
};

static void once(const struct operation *operation, struct job *job, int measured)
{
	operation->prepare(job);
	bench_crew_touch(job->memory, job->bytes);
	if (measured)
		bench_region_again(job->region);
	operation->measured(job);
	if (measured)
		bench_region_end(job->region);
	operation->after(job);
}

int main(int argc, char **argv)
{
	struct job job = { .pages = 1, .threads = 2 };
	const char *name = "munmap", *others = "spin";
	const struct operation *operation = operations;
	const struct bench_option options[] = {
		BENCH_WORD("operation", &name, "munmap|madvise|mprotect|cow|fork", "what is measured"),
		BENCH_NUMBER("pages", &job.pages, 1, 4096, "pages that it changes"),
		BENCH_NUMBER("threads", &job.threads, 1, 8, "threads in all, each on its processor"),
		BENCH_WORD("others", &others, "spin|sleep", "what the other threads do meanwhile"),
		BENCH_END,
	};

	bench_start("shootdown", argc, argv, options, 20, 3);
	while (strcmp(operation->name, name) != 0)
		operation++;
	job.bytes = job.pages * 4096;
	bench_crew_start(job.threads - 1, strcmp(others, "sleep") == 0);
	job.region = bench_region_begin();
	bench_region_end(job.region);
	for (unsigned long i = 0; i < bench_warmup; i++)
		once(operation, &job, 0);
	bench_counts_begin();
	for (unsigned long i = 0; i < bench_iterations; i++)
		once(operation, &job, 1);
	bench_counts_end();
	bench_row("shootdown", job.region, bench_iterations, 0, BENCH_US, 0);
	return 0;
}
