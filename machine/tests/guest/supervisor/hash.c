/* The hash table: every slot, R and C, invalidation, changed segments. */

#include "guest.h"

#define EA 0x6abcd000u
#define VSID 0xabcdefu
#define RC 0x180u

static void slots(void)
{
	for (unsigned n = 0; n < 16; n++) {
		clear_table();
		volatile uint32_t *pte = put_pte(VSID, EA, 0x0000a002, n >= 8, n & 7);
		line("slot", n);
		*(volatile uint32_t *)0xa010 = 0x5107000u + n;
		line("load", probe(op_load, EA + 0x10, KERNEL, 0));
		line("r and c", pte[1] & RC);
		probe(op_store, EA + 0x10, KERNEL, n);
		report("store");
		line("r and c", pte[1] & RC);
		line("memory", *(volatile uint32_t *)0xa010);
	}
}

void test_hash(void)
{
	print("== hash\n");
	mmu_init();
	set_segment(6, VSID);
	slots();

	print("referenced and changed\n");
	clear_table();
	volatile uint32_t *pte = put_pte(VSID, EA, 0x0000a002, 0, 0);
	*(volatile uint32_t *)0xa000 = 0x44000002; /* sc */
	__asm__ volatile("dcbst 0, %0\n\tsync\n\ticbi 0, %0\n\tsync\n\tisync" : : "r"(0xa000) : "memory");
	line("mapped", pte[1] & RC);
	probe(op_go, EA, KERNEL, 0);
	line("after a fetch", pte[1] & RC);
	probe(op_store, EA + 8, KERNEL, 0);
	line("after a store", pte[1] & RC);
	pte = put_pte(VSID, EA, 0x0000a001, 0, 0);
	set_segment(6, VSID | 0x20000000);
	probe(op_load, EA, USER, 0);
	line("after a load from a read-only page", pte[1] & RC);
	probe(op_store, EA, USER, 0);
	report("store");
	line("after a store that is refused, c", pte[1] & 0x80);
	set_segment(6, VSID);

	print("near misses\n");
	clear_table();
	put_pte(VSID ^ 0x800000, EA, 0x0000a182, 0, 0);
	pte = put_pte(VSID, EA, 0x0000a182, 0, 1);
	pte[0] &= 0x7fffffff;
	pte = put_pte(VSID, EA, 0x0000a182, 0, 2);
	pte[0] ^= 0x40;
	pte = put_pte(VSID, EA, 0x0000a182, 0, 3);
	pte[0] ^= 1;
	pte = put_pte(VSID, EA, 0x0000a182, 1, 4);
	pte[0] ^= 0x40;
	tlbie(EA);
	probe(op_load, EA, KERNEL, 0);
	report("load");

	print("invalidation\n");
	clear_table();
	*(volatile uint32_t *)0xa000 = 0xaaaa;
	*(volatile uint32_t *)0xb000 = 0xbbbb;
	pte = put_pte(VSID, EA, 0x0000a182, 0, 0);
	line("first page", probe(op_load, EA, KERNEL, 0));
	pte[1] = 0x0000b182;
	tlbie(EA);
	line("second page", probe(op_load, EA, KERNEL, 0));
	pte[0] = 0;
	tlbie(EA);
	probe(op_load, EA, KERNEL, 0);
	report("gone");

	print("segments\n");
	put_pte(VSID, EA, 0x0000a182, 0, 0);
	put_pte(0x123456, EA, 0x0000b182, 0, 0);
	for (int n = 0; n < 3; n++) {
		set_segment(6, VSID);
		line("one", probe(op_load, EA, KERNEL, 0));
		set_segment(6, 0x123456);
		line("other", probe(op_load, EA, KERNEL, 0));
	}
	set_segment(7, VSID);
	line("shared by two segments", probe(op_load, EA + 0x10000000, KERNEL, 0));

	/* More pages of one class than the TLB has ways. */
	print("one class\n");
	clear_table();
	set_segment(6, VSID);
	for (uint32_t n = 0; n < 8; n++) {
		*(volatile uint32_t *)(0x40000 + n * 0x1000) = 0xc1a55000 + n;
		put_pte(VSID, 0x60000000 + n * 0x40000, (0x40000 + n * 0x1000) | 0x182, 0, n);
	}
	for (int round = 0; round < 2; round++) {
		for (uint32_t n = 0; n < 8; n++)
			line("page", probe(op_load, 0x60000000 + n * 0x40000, KERNEL, 0));
	}
}
