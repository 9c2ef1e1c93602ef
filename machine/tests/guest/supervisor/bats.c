/* Block address translation. */

#include "guest.h"

#define BASE 0x40000000u

static void sizes(void)
{
	for (unsigned bits = 0; bits < 12; bits++) {
		uint32_t length = (1u << bits) - 1;
		uint32_t size = 0x20000u << bits;
		set_bat(1, 1, BASE | length << 2 | 2, 2);
		line("block", size);
		probe(op_load, BASE + (size < 0x1000000 ? size - 4 : 0x9000), KERNEL, 0);
		report("inside");
		probe(op_load, BASE + size, KERNEL, 0);
		report("behind");
		probe(op_load, BASE - 4, KERNEL, 0);
		report("before");
	}
}

static void protection(void)
{
	for (uint32_t pp = 0; pp < 4; pp++) {
		for (uint32_t valid = 0; valid < 4; valid++) {
			set_bat(1, 1, BASE | 7 << 2 | valid, pp);
			set_bat(0, 1, BASE | 7 << 2 | valid, pp);
			line("pp", pp);
			line("valid", valid);
			for (int user = 0; user < 2; user++) {
				uint32_t msr = user ? USER : KERNEL;
				print(user ? "user\n" : "kernel\n");
				probe(op_load, BASE + 0x9000, msr, 0);
				report("load");
				probe(op_store, BASE + 0x9000, msr, 1);
				report("store");
				probe(op_go, BASE + 0xa000, msr, 0);
				report("fetch");
			}
		}
	}
}

void test_bats(void)
{
	print("== bats\n");
	mmu_init();
	*(volatile uint32_t *)0xa000 = 0x44000002; /* sc */
	__asm__ volatile("dcbst 0, %0\n\tsync\n\ticbi 0, %0\n\tsync\n\tisync" : : "r"(0xa000) : "memory");
	sizes();
	protection();

	/* A block is asked before its segment, even one with T = 1, and before the page. */
	set_segment(4, 0x80000000u);
	set_bat(1, 1, BASE | 7 << 2 | 2, 2);
	*(volatile uint32_t *)0x9000 = 0xb10cu;
	line("block over direct-store segment", probe(op_load, BASE + 0x9000, KERNEL, 0));
	set_segment(4, 0x1444);
	put_pte(0x1444, BASE + 0x9000, 0x0000a182, 0, 0);
	line("block over page", probe(op_load, BASE + 0x9000, KERNEL, 0));
	set_bat(1, 1, 0, 0);
	line("page", probe(op_load, BASE + 0x9000, KERNEL, 0));

	/* Translation of data and of fetches is apart. */
	set_bat(1, 1, 0, 0);
	set_bat(0, 1, BASE | 7 << 2 | 2, 2);
	clear_table();
	probe(op_load, BASE + 0xa000, KERNEL, 0);
	report("load through an instruction block");
	set_bat(0, 1, 0, 0);
	set_bat(1, 1, BASE | 7 << 2 | 2, 2);
	probe(op_go, BASE + 0xa000, KERNEL, 0);
	report("fetch through a data block");
	probe(op_go, 0xa000, KERNEL & ~MSR_IR, 0);
	report("fetch with translation off");
	set_bat(1, 1, 0, 0);
	set_bat(0, 1, 0, 0);
}
