/* memory-latency: follows a ring of pointers that run backwards in steps of `stride` through `size` bytes, as LmBench's
 * lat_mem_rd: each load waits for the one before it. A ring of few links is followed round and round. Without
 * size= it measures a range of sizes, from within the first-level cache to beyond every cache and TLB. */
#include <stdint.h>
#include <stdio.h>

#include "../common/bench.h"

/* In one turn of the unrolled loop: so many that the loop's own instructions cost a load less than a thirtieth of a
 * cycle, whatever the length of the ring. */
#define LOADS 100
#define FIVE(at) ((at)->next->next->next->next->next)

struct link {
	struct link *next;
};

static struct link *position;

static void follow(void *context, unsigned long turns)
{
	struct link *at = position;

	(void)context;
	while (turns--) {
		at = FIVE(FIVE(FIVE(FIVE(FIVE(at)))));
		at = FIVE(FIVE(FIVE(FIVE(FIVE(at)))));
		at = FIVE(FIVE(FIVE(FIVE(FIVE(at)))));
		at = FIVE(FIVE(FIVE(FIVE(FIVE(at)))));
	}
	position = at;
}

static void measure(unsigned long size, unsigned long stride, unsigned long passes)
{
	unsigned long links = size / stride, turns = (links + LOADS - 1) / LOADS;
	char *memory = bench_memory(size), name[64];
	unsigned int region;

	for (unsigned long i = 0; i < links; i++)
		((struct link *)(memory + i * stride))->next =
			(struct link *)(memory + (i == 0 ? links - 1 : i - 1) * stride);
	position = (struct link *)(memory + (links - 1) * stride);

	follow(NULL, turns);
	region = bench_region_begin();
	follow(NULL, passes * turns);
	bench_region_end(region);
	bench_use((unsigned int)(uintptr_t)position);
	snprintf(name, sizeof(name), "memory-latency-%luk-%lu", size >> 10, stride);
	bench_row(name, region, (unsigned long long)passes * turns * LOADS, 0, BENCH_US, 0);
}

int main(int argc, char **argv)
{
	static const unsigned long sizes[] = { 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096 };
	unsigned long size = 0, stride = 128;
	const struct bench_option options[] = {
		BENCH_NUMBER("size", &size, 1 << 10, 1 << 28, "bytes that the ring lies in"),
		BENCH_NUMBER("stride", &stride, sizeof(struct link), 1 << 20, "bytes from one pointer to the next"),
		BENCH_END,
	};

	bench_start("memory-latency", argc, argv, options, 2, 0);
	if (size) {
		measure(size, stride, bench_iterations);
		return 0;
	}
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] << 10 >= stride)
			measure(sizes[i] << 10, stride, bench_iterations);
	return 0;
}
