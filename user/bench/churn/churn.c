/* churn: a process that writes to fresh memory and ends, then a pause in which nothing runs, as a compile job that waits
 * for its disk: what the idle task does in the pause (clearing pages, sweeping the hash table) shows in the rest. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../common/bench.h"

struct job {
	unsigned long pages, idle;
};

static void child(unsigned long pages)
{
	char *memory = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(1);
	for (unsigned long i = 0; i < pages; i++)
		*(volatile char *)(memory + i * 4096) = 1;
	_exit(0);
}

static void work(void *context, unsigned long count)
{
	struct job *job = context;
	struct timespec pause = { (time_t)(job->idle / 1000000), (long)(job->idle % 1000000) * 1000 };

	while (count--) {
		pid_t pid = (pid_t)bench_check(fork(), "fork");

		if (pid == 0)
			child(job->pages);
		bench_check(waitpid(pid, NULL, 0), "waitpid");
		if (job->idle)
			nanosleep(&pause, NULL);
	}
}

/* What the kernel says of its own translations afterwards. */
static void show(const char *path)
{
	char text[4096];
	int fd = (int)bench_check(open(path, O_RDONLY), path);
	ssize_t size;

	while ((size = read(fd, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)size, stdout);
	close(fd);
}

int main(int argc, char **argv)
{
	struct job job = { .pages = 64, .idle = 2000 };
	const char *report = "";
	const struct bench_option options[] = {
		BENCH_NUMBER("pages", &job.pages, 1, 4096, "pages that each process writes to"),
		BENCH_NUMBER("idle", &job.idle, 0, 1000000, "pause after each process in microseconds"),
		BENCH_WORD("report", &report, NULL, "a file to print at the end, such as /proc/mmu/hash"),
		BENCH_END,
	};

	bench_start("churn", argc, argv, options, 20, 3);
	bench_row("churn", bench_measure(work, &job), bench_iterations, 0, BENCH_US, 0);
	if (*report)
		show(report);
	return 0;
}
