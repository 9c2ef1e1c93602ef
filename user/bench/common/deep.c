/* A small file a few directories deep. */
#include "deep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

void bench_deep_file(char path[BENCH_DEEP_PATH])
{
	static const char *const parts[] = { "/tmp", "/include", "/sys" };
	int fd;

	path[0] = 0;
	for (unsigned int i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		strcat(path, parts[i]);
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			bench_die(path);
	}
	strcat(path, "/types.h");
	fd = (int)bench_check(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), path);
	bench_write_all(fd, "typedef\n", 8);
	close(fd);
}
