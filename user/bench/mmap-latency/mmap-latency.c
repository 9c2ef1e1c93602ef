/* mmap-latency: maps the first `size` bytes of a file, shared, readable and writable, touches part of them and unmaps
 * them again, as LmBench's lat_mmap.
 *
 * LmBench reports the largest size that its machine had memory for; on machines of 32 MB that was 4 to 8 MB.
 * touch=none is LmBench 1's form (map and unmap only); touch=tenth is that of LmBench 2 and 3: one byte in every
 * 16 KB of the first tenth; touch=spread one byte in every 160 KB (their option -r). */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/bench.h"

#define STEP (16ul << 10)
#define PARTS 10

static unsigned long size = 4 << 20;
static unsigned long touched, step;
static int file;

static void work(void *context, unsigned long count)
{
	(void)context;
	while (count--) {
		char *where = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

		if (where == MAP_FAILED)
			bench_die("mmap");
		for (unsigned long at = 0; at < touched; at += step)
			*(volatile char *)(where + at) = 1;
		bench_check(munmap(where, size), "munmap");
	}
}

int main(int argc, char **argv)
{
	const char *touch = "none";
	const struct bench_option options[] = {
		BENCH_NUMBER("size", &size, 4096, 1 << 30, "bytes mapped"),
		BENCH_WORD("touch", &touch, "none|tenth|spread", "which part is written to"),
		BENCH_END,
	};
	const char *path;

	bench_start("mmap-latency", argc, argv, options, 20, 3);
	if (strcmp(touch, "tenth") == 0) {
		touched = size / PARTS;
		step = STEP;
	} else if (strcmp(touch, "spread") == 0) {
		touched = size;
		step = STEP * PARTS;
	}
	path = bench_file("mmap-latency", size);
	file = (int)bench_check(open(path, O_RDWR), path);
	bench_row("mmap-latency", bench_measure(work, NULL), bench_iterations, 0, BENCH_US, 0);
	unlink(path);
	return 0;
}
