/* sh: fork, exec of the shell with a command that says hello, exit, wait, as LmBench's lat_proc shell. */
#include "../common/bench.h"
#include "../common/spawn.h"

static const char *shell = "/bin/sh", *program = "/bin/hello";

static void work(void *context, unsigned long count)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)program, NULL };

	(void)context;
	while (count--)
		bench_spawn(shell, argv);
}

int main(int argc, char **argv)
{
	const struct bench_option options[] = {
		BENCH_WORD("shell", &shell, NULL, "path of the shell"),
		BENCH_WORD("program", &program, NULL, "path of the program that the shell starts"),
		BENCH_END,
	};

	bench_start("sh", argc, argv, options, 5, 1);
	bench_row("sh", bench_measure(work, NULL), bench_iterations, 0, BENCH_US, 0);
	return 0;
}
