#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "proc.h"

int proc_store(const char *path, const char *words)
{
	int fd = (int)MUST(open(path, O_WRONLY));
	ssize_t n = write(fd, words, strlen(words));
	int error = n < 0 ? -errno : 0;

	close(fd);
	return error;
}

unsigned long long proc_count(const char *path, const char *name)
{
	static char text[8192];
	const char *at;

	test_read_file(path, text, sizeof(text));
	at = strstr(text, name);
	CHECK(at != NULL);
	return strtoull(at + strlen(name), NULL, 10);
}

int policy_set(const char *words)
{
	return proc_store("/proc/policy", words);
}

unsigned long long policy_count(const char *name)
{
	return proc_count("/proc/policy", name);
}
