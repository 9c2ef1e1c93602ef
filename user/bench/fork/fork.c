/* fork: fork, exit of the child, wait, as LmBench's lat_proc fork. The child ends by exit, which writes to pages that
 * _exit does not touch. memory=: the process has written to that many bytes before. touch=: the child writes to that
 * many of these pages, evenly spread. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/bench.h"

#define PAGE 4096ul

static unsigned long memory, touch;
static char *area;

static void child(void)
{
	for (unsigned long i = 0; i < touch; i++)
		*(volatile char *)(area + i * (memory / touch)) = 2;
	exit(1);
}

static void work(void *context, unsigned long count)
{
	(void)context;
	while (count--) {
		pid_t pid = (pid_t)bench_check(fork(), "fork");

		if (pid == 0)
			child();
		bench_check(waitpid(pid, NULL, 0), "waitpid");
	}
}

int main(int argc, char **argv)
{
	const struct bench_option options[] = {
		BENCH_NUMBER("memory", &memory, 0, 1 << 28, "bytes that the process has written to"),
		BENCH_NUMBER("touch", &touch, 0, 1 << 16, "pages of them that the child writes to"),
		BENCH_END,
	};

	bench_start("fork", argc, argv, options, 20, 3);
	if (touch > memory / PAGE)
		touch = memory / PAGE;
	if (memory) {
		area = mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (area == MAP_FAILED)
			bench_die("mmap");
		for (unsigned long at = 0; at < memory; at += PAGE)
			area[at] = 1;
	}
	bench_row("fork", bench_measure(work, NULL), bench_iterations, 0, BENCH_US, 0);
	return 0;
}
