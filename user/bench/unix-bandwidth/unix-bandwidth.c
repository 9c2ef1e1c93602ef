/* unix-bandwidth: bytes moved from one process to another through a Unix stream socket pair in writes and reads of
 * 64 KB, as LmBench's bw_unix. */
#include <sys/socket.h>

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

	bench_start("unix-bandwidth", argc, argv, options, 4, 1);
	bench_check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	bench_stream("unix-bandwidth", ends[0], ends[1], size, total, 0);
	return 0;
}
