/* Random mappings and accesses: a checksum of every outcome, round by round. */

#include "guest.h"

#define ROUNDS 300
#define ACCESSES 32
#define FRAMES 0x40000u /* 256 KB of RAM that accesses reach */
#define TABLE ((volatile uint32_t *)0x100000)

static uint32_t state;
static uint32_t checksum;
/* Accesses that were done, met no page, were refused. */
static uint32_t outcomes[3];

static uint32_t draw(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return (uint32_t)(((uint64_t)state * limit) >> 32);
}

static void mix(uint32_t value)
{
	checksum = (checksum ^ value) * 0x01000193u;
	checksum ^= checksum >> 15;
}

static uint32_t segments[4];

static uint32_t vsid(uint32_t n)
{
	return 0x1000 + n * 0x2357;
}

/* An address of one of 32 pages in one of four segments; the pages share four classes of the TLB. */
static uint32_t page(void)
{
	return (4 + draw(4)) << 28 | draw(8) << 18 | draw(4) << 12;
}

static void change_segment(void)
{
	uint32_t n = draw(4);
	segments[n] = vsid(draw(6)) | draw(4) << 29;
	set_segment(4 + n, segments[n]);
}

static void change_pte(void)
{
	uint32_t word1 = (FRAMES + draw(64) * 0x1000) | draw(4) << 7 | draw(4);
	volatile uint32_t *pte = put_pte(vsid(draw(6)), page(), word1, draw(2), draw(8));
	if (draw(4) == 0)
		pte[0] &= 0x7fffffff;
	/* The PTE that was there may have been any page's. */
	for (uint32_t a = 0; a < 4 * 4096; a += 4096)
		tlbie(a);
}

/* Blocks of 128 or 256 KB, each BAT in a segment of its own: overlapping blocks are an error. */
static void change_bat(void)
{
	uint32_t n = 1 + draw(3);
	uint32_t length = draw(2);
	uint32_t upper = (4 + n) << 28 | draw(4) << 18 | length << 2 | draw(4);
	uint32_t pp = draw(4);
	/* QEMU's 603 takes a block that does not permit an access for none. */
	if (software_reload())
		pp = 2;
	set_bat(1, n, upper, FRAMES | pp);
}

static void access(void)
{
	uint32_t address = page() | draw(1024) << 2;
	uint32_t msr = draw(2) ? USER : KERNEL;
	uint32_t value = draw(0xffffffff);
	if (draw(3))
		mix(probe(op_load, address, msr, 0));
	else
		probe(op_store, address, msr, value);
	mix(RECORD->vector);
	outcomes[RECORD->vector != 0x300 ? 0 : RECORD->dsisr & 0x40000000 ? 1 : 2]++;
	if (RECORD->vector == 0x300) {
		mix(RECORD->dsisr);
		mix(RECORD->dar);
	}
}

void test_random(void)
{
	print("== random\n");
	mmu_init();
	state = 0x2545f491;
	checksum = 0;
	outcomes[0] = outcomes[1] = outcomes[2] = 0;
	for (uint32_t a = FRAMES; a < FRAMES + 0x40000; a += 4)
		*(volatile uint32_t *)a = a;
	for (int n = 0; n < 4; n++)
		change_segment();
	/* Hardware may set R of a page whose access it refuses, and the 603's C is software's. */
	uint32_t mask = software_reload() ? ~0x180u : ~0x100u;
	for (int round = 0; round < ROUNDS; round++) {
		for (int n = 0; n < 6; n++)
			change_pte();
		change_segment();
		if (draw(3) == 0)
			change_bat();
		for (int n = 0; n < ACCESSES; n++)
			access();
		if (round % 16 == 15) {
			for (uint32_t n = 0; n < 0x4000; n++)
				mix(TABLE[n] & (n & 1 ? mask : ~0u));
		}
		line("round", checksum);
	}
	line("done", outcomes[0]);
	line("no page", outcomes[1]);
	line("refused", outcomes[2]);
}
