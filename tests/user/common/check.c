/* Runs cases in child processes and prints verdicts. */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"

/* Time limit of one case in seconds: a guard against a hang, not a measurement. */
#define PATIENCE 60

static char directory[64];

int test_has_fpu(void)
{
	return MACHINE_HAS_FPU();
}

int test_is_timed(void)
{
	char text[256];

	if (access("/dev/pagewalk", F_OK))
		return 0;
	test_read_file("/proc/check", text, sizeof(text));
	return strstr(text, "check off") != NULL;
}

long long test_now(void)
{
	struct timespec t;

	MUST(clock_gettime(CLOCK_MONOTONIC, &t));
	return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void remove_tree(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	if (dir) {
		while ((entry = readdir(dir))) {
			char below[512];

			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
			if (unlink(below) < 0)
				remove_tree(below);
		}
		closedir(dir);
	}
	rmdir(path);
}

static int wanted(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return 1;
	return argc < 2;
}

int test_run(const char *subject, int argc, char **argv, const struct test_case *cases, size_t count)
{
	size_t ran = 0, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	mkdir("/tmp", 01777);
	for (size_t i = 0; i < count; i++) {
		int status;

		if (!wanted(argc, argv, cases[i].name))
			continue;
		ran++;
		snprintf(directory, sizeof(directory), "/tmp/test-%s-%d", subject, (int)getpid());
		remove_tree(directory);
		fflush(stdout);
		pid_t child = fork();

		if (child == 0) {
			alarm(PATIENCE);
			cases[i].run();
			exit(0);
		}
		status = child < 0 ? -1 : test_wait(child);
		remove_tree(directory);
		if (status == 0) {
			printf("%s %s: passed\n", subject, cases[i].name);
		} else {
			failed++;
			if (status < 0)
				printf("%s %s: FAILED: fork: %s\n", subject, cases[i].name, strerror(errno));
			else if (status >= 1000)
				printf("%s %s: FAILED: signal %d\n", subject, cases[i].name, status - 1000);
			else
				printf("%s %s: FAILED\n", subject, cases[i].name);
		}
	}
	if (ran == 0) {
		printf("%s: no case of that name; there are:", subject);
		for (size_t i = 0; i < count; i++)
			printf(" %s", cases[i].name);
		printf("\n");
		return 2;
	}
	printf("%s: %zu of %zu cases passed\n", subject, ran - failed, ran);
	return failed ? 1 : 0;
}

/* Prints what is wrong and exits, also in a child of a case; the exit status makes the case fail. */
void test_fail(const char *file, int line, const char *text, long long got, long long wanted_value)
{
	if (got == wanted_value)
		printf("%s:%d: not so: %s\n", file, line, text);
	else
		printf("%s:%d: not so: %s (%lld, not %lld)\n", file, line, text, got, wanted_value);
	fflush(stdout);
	_exit(99);
}

void test_equal(const char *file, int line, const char *text, long long got, long long wanted_value)
{
	if (got != wanted_value)
		test_fail(file, line, text, got, wanted_value);
}

void test_error(const char *file, int line, const char *text, long long result, int number)
{
	int error = errno;

	if (result != -1) {
		printf("%s:%d: %s succeeded; wanted: %s\n", file, line, text, strerror(number));
	} else if (error != number) {
		printf("%s:%d: %s: %s; wanted: %s\n", file, line, text, strerror(error), strerror(number));
	} else {
		return;
	}
	fflush(stdout);
	_exit(99);
}

long test_must(const char *file, int line, const char *text, long result)
{
	if (result == -1) {
		printf("%s:%d: %s: %s\n", file, line, text, strerror(errno));
		fflush(stdout);
		_exit(99);
	}
	return result;
}

pid_t test_child(int (*function)(void *), void *argument)
{
	pid_t child;

	fflush(stdout);
	child = (pid_t)MUST(fork());
	if (child == 0)
		_exit(function(argument));
	return child;
}

int test_wait(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int test_in_child(int (*function)(void *), void *argument)
{
	return test_wait(test_child(function, argument));
}

const char *test_path(const char *name)
{
	static char paths[4][128];
	static unsigned int next;
	char *path = paths[next++ % 4];

	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		MUST(-1);
	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

void test_write_file(const char *path, const void *data, size_t size)
{
	int fd = (int)MUST(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));

	CHECK_EQUAL(write(fd, data, size), size);
	MUST(close(fd));
}

size_t test_read_file(const char *path, char *buffer, size_t room)
{
	int fd = (int)MUST(open(path, O_RDONLY));
	size_t length = 0;
	ssize_t n;

	while (length < room - 1 && (n = MUST(read(fd, buffer + length, room - 1 - length))) > 0)
		length += (size_t)n;
	buffer[length] = 0;
	MUST(close(fd));
	return length;
}

void test_await_sleep(int thread)
{
	char path[64], text[256], *state;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	do {
		sched_yield();
		test_read_file(path, text, sizeof(text));
		state = strrchr(text, ')');
		CHECK(state != NULL);
	} while (state[2] != 'S');
}
