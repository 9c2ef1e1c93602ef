/* Protection of pages and segments, and what failures report. */

#include "guest.h"

#define EA 0x50009000u
#define PAGE 0x0000a000u

static void access_all(uint32_t msr)
{
	probe(op_load, EA, msr, 0);
	report("load");
	probe(op_store, EA + 4, msr, 1);
	report("store");
	probe(op_go, EA, msr, 0);
	report("fetch");
}

static void protection(void)
{
	for (uint32_t pp = 0; pp < 4; pp++) {
		for (uint32_t keys = 0; keys < 4; keys++) {
			uint32_t segment = 0x1555 | keys << 29;
			set_segment(5, segment);
			line("pp", pp);
			line("segment", segment);
			print("kernel\n");
			put_pte(segment, EA, PAGE | 0x180 | pp, 0, 0);
			access_all(KERNEL);
			print("user\n");
			put_pte(segment, EA, PAGE | 0x180 | pp, 0, 0);
			access_all(USER);
			/* The entry may be resident when the mode changes. */
			print("kernel again\n");
			access_all(KERNEL);
		}
	}
}

void test_pages(void)
{
	print("== pages\n");
	mmu_init();
	*(volatile uint32_t *)PAGE = 0x44000002; /* sc */
	__asm__ volatile("dcbst 0, %0\n\tsync\n\ticbi 0, %0\n\tsync\n\tisync" : : "r"(PAGE) : "memory");
	protection();

	print("not mapped\n");
	set_segment(5, 0x1666);
	access_all(KERNEL);
	access_all(USER);
	probe(op_load_byte, EA + 0xabc, KERNEL, 0);
	report("load byte");
	probe(op_store_byte, EA + 0xabd, KERNEL, 0);
	report("store byte");
	probe(op_reserve, EA, KERNEL, 0);
	report("lwarx");
	probe(op_dcbst, EA, KERNEL, 0);
	report("dcbst");
	probe(op_dcbt, EA, KERNEL, 0);
	report("dcbt");
	probe(op_dcbz, EA, KERNEL, 0);
	report("dcbz");
	probe(op_icbi, EA, KERNEL, 0);
	report("icbi");

	print("no-execute segment\n");
	set_segment(5, 0x10001555);
	put_pte(0x1555, EA, PAGE | 0x182, 0, 0);
	access_all(KERNEL);
	print("guarded page\n");
	set_segment(5, 0x1555);
	/* The fetch comes first: QEMU would serve it from what a load leaves behind. */
	put_pte(0x1555, EA, PAGE | 0x18a, 0, 0);
	probe(op_go, EA, KERNEL, 0);
	report("fetch");
	probe(op_load, EA, KERNEL, 0);
	report("load");
	probe(op_store, EA + 4, KERNEL, 1);
	report("store");
	print("direct-store segment\n");
	set_segment(5, 0x80000000u);
	probe(op_go, EA, KERNEL, 0);
	report("fetch");

	/* An access over the end of a mapped page. */
	print("page crossing\n");
	set_segment(5, 0x1555);
	put_pte(0x1555, EA, PAGE | 0x182, 0, 0);
	*(volatile uint32_t *)(PAGE + 0xffc) = 0x01020304;
	probe(op_load, EA + 0xffe, KERNEL, 0);
	line("vector", RECORD->vector);
	line("dsisr", RECORD->dsisr);
	put_pte(0x1555, EA + 0x1000, 0x0000d182, 0, 1);
	*(volatile uint32_t *)0xd000 = 0x05060708;
	line("load", probe(op_load, EA + 0xffe, KERNEL, 0));
	probe(op_load_multiple, EA + 0xffc, KERNEL, 0);
	report("lmw");
	probe(op_store, EA + 0xffe, KERNEL, 0x11223344);
	line("left", *(volatile uint32_t *)(PAGE + 0xffc));
	line("right", *(volatile uint32_t *)0xd000);
}
