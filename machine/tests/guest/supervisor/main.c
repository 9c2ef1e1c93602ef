/* Supervisor tests: what they print is the same on this machine and on QEMU's 40p. */

#include "guest.h"

void main(void);

void main(void)
{
	mmu_init();
	print(software_reload() ? "software reload\n" : "hardware walk\n");
	test_exceptions();
	test_interrupts();
	test_bats();
	test_pages();
	test_hash();
	test_random();
	print("== end\n");
	/* The control device, where there is one, stops the machine. */
	*(volatile uint32_t *)0x80000f08 = 0;
	for (;;) {
	}
}
