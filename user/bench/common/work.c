/* Work and helper functions that several rows use. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned int sink;

unsigned int bench_sum(const void *buffer, size_t bytes)
{
	const unsigned int *at = buffer, *end = at + bytes / sizeof(*at);
	unsigned int sum = 0;

	for (; at + 8 <= end; at += 8)
		sum += at[0] + at[1] + at[2] + at[3] + at[4] + at[5] + at[6] + at[7];
	for (; at < end; at++)
		sum += *at;
	return sum;
}

void bench_use(unsigned int value)
{
	sink = value;
}

void *bench_memory(size_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);

	if (!memory)
		bench_die("aligned_alloc");
	memset(memory, 1, bytes);
	return memory;
}

const char *bench_file(const char *name, size_t bytes)
{
	static char path[128];
	static char block[4096];
	int fd;

	if (mkdir("/tmp", 0777) < 0 && errno != EEXIST)
		bench_die("/tmp");
	snprintf(path, sizeof(path), "/tmp/pagewalk-bench-%s", name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		bench_die(path);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 7);
	for (size_t done = 0; done < bytes; done += sizeof(block))
		bench_write_all(fd, block, bytes - done < sizeof(block) ? bytes - done : sizeof(block));
	close(fd);
	return path;
}

void bench_read_all(int fd, void *buffer, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = read(fd, (char *)buffer + done, bytes - done);

		if (n == 0) {
			errno = EPIPE;
			n = -1;
		}
		done += (size_t)bench_check(n, "read");
	}
}

void bench_write_all(int fd, const void *buffer, size_t bytes)
{
	for (size_t done = 0; done < bytes;)
		done += (size_t)bench_check(write(fd, (const char *)buffer + done, bytes - done), "write");
}

void bench_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
