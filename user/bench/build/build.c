/* build: a parallel build as `make -j` makes one. For each C file a shell runs a rule (rule.sh) that starts a
 * preprocessor, a compiler and a checksum; `jobs` rules run at a time, and the next one starts as soon as one ends.
 * Then the objects are linked. The row is the whole build. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/bench.h"

#define SOURCES_MOST 256

struct build {
	const char *rule, *source, *output;
	unsigned long jobs, files, link;
	char *names[SOURCES_MOST];
	unsigned long sources;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The directory's C files, in the order of their names. */
static void find_sources(struct build *build)
{
	DIR *directory = opendir(build->source);
	struct dirent *entry;

	if (!directory)
		bench_die(build->source);
	while ((entry = readdir(directory)) && build->sources < SOURCES_MOST) {
		size_t length = strlen(entry->d_name);

		if (length > 2 && strcmp(entry->d_name + length - 2, ".c") == 0)
			build->names[build->sources++] = strdup(entry->d_name);
	}
	closedir(directory);
	if (!build->sources) {
		errno = ENOENT;
		bench_die("C files");
	}
	qsort(build->names, build->sources, sizeof(build->names[0]), by_name);
}

static void start(char *const argv[])
{
	if (bench_check(fork(), "fork") == 0) {
		execv("/bin/sh", argv);
		_exit(127);
	}
}

static void end_of_one(const struct build *build)
{
	int status;

	bench_check(waitpid(-1, &status, 0), "waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		errno = ECHILD;
		bench_die(build->rule);
	}
}

static void compile(const struct build *build, unsigned long number)
{
	char source[512], object[512];

	snprintf(source, sizeof(source), "%s/%s", build->source, build->names[number % build->sources]);
	snprintf(object, sizeof(object), "%s/%lu", build->output, number);
	start((char *[]){ (char *)"sh", (char *)build->rule, (char *)"compile", source, object, NULL });
}

static void work(void *context, unsigned long count)
{
	struct build *build = context;

	while (count--) {
		unsigned long running = 0;

		for (unsigned long number = 0; number < build->files; number++) {
			if (running == build->jobs) {
				end_of_one(build);
				running--;
			}
			compile(build, number);
			running++;
		}
		while (running--)
			end_of_one(build);
		if (build->link) {
			start((char *[]){ (char *)"sh", (char *)build->rule, (char *)"link", (char *)build->output,
				NULL });
			end_of_one(build);
		}
	}
}

int main(int argc, char **argv)
{
	static struct build build = {
		.rule = "/bench/rule.sh", .source = "/usr/src/lua", .output = "/tmp/objects", .jobs = 4, .files = 33,
		.link = 1,
	};
	const char *report = "";
	const struct bench_option options[] = {
		BENCH_NUMBER("jobs", &build.jobs, 1, 64, "rules that run at a time"),
		BENCH_NUMBER("files", &build.files, 1, 4096, "files to compile; more than there are: again from the first"),
		BENCH_NUMBER("link", &build.link, 0, 1, "whether the objects are linked at the end"),
		BENCH_WORD("rule", &build.rule, NULL, "path of the shell script"),
		BENCH_WORD("source", &build.source, NULL, "directory of the C files"),
		BENCH_WORD("output", &build.output, NULL, "directory for the objects"),
		BENCH_WORD("report", &report, NULL, "a file of numbers to print at the end, such as /proc/mmu/shootdowns"),
		BENCH_END,
	};

	bench_start("build", argc, argv, options, 1, 0);
	find_sources(&build);
	if (mkdir(build.output, 0777) < 0 && errno != EEXIST)
		bench_die(build.output);
	bench_row("build", bench_measure(work, &build), bench_iterations, 0, BENCH_US, 0);
	if (*report)
		bench_report(report);
	return 0;
}
