/* calltable [group=NAME] [from=N] [cases=N] [part=N]: prints a line for each case, or with part=N a hash for each N. */
#include "calltable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char line[2048];
static size_t length;
static uint32_t state;

void say(const char *format, ...)
{
	va_list arguments;
	int more;

	va_start(arguments, format);
	more = vsnprintf(line + length, sizeof(line) - length, format, arguments);
	va_end(arguments);
	length += (size_t)more;
	if (length > sizeof(line) - 1)
		length = sizeof(line) - 1;
}

uint32_t pick(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return (state >> 8) % limit;
}

long pick_of(const long *numbers, size_t count)
{
	return numbers[pick((uint32_t)count)];
}

void say_result(long result)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		{ EPERM, "EPERM" }, { ESRCH, "ESRCH" }, { EINTR, "EINTR" }, { EBADF, "EBADF" }, { EAGAIN, "EAGAIN" },
		{ ENOMEM, "ENOMEM" }, { EACCES, "EACCES" }, { EFAULT, "EFAULT" }, { EBUSY, "EBUSY" },
		{ EEXIST, "EEXIST" }, { ENODEV, "ENODEV" }, { EINVAL, "EINVAL" }, { EDEADLK, "EDEADLK" },
		{ ENOSYS, "ENOSYS" }, { ENOSPC, "ENOSPC" }, { EPIPE, "EPIPE" }, { EOVERFLOW, "EOVERFLOW" },
		{ EMSGSIZE, "EMSGSIZE" }, { ETIMEDOUT, "ETIMEDOUT" }, { EOPNOTSUPP, "EOPNOTSUPP" },
		{ ESPIPE, "ESPIPE" }, { ENOTCONN, "ENOTCONN" }, { EFBIG, "EFBIG" }, { ENOBUFS, "ENOBUFS" },
		{ EOWNERDEAD, "EOWNERDEAD" }, { ENXIO, "ENXIO" },
	};
	int error = errno;

	if (result != -1) {
		say("%ld", result);
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].number == error) {
			say("%s", names[i].name);
			return;
		}
	}
	say("error %d", error);
}

void must(long result, const char *what)
{
	if (result != -1)
		return;
	line[length] = 0;
	printf("calltable: %s: %s\nthe case so far: %s\n", what, strerror(errno), line);
	exit(2);
}

void say_in_child(void (*function)(void))
{
	int ends[2], status;
	ssize_t got;
	pid_t child;

	must(pipe(ends), "pipe");
	child = fork();
	must(child, "fork");
	if (child == 0) {
		length = 0;
		function();
		_exit(write(ends[1], line, length) != (ssize_t)length);
	}
	close(ends[1]);
	while ((got = read(ends[0], line + length, sizeof(line) - 1 - length)) > 0)
		length += (size_t)got;
	must(got, "read");
	line[length] = 0;
	close(ends[0]);
	must(waitpid(child, &status, 0), "waitpid");
	if (status)
		say(" child %d", status);
}

static const struct {
	const char *name;
	void (*run)(void);
} groups[] = {
	{ "mremap", case_mremap }, { "mprotect", case_mprotect }, { "madvise", case_madvise }, { "mlock", case_mlock },
	{ "msync", case_msync }, { "mmap", case_mmap }, { "mixed", case_mixed }, { "vectors", case_vectors },
	{ "futex", case_futex }, { "absent", case_absent },
};

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static uint32_t hashed(uint32_t hash)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)line[i]) * 16777619u;
	return hash;
}

static void run_group(size_t group, unsigned from, unsigned cases, unsigned part)
{
	uint32_t hash = 2166136261u;

	for (unsigned i = from; i < from + cases; i++) {
		length = 0;
		state = (uint32_t)(i + 1) * 2654435761u ^ (uint32_t)(group + 1) * 0x85ebca6bu;
		state += !state;
		for (int warm = 0; warm < 4; warm++)
			(void)pick(2);
		say("%s %u: ", groups[group].name, i);
		groups[group].run();
		if (!part) {
			printf("%s\n", line);
			continue;
		}
		hash = hashed(hash);
		if ((i - from) % part == part - 1 || i == from + cases - 1) {
			printf("%s %u-%u: %08x\n", groups[group].name, i - (i - from) % part, i, (unsigned)hash);
			hash = 2166136261u;
		}
	}
}

static int usage(const char *word)
{
	printf("calltable: \"%s\" is no argument; usage: calltable [group=NAME] [from=N] [cases=N] [part=N]; groups:", word);
	for (size_t i = 0; i < GROUPS; i++)
		printf(" %s", groups[i].name);
	printf("\n");
	return 2;
}

/* The number behind the name in "name=number". */
static int number_of(const char *word, const char *name, unsigned *number)
{
	size_t size = strlen(name);
	char *end;
	unsigned long value;

	if (strncmp(word, name, size) || word[size] < '0' || word[size] > '9')
		return 0;
	value = strtoul(word + size, &end, 10);
	if (*end || value > 1000000)
		return 0;
	*number = (unsigned)value;
	return 1;
}

int main(int argc, char **argv)
{
	unsigned from = 0, cases = 20, part = 0, all = 1;
	size_t group = 0;

	for (int i = 1; i < argc; i++) {
		if (number_of(argv[i], "from=", &from) || number_of(argv[i], "cases=", &cases) ||
		    number_of(argv[i], "part=", &part))
			continue;
		for (group = 0; group < GROUPS; group++)
			if (strncmp(argv[i], "group=", 6) == 0 && strcmp(argv[i] + 6, groups[group].name) == 0)
				break;
		if (group == GROUPS)
			return usage(argv[i]);
		all = 0;
	}
	arena_start();
	if (!all)
		run_group(group, from, cases, part);
	for (group = 0; all && group < GROUPS; group++)
		run_group(group, from, cases, part);
	printf("calltable: end\n");
	return 0;
}
