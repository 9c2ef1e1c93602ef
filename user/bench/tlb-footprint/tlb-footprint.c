/* tlb-footprint: what one read needs of an MPC8xx's TLBs. Both are emptied by /proc/mmu/tlb; the misses of the region, one
 * read of a byte of a file in memory, are the entries that the read adds to what the way back from there has left. */
#include <fcntl.h>
#include <unistd.h>

#include "../common/bench.h"

static int tlb, file;

static void empty_and_read(unsigned int *region)
{
	char c;

	bench_check(pwrite(tlb, "0", 1, 0), "/proc/mmu/tlb");
	*region = bench_region_begin();
	bench_check(read(file, &c, 1), "read");
	bench_region_end(*region);
}

int main(int argc, char **argv)
{
	const char *path;
	unsigned int region;

	bench_start("tlb-footprint", argc, argv, NULL, 1, 0);
	tlb = (int)bench_check(open("/proc/mmu/tlb", O_WRONLY), "/proc/mmu/tlb");
	path = bench_file("tlb-footprint", 4096);
	file = (int)bench_check(open(path, O_RDONLY), path);
	/* The first time brings pages in. */
	for (int round = 0; round < 2; round++)
		empty_and_read(&region);
	bench_row("tlb-footprint", region, 1, 0, BENCH_US, 0);
	unlink(path);
	return 0;
}
