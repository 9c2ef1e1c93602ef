/* unix-latency: round trip of one byte between two processes through a Unix stream socket pair, as LmBench's
 * lat_unix. */
#include <sys/socket.h>

#include "../common/bench.h"
#include "../common/pingpong.h"

int main(int argc, char **argv)
{
	unsigned long size = 1;
	const struct bench_option options[] = {
		BENCH_NUMBER("size", &size, 1, 4096, "bytes of a message"),
		BENCH_END,
	};
	int ends[2];

	bench_start("unix-latency", argc, argv, options, 200, 20);
	bench_check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	bench_pingpong("unix-latency", ends[0], ends[0], ends[1], ends[1], size);
	return 0;
}
