/*
 * tlb-footprint: how many TLB entries of an MPC8xx one read of a byte needs. A write to /proc/mmu/tlb empties both
 * TLBs. The misses of the measured region are then the entries that the read needs, without those that the return from
 * the write has loaded. On Linux, which has no such file, twice as many pages as a TLB has entries are read and
 * executed instead: they take the place of every entry that is not pinned.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/bench.h"
#include "code.h"

#define PAGES 64

static int tlb, file;
static unsigned char *code;

static void map_code(void)
{
	code = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		bench_die("mmap");
	for (unsigned int i = 0; i < PAGES; i++) {
		*(volatile uint32_t *)(code + i * 4096) = MACHINE_RETURN;
		machine_code_written(code + i * 4096);
	}
}

static void empty(void)
{
	if (tlb >= 0) {
		bench_check(pwrite(tlb, "0", 1, 0), "/proc/mmu/tlb");
		return;
	}
	for (unsigned int i = 0; i < PAGES; i++) {
		bench_use(*(volatile uint32_t *)(code + i * 4096));
		((void (*)(void))(code + i * 4096))();
	}
}

static void empty_and_read(unsigned int *region)
{
	char c;

	empty();
	*region = bench_region_begin();
	bench_check(read(file, &c, 1), "read");
	bench_region_end(*region);
}

int main(int argc, char **argv)
{
	const char *path;
	unsigned int region;

	bench_start("tlb-footprint", argc, argv, NULL, 1, 0);
	tlb = open("/proc/mmu/tlb", O_WRONLY);
	if (tlb < 0)
		map_code();
	path = bench_file("tlb-footprint", 4096);
	file = (int)bench_check(open(path, O_RDONLY), path);
	/* The first round only brings pages into memory. */
	for (int round = 0; round < 2; round++)
		empty_and_read(&region);
	bench_row("tlb-footprint", region, 1, 0, BENCH_US, 0);
	unlink(path);
	return 0;
}
