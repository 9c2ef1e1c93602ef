/* page-fault: touches the pages of a mapped file that is in memory, in a fixed shuffled order, then maps the file
 * again. The row is the time of one fault, less the time of mapping and unmapping, as in LmBench's lat_pagefault. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/bench.h"

#define PAGE 4096ul
#define TABLE 0x400000ul   /* bytes that one page table maps */

struct mapping {
	int file;
	unsigned long size, pages;
	unsigned int *order;
	volatile const char *where;
	void *place;
};

/*
 * An address far from every other mapping. LmBench's program maps nothing else, so its page tables belong to the file
 * alone: they are made with the first page and freed with the mapping.
 */
static void *apart(unsigned long size)
{
	unsigned long span = size + 2 * TABLE;
	char *room = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		bench_die("mmap");
	bench_check(munmap(room, span), "munmap");
	return (void *)(((uintptr_t)room + TABLE - 1) & ~(TABLE - 1));
}

static void map_again(struct mapping *mapping)
{
	void *where;

	if (mapping->where)
		bench_check(munmap((void *)mapping->where, mapping->size), "munmap");
	where = mmap(mapping->place, mapping->size, PROT_READ, MAP_SHARED, mapping->file, 0);
	if (where == MAP_FAILED)
		bench_die("mmap");
	mapping->where = where;
}

static void map_only(void *context, unsigned long count)
{
	while (count--)
		map_again(context);
}

static void fault_all(void *context, unsigned long count)
{
	struct mapping *mapping = context;
	unsigned int sum = 0;

	while (count--) {
		for (unsigned long i = 0; i < mapping->pages; i++)
			sum += (unsigned int)mapping->where[mapping->order[i] * PAGE];
		map_again(mapping);
	}
	bench_use(sum);
}

/* A fixed permutation: Fisher-Yates with a small linear congruential generator. */
static unsigned int *shuffled(unsigned long count)
{
	unsigned int *order = malloc(count * sizeof(*order)), state = 1;

	if (!order)
		bench_die("malloc");
	for (unsigned long i = 0; i < count; i++)
		order[i] = (unsigned int)i;
	for (unsigned long i = count - 1; i > 0; i--) {
		unsigned long other;
		unsigned int swapped;

		state = state * 1664525u + 1013904223u;
		other = (state >> 8) % (i + 1);
		swapped = order[i];
		order[i] = order[other];
		order[other] = swapped;
	}
	return order;
}

int main(int argc, char **argv)
{
	struct mapping mapping = { .size = 4 << 20 };
	const struct bench_option options[] = {
		BENCH_NUMBER("size", &mapping.size, PAGE, 1 << 30, "bytes mapped"),
		BENCH_END,
	};
	unsigned int overhead;
	const char *path;
	unsigned long long faults;

	bench_start("page-fault", argc, argv, options, 4, 1);
	mapping.pages = mapping.size / PAGE;
	mapping.order = shuffled(mapping.pages);
	path = bench_file("page-fault", mapping.size);
	mapping.file = (int)bench_check(open(path, O_RDONLY), path);
	mapping.place = apart(mapping.size);
	map_again(&mapping);
	faults = (unsigned long long)mapping.pages * bench_iterations;
	overhead = bench_measure(map_only, &mapping);
	bench_row("page-fault-mapping", overhead, faults, 0, BENCH_US, 0);
	bench_row("page-fault", bench_measure(fault_all, &mapping), faults, 0, BENCH_US, overhead);
	unlink(path);
	return 0;
}
