/* null-call: the cheapest system call, getppid, as LmBench's "null call" (lat_syscall null). */
#include <unistd.h>

#include "../common/bench.h"

static void work(void *context, unsigned long count)
{
	(void)context;
	while (count--)
		getppid();
}

int main(int argc, char **argv)
{
	bench_start("null-call", argc, argv, NULL, 1000, 50);
	bench_row("null-call", bench_measure(work, NULL), bench_iterations, 0, BENCH_US, 0);
	return 0;
}
