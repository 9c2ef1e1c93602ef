/* fork: fork, exit of the child, wait, as LmBench's lat_proc fork. */
#include <sys/wait.h>
#include <unistd.h>

#include "../common/bench.h"

static void work(void *context, unsigned long count)
{
	(void)context;
	while (count--) {
		pid_t child = (pid_t)bench_check(fork(), "fork");

		if (child == 0)
			_exit(0);
		bench_check(waitpid(child, NULL, 0), "waitpid");
	}
}

int main(int argc, char **argv)
{
	bench_start("fork", argc, argv, NULL, 20, 3);
	bench_row("fork", bench_measure(work, NULL), bench_iterations, 0, BENCH_US, 0);
	return 0;
}
