/* open-close: open and close of a file by a path of four parts, as LmBench's lat_syscall open. */
#include <fcntl.h>
#include <unistd.h>

#include "../common/bench.h"
#include "../common/deep.h"

static void work(void *path, unsigned long count)
{
	while (count--)
		close((int)bench_check(open(path, O_RDONLY), "open"));
}

int main(int argc, char **argv)
{
	char path[BENCH_DEEP_PATH];

	bench_start("open-close", argc, argv, NULL, 500, 20);
	bench_deep_file(path);
	bench_row("open-close", bench_measure(work, path), bench_iterations, 0, BENCH_US, 0);
	return 0;
}
