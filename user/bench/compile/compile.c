/* compile: a compile job run by a shell script (compile.sh): TinyCC compiles every C file of a directory, several at a
 * time. The row is the whole job. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/bench.h"

struct job {
	const char *script, *source, *output;
	char jobs[16], wait[16];
};

static void work(void *context, unsigned long count)
{
	struct job *job = context;

	while (count--) {
		char *argv[] = {
			(char *)"sh", (char *)job->script, job->jobs, (char *)job->source, (char *)job->output,
			job->wait, NULL,
		};
		pid_t child = (pid_t)bench_check(fork(), "fork");
		int status;

		if (child == 0) {
			execv("/bin/sh", argv);
			_exit(127);
		}
		bench_check(waitpid(child, &status, 0), "waitpid");
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			errno = ECHILD;
			bench_die(job->script);
		}
	}
}

/* Fills memory with a file, as files that were read long ago fill it. */
static void fill_memory(unsigned long kilobytes)
{
	static const char block[4096];
	int file = (int)bench_check(open("/tmp/fill", O_WRONLY | O_CREAT | O_EXCL, 0600), "/tmp/fill");

	for (unsigned long bytes = kilobytes * 1024; bytes; bytes -= bytes < sizeof(block) ? bytes : sizeof(block))
		bench_write_all(file, block, bytes < sizeof(block) ? bytes : sizeof(block));
	close(file);
}

int main(int argc, char **argv)
{
	struct job job = { .script = "/bench/compile.sh", .source = "/usr/src/lua", .output = "/tmp/objects" };
	unsigned long jobs = 3, wait = 0, fill = 0;
	const char *report = "", *start = "", *word = "1";
	const struct bench_option options[] = {
		BENCH_NUMBER("jobs", &jobs, 1, 64, "files compiled at a time"),
		BENCH_NUMBER("wait", &wait, 0, 1000000, "microseconds that a job waits before each file, as for a disk"),
		BENCH_NUMBER("fill", &fill, 0, 1000000, "KB of a file that is written before, so that fewer frames are free"),
		BENCH_WORD("script", &job.script, NULL, "path of the shell script"),
		BENCH_WORD("source", &job.source, NULL, "directory of the C files"),
		BENCH_WORD("output", &job.output, NULL, "directory for the objects"),
		BENCH_WORD("start", &start, NULL, "a file that is written to before, such as /proc/copies"),
		BENCH_WORD("with", &word, NULL, "what is written to it"),
		BENCH_WORD("report", &report, NULL, "a file of numbers to print at the end, such as /proc/mmu/hash"),
		BENCH_END,
	};

	bench_start("compile", argc, argv, options, 1, 0);
	snprintf(job.jobs, sizeof(job.jobs), "%lu", jobs);
	snprintf(job.wait, sizeof(job.wait), "%lu", wait);
	if (fill)
		fill_memory(fill);
	if (*start) {
		int file = (int)bench_check(open(start, O_WRONLY), start);

		bench_write_all(file, word, strlen(word));
		close(file);
	}
	bench_row("compile", bench_measure(work, &job), bench_iterations, 0, BENCH_US, 0);
	if (*report)
		bench_report(report);
	return 0;
}
