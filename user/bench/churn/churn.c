/* churn: a process that writes to fresh memory and ends, then a pause in which nothing runs, as when a compile job
 * waits for its disk. The measured time shows what the idle task did in the pause: clearing pages, sweeping the hash
 * table. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../common/bench.h"

#define RESIDENTS_MOST 32

struct job {
	unsigned long pages, idle, residents, set, warm;
	void *warm_set;
	int turn[2], done[2];
};

/* A process that stays; in its turn it reads every page of its set. */
static void resident(struct job *job)
{
	unsigned char *memory = bench_memory(job->set * 4096);
	unsigned int sum = 0;
	char token;

	for (;;) {
		bench_read_all(job->turn[0], &token, 1);
		for (unsigned long i = 0; i < job->set; i++)
			sum += *(volatile unsigned char *)(memory + i * 4096);
		bench_use(sum);
		bench_write_all(job->done[1], &token, 1);
	}
}

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
		/* The resident that has waited longest reads first, so the residents take turns. */
		if (job->residents) {
			char token = 0;

			bench_write_all(job->turn[1], &token, 1);
			bench_read_all(job->done[0], &token, 1);
		}
		if (job->idle)
			nanosleep(&pause, NULL);
		/* Read data again that were in the cache before the pause. */
		if (job->warm)
			bench_use(bench_sum(job->warm_set, job->warm));
	}
}

int main(int argc, char **argv)
{
	struct job job = { .pages = 64, .idle = 2000, .set = 128 };
	pid_t residents[RESIDENTS_MOST];
	const char *report = "";
	const struct bench_option options[] = {
		BENCH_NUMBER("pages", &job.pages, 1, 4096, "pages that each process writes to"),
		BENCH_NUMBER("idle", &job.idle, 0, 1000000, "pause after each process in microseconds"),
		BENCH_NUMBER("residents", &job.residents, 0, RESIDENTS_MOST, "processes that stay and take turns"),
		BENCH_NUMBER("set", &job.set, 1, 1024, "pages that a resident reads in its turn"),
		BENCH_NUMBER("warm", &job.warm, 0, 1 << 24, "bytes that the parent reads after each pause"),
		BENCH_WORD("report", &report, NULL, "a file of numbers to print at the end, such as /proc/mmu/hash"),
		BENCH_END,
	};

	bench_start("churn", argc, argv, options, 20, 3);
	bench_check(pipe(job.turn), "pipe");
	bench_check(pipe(job.done), "pipe");
	if (job.warm)
		job.warm_set = bench_memory(job.warm);
	for (unsigned long i = 0; i < job.residents; i++) {
		residents[i] = (pid_t)bench_check(fork(), "fork");
		if (residents[i] == 0)
			resident(&job);
	}
	bench_row("churn", bench_measure(work, &job), bench_iterations, 0, BENCH_US, 0);
	if (*report)
		bench_report(report);
	for (unsigned long i = 0; i < job.residents; i++)
		bench_kill(residents[i]);
	return 0;
}
