/* stat: status of a file by a path of four parts, as LmBench's lat_syscall stat. */
#include <stdio.h>
#include <sys/stat.h>

#include "../common/bench.h"
#include "../common/deep.h"

static void work(void *path, unsigned long count)
{
	struct stat status;

	while (count--)
		bench_check(stat(path, &status), "stat");
}

int main(int argc, char **argv)
{
	char path[BENCH_DEEP_PATH];

	bench_start("stat", argc, argv, NULL, 500, 20);
	bench_deep_file(path);
	bench_row("stat", bench_measure(work, path), bench_iterations, 0, BENCH_US, 0);
	return 0;
}
