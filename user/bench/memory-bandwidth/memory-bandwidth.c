/* memory-bandwidth: reads, writes and copies arrays far larger than every cache, word by word in unrolled loops, as
 * LmBench's bw_mem does. A copy counts its bytes once. */
#include "../common/bench.h"

static unsigned long size = 4 << 20;

static void read_all(void *memory, unsigned long count)
{
	while (count--)
		bench_use(bench_sum(memory, size));
}

static void write_all(void *memory, unsigned long count)
{
	while (count--) {
		volatile unsigned int *at = memory, *end = at + size / sizeof(*at);

		for (; at + 8 <= end; at += 8) {
			at[0] = 1;
			at[1] = 1;
			at[2] = 1;
			at[3] = 1;
			at[4] = 1;
			at[5] = 1;
			at[6] = 1;
			at[7] = 1;
		}
	}
}

static void copy_all(void *memory, unsigned long count)
{
	while (count--) {
		volatile unsigned int *from = memory, *to = from + size / sizeof(*from), *end = to;

		for (; from + 8 <= end; from += 8, to += 8) {
			to[0] = from[0];
			to[1] = from[1];
			to[2] = from[2];
			to[3] = from[3];
			to[4] = from[4];
			to[5] = from[5];
			to[6] = from[6];
			to[7] = from[7];
		}
	}
}

int main(int argc, char **argv)
{
	const struct bench_option options[] = {
		BENCH_NUMBER("size", &size, 4096, 1 << 26, "bytes of an array"),
		BENCH_END,
	};
	unsigned long long bytes;
	void *memory;

	bench_start("memory-bandwidth", argc, argv, options, 1, 0);
	bytes = (unsigned long long)size * bench_iterations;
	memory = bench_memory(2 * size);
	bench_row("memory-bandwidth-copy", bench_measure(copy_all, memory), bench_iterations, bytes, BENCH_MBS, 0);
	bench_row("memory-bandwidth-read", bench_measure(read_all, memory), bench_iterations, bytes, BENCH_MBS, 0);
	bench_row("memory-bandwidth-write", bench_measure(write_all, memory), bench_iterations, bytes, BENCH_MBS, 0);
	return 0;
}
