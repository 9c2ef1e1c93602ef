/* mmap-latency: maps the first `size` bytes of a file, shared, readable and writable, touches part of them and unmaps
 * them again, as LmBench's lat_mmap.
 *
 * LmBench reports the largest size that its machine had memory for; on machines of 32 MB that was 4 to 8 MB.
 * touch=none is LmBench 1's form (map and unmap only); touch=tenth is that of LmBench 2 and 3: one byte in every
 * 16 KB of the first tenth; touch=spread one byte in every 160 KB (their option -r).
 *
 * behind=BYTES: the mapping stands behind so many bytes of others, as behind a program's shared libraries, the first
 * page of which is touched. So the mapping's first pages lie in a page table that exists. 0: the mapping stands alone
 * at a multiple of its size, and no page table of it exists until it is touched. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/bench.h"

#define STEP (16ul << 10)
#define PARTS 10

#define TABLE (4ul << 20)               /* bytes that a page table maps; of a PAE's, two */

static unsigned long size = 4 << 20, behind;
static char *place;
static unsigned long touched, step;
static int file;

static void work(void *context, unsigned long count)
{
	(void)context;
	while (count--) {
		char *where = mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

		if (where == MAP_FAILED)
			bench_die("mmap");
		if (where != place) {
			errno = ENOMEM;
			bench_die("mmap: the place that was chosen is not free");
		}
		for (unsigned long at = 0; at < touched; at += step)
			*(volatile char *)(where + at) = 1;
		bench_check(munmap(where, size), "munmap");
	}
}

/* Finds a free place that begins with a page table's, and maps what the mapping stands behind. */
static void choose_place(void)
{
	unsigned long room = size + behind + TABLE;
	char *found = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (found == MAP_FAILED)
		bench_die("mmap");
	place = (char *)(((unsigned long)found + TABLE - 1) / TABLE * TABLE);
	bench_check(munmap(found, room), "munmap");
	if (behind) {
		found = mmap(place, behind, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (found == MAP_FAILED)
			bench_die("mmap");
		*(volatile char *)found = 1;
		place += behind;
	}
}

int main(int argc, char **argv)
{
	const char *touch = "none";
	const struct bench_option options[] = {
		BENCH_NUMBER("size", &size, 4096, 1 << 30, "bytes mapped"),
		BENCH_WORD("touch", &touch, "none|tenth|spread", "which part is written to"),
		BENCH_NUMBER("behind", &behind, 0, 64 << 20, "bytes mapped before it, the first page of which is touched"),
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
	choose_place();
	path = bench_file("mmap-latency", size);
	file = (int)bench_check(open(path, O_RDWR), path);
	bench_row("mmap-latency", bench_measure(work, NULL), bench_iterations, 0, BENCH_US, 0);
	unlink(path);
	return 0;
}
