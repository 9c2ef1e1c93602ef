/*
 * cutoff: from how many pages on a new context is cheaper than a flush of each page.
 *
 * Maps the first n pages of a file, shared and writable, and unmaps them again, as mmap-latency does: once with
 * tlb.cutoff=off, which flushes each page, and once with tlb.cutoff=1, which gives the address space a new context.
 * What the new context costs afterwards is in its time, because the program's next accesses miss. Prints the least n
 * from which the new context is cheaper for every number of pages up to `most`.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../common/bench.h"

#define PAGE  4096ul
#define TABLE (4ul << 20)               /* bytes that a page table maps */

static unsigned long most = 40, least_pages;
static int file;
static char *place;

static void choose(const char *words)
{
	int fd = (int)bench_check(open("/proc/policy", O_WRONLY), "/proc/policy");

	bench_write_all(fd, words, strlen(words));
	close(fd);
}

static unsigned long long now(void)
{
	struct timespec t;

	bench_check(clock_gettime(CLOCK_MONOTONIC, &t), "clock_gettime");
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

/* Nanoseconds of mapping and unmapping so many pages, `count` times after some that are not measured. */
static unsigned long long time_of(unsigned long pages, unsigned long count, const char *policy)
{
	unsigned long long begin = 0;

	choose(policy);
	for (unsigned long i = 0; i < count + bench_warmup; i++) {
		if (i == bench_warmup)
			begin = now();
		if (mmap(place, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) != place)
			bench_die("mmap");
		bench_check(munmap(place, pages * PAGE), "munmap");
	}
	return now() - begin;
}

static void find_least(unsigned long count)
{
	least_pages = most + 1;
	for (unsigned long pages = most; pages >= 2; pages--) {
		unsigned long long each = time_of(pages, count, "tlb.cutoff=off");

		if (time_of(pages, count, "tlb.cutoff=1") >= each)
			return;
		least_pages = pages;
	}
}

int main(int argc, char **argv)
{
	const struct bench_option options[] = {
		BENCH_NUMBER("most", &most, 2, 1024, "the most pages that are tried"),
		BENCH_END,
	};
	const char *path;
	char *found;

	bench_start("cutoff", argc, argv, options, 20, 3);
	found = mmap(NULL, 2 * TABLE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (found == MAP_FAILED)
		bench_die("mmap");
	place = (char *)(((unsigned long)found + TABLE - 1) / TABLE * TABLE);
	bench_check(munmap(found, 2 * TABLE), "munmap");
	path = bench_file("cutoff", most * PAGE);
	file = (int)bench_check(open(path, O_RDWR), path);

	unsigned int region = bench_region_begin();

	find_least(bench_iterations);
	bench_region_end(region);
	printf("@value name=pages value=%lu\n", least_pages);
	bench_row("cutoff", region, 1, 0, BENCH_US, 0);
	unlink(path);
	return 0;
}
