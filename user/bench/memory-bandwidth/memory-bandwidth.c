/* memory-bandwidth: reads, writes and copies arrays far larger than every cache, word by word in unrolled loops, as
 * LmBench's bw_mem does. Its copy moves words of 8 bytes, as `double`, and its reads and writes words of 4; a machine
 * without floating point has word=4 for the copy. A copy counts its bytes once. The last row is what a copy takes more
 * than a write of as many bytes. */
#include "../common/bench.h"

/* Between the source and the destination of a copy. It keeps the two in different lines of a direct-mapped cache of
 * 256 KB or more, as LmBench's are: the size of an array is a multiple of all sizes of caches. */
#define GAP (128ul << 10)

static unsigned long size = 4 << 20;
static const char *word = "4";

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
		volatile unsigned int *from = memory, *end = from + size / sizeof(*from), *to = end + GAP / sizeof(*to);

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

static void copy_doubles(void *memory, unsigned long count)
{
	while (count--) {
		volatile double *from = memory, *end = from + size / sizeof(*from), *to = end + GAP / sizeof(*to);

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
		BENCH_WORD("word", &word, "4|8", "bytes of a word that is copied"),
		BENCH_END,
	};
	unsigned int copied, read, written;
	unsigned long long bytes;
	void *memory;

	bench_start("memory-bandwidth", argc, argv, options, 1, 0);
	bytes = (unsigned long long)size * bench_iterations;
	memory = bench_memory(2 * size + GAP);
	copied = bench_measure(*word == '8' ? copy_doubles : copy_all, memory);
	bench_row("memory-bandwidth-copy", copied, bench_iterations, bytes, BENCH_MBS, 0);
	read = bench_measure(read_all, memory);
	bench_row("memory-bandwidth-read", read, bench_iterations, bytes, BENCH_MBS, 0);
	written = bench_measure(write_all, memory);
	bench_row("memory-bandwidth-write", written, bench_iterations, bytes, BENCH_MBS, 0);
	bench_row("memory-bandwidth-copy-less-write", copied, bench_iterations, bytes, BENCH_US, written);
	return 0;
}
