/* pipe-latency: round trip of one byte between two processes through two pipes, as LmBench's lat_pipe. */
#include <unistd.h>

#include "../common/bench.h"
#include "../common/pingpong.h"

int main(int argc, char **argv)
{
	unsigned long size = 1;
	const struct bench_option options[] = {
		BENCH_NUMBER("size", &size, 1, 4096, "bytes of a message"),
		BENCH_END,
	};
	int there[2], back[2];

	bench_start("pipe-latency", argc, argv, options, 200, 20);
	bench_check(pipe(there), "pipe");
	bench_check(pipe(back), "pipe");
	bench_pingpong("pipe-latency", there[1], back[0], there[0], back[1], size);
	return 0;
}
