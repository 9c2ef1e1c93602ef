/* mmap-reread: adds up every word of a mapped file that is in memory, as LmBench's bw_mmap_rd mmap_only;
 * mmap-reread-open opens, maps, unmaps and closes each time (open2close). */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/bench.h"

static unsigned long size = 2 << 20;

static const void *map(int fd)
{
	void *where = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (where == MAP_FAILED)
		bench_die("mmap");
	return where;
}

static void reread(void *where, unsigned long count)
{
	while (count--)
		bench_use(bench_sum(where, size));
}

static void open_and_read(void *path, unsigned long count)
{
	while (count--) {
		int fd = (int)bench_check(open(path, O_RDONLY), path);
		const void *where = map(fd);

		bench_use(bench_sum(where, size));
		close(fd);
		bench_check(munmap((void *)where, size), "munmap");
	}
}

int main(int argc, char **argv)
{
	const struct bench_option options[] = {
		BENCH_NUMBER("size", &size, 4096, 1 << 30, "bytes of the file"),
		BENCH_END,
	};
	unsigned long long bytes;
	const char *path;
	int fd;

	bench_start("mmap-reread", argc, argv, options, 2, 1);
	bytes = (unsigned long long)size * bench_iterations;
	path = bench_file("mmap-reread", size);
	fd = (int)bench_check(open(path, O_RDONLY), path);
	bench_row("mmap-reread", bench_measure(reread, (void *)map(fd)), bench_iterations, bytes, BENCH_MBS, 0);
	bench_row("mmap-reread-open", bench_measure(open_and_read, (void *)path), bench_iterations, bytes, BENCH_MBS,
		  0);
	unlink(path);
	return 0;
}
