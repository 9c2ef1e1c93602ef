/* select: asks for readiness of `count` descriptors of a file without waiting, as LmBench's lat_select file. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/select.h>
#include <unistd.h>

#include "../common/bench.h"

struct descriptors {
	fd_set set;
	int limit;
};

static void work(void *context, unsigned long count)
{
	struct descriptors *descriptors = context;

	while (count--) {
		struct timeval none = { 0, 0 };
		fd_set asked = descriptors->set;

		bench_check(select(descriptors->limit, NULL, &asked, NULL, &none), "select");
	}
}

int main(int argc, char **argv)
{
	struct descriptors descriptors = { .limit = 0 };
	unsigned long count = 100;
	const struct bench_option options[] = {
		BENCH_NUMBER("count", &count, 1, FD_SETSIZE - 8, "descriptors asked about"),
		BENCH_END,
	};
	const char *path;
	char name[32];
	int file;

	bench_start("select", argc, argv, options, 100, 10);
	path = bench_file("select", 4096);
	file = (int)bench_check(open(path, O_RDONLY), path);
	FD_ZERO(&descriptors.set);
	for (unsigned long i = 0; i < count; i++) {
		int fd = (int)bench_check(dup(file), "dup");

		FD_SET(fd, &descriptors.set);
		if (fd >= descriptors.limit)
			descriptors.limit = fd + 1;
	}
	snprintf(name, sizeof(name), "select-%lu", count);
	bench_row(name, bench_measure(work, &descriptors), bench_iterations, 0, BENCH_US, 0);
	unlink(path);
	return 0;
}
