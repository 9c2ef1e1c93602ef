/* Page table, segments and BATs of the tests. */

#include "guest.h"

#define TABLE 0x100000u
#define TABLE_BYTES 0x10000u

int software_reload(void)
{
	uint32_t family = mfspr(PVR) >> 16;
	return family == 3 || family == 6 || family == 7;
}

void set_segment(uint32_t number, uint32_t value)
{
	__asm__ volatile("mtsrin %0, %1\n\tisync" : : "r"(value), "r"(number << 28) : "memory");
}

void tlbie(uint32_t address)
{
	__asm__ volatile("sync\n\ttlbie %0\n\tsync\n\tisync" : : "r"(address) : "memory");
}

#define BAT_CASE(n, base)                                   \
	case n:                                             \
		mtspr((base) + 2 * (n), 0);                 \
		mtspr((base) + 2 * (n) + 1, lower);         \
		mtspr((base) + 2 * (n), upper);             \
		break

void set_bat(int data, unsigned n, uint32_t upper, uint32_t lower)
{
	if (data) {
		switch (n) {
			BAT_CASE(0, DBAT0U);
			BAT_CASE(1, DBAT0U);
			BAT_CASE(2, DBAT0U);
			BAT_CASE(3, DBAT0U);
		}
	} else {
		switch (n) {
			BAT_CASE(0, IBAT0U);
			BAT_CASE(1, IBAT0U);
			BAT_CASE(2, IBAT0U);
			BAT_CASE(3, IBAT0U);
		}
	}
	__asm__ volatile("isync");
}

void clear_table(void)
{
	for (uint32_t a = TABLE; a < TABLE + TABLE_BYTES; a += 4)
		*(volatile uint32_t *)a = 0;
	for (uint32_t a = 0; a < 64 * 4096; a += 4096)
		tlbie(a);
}

void mmu_init(void)
{
	for (unsigned n = 0; n < 4; n++) {
		set_bat(0, n, 0, 0);
		set_bat(1, n, 0, 0);
	}
	for (uint32_t n = 0; n < 16; n++)
		set_segment(n, 0x1000 + n * 0x111);
	clear_table();
	mtspr(SDR1, TABLE);
	/* The ROM, for fetches of both modes. */
	set_bat(0, 0, 0xfff00000u | 7 << 2 | 3, 0xfff00000u | 2);
}

volatile uint32_t *put_pte(uint32_t segment, uint32_t address, uint32_t word1, int secondary, unsigned slot)
{
	uint32_t vsid = segment & 0xffffff;
	uint32_t page = address >> 12 & 0xffff;
	uint32_t hash = (vsid ^ page) & 0x3ff;
	if (secondary)
		hash ^= 0x3ff;
	volatile uint32_t *pte = (volatile uint32_t *)(TABLE + hash * 64 + slot * 8);
	pte[0] = 0;
	pte[1] = word1;
	__asm__ volatile("eieio");
	pte[0] = 0x80000000u | vsid << 7 | (uint32_t)!!secondary << 6 | page >> 10;
	tlbie(address);
	return pte;
}
