/*
 * tlb-footprint: how many TLB entries of an MPC8xx one read of a byte needs. A write to /proc/mmu/tlb empties both
 * TLBs. The misses of the measured region are then the entries that the read needs, without those that the return from
 * the write has loaded.
 */
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
	/* The first round only brings pages into memory. */
	for (int round = 0; round < 2; round++)
		empty_and_read(&region);
	bench_row("tlb-footprint", region, 1, 0, BENCH_US, 0);
	unlink(path);
	return 0;
}
