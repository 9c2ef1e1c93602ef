/* exec: fork, exec of a program that says hello, exit, wait, as LmBench's lat_proc exec. */
#include "../common/bench.h"
#include "../common/spawn.h"

static const char *program = "/bin/hello", *report = "";

static void work(void *context, unsigned long count)
{
	char *argv[] = { (char *)program, NULL };

	(void)context;
	while (count--)
		bench_spawn(program, argv);
}

int main(int argc, char **argv)
{
	const struct bench_option options[] = {
		BENCH_WORD("program", &program, NULL, "path of the program to start"),
		BENCH_WORD("report", &report, NULL, "a file of numbers to print at the end, such as /proc/mmu/flushes"),
		BENCH_END,
	};

	bench_start("exec", argc, argv, options, 10, 2);
	bench_row("exec", bench_measure(work, NULL), bench_iterations, 0, BENCH_US, 0);
	if (*report)
		bench_report(report);
	return 0;
}
