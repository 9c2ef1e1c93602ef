/* pipe-bandwidth: bytes moved from one process to another through a pipe in writes and reads of 64 KB, as LmBench's
 * bw_pipe. */
#include <unistd.h>

#include "../common/bench.h"
#include "../common/pingpong.h"

int main(int argc, char **argv)
{
	unsigned long size = 64 << 10, total = 1 << 20;
	const struct bench_option options[] = {
		BENCH_NUMBER("size", &size, 1, 1 << 20, "bytes of a write and of a read"),
		BENCH_NUMBER("total", &total, 1, 1 << 30, "bytes of one iteration"),
		BENCH_END,
	};
	int ends[2];

	bench_start("pipe-bandwidth", argc, argv, options, 4, 1);
	bench_check(pipe(ends), "pipe");
	/* As in LmBench, the buffer is not page-aligned, so that no kernel can move data by remapping pages. */
	bench_stream("pipe-bandwidth", ends[0], ends[1], size, total, 128);
	return 0;
}
