/* Exceptions of instructions: vectors, SRR0, SRR1, MSR in the handler. */

#include "guest.h"

/* How a probe of `code` ends, SRR0 relative to it. */
static void ends(const char *name, const void *code, uint32_t msr)
{
	probe(code, 0x9000, msr, 0);
	const volatile struct record *r = RECORD;
	print(name);
	print(": vector ");
	print_hex(r->vector);
	print(" srr0 +");
	print_hex(r->srr0 - (uint32_t)code);
	print(" srr1 ");
	print_hex(r->srr1);
	print(" msr ");
	print_hex(r->msr);
	print("\n");
}

void test_exceptions(void)
{
	print("== exceptions\n");
	set_bat(1, 1, 0x00000000u | 0x7ff << 2 | 3, 2);
	ends("system call, kernel", op_nothing, KERNEL);
	ends("system call, user", op_nothing, USER);
	ends("system call, real mode", op_nothing, MSR_ME | MSR_IP);
	ends("system call, floating point on", op_nothing, KERNEL | MSR_FP | MSR_RI);
	ends("illegal, kernel", op_illegal, KERNEL);
	ends("illegal, user", op_illegal, USER);
	ends("mfmsr, user", op_mfmsr, USER);
	ends("mtmsr, user", op_mtmsr, USER);
	ends("mfsr, user", op_mfsr, USER);
	ends("mfsprg, user", op_mfsprg, USER);
	ends("tlbie, user", op_tlbie, USER);
	ends("rfi, user", op_rfi, USER);
	ends("trap, kernel", op_trap, KERNEL);
	ends("trap, user", op_trap, USER);
	ends("no trap", op_no_trap, USER);
	ends("floating point off, kernel", op_float, KERNEL);
	ends("floating point off, user", op_float, USER);
	ends("floating point on", op_float, USER | MSR_FP);
	line("mfmsr", probe(op_mfmsr, 0, KERNEL | MSR_RI, 0));
	line("mfmsr with floating point", probe(op_mfmsr, 0, KERNEL | MSR_FP, 0));
	set_segment(3, 0x20abcdef);
	line("mfsr", probe(op_mfsr, 0, KERNEL, 0));
	*(volatile uint32_t *)0x9000 = 5;
	line("stwcx. succeeds: cr", probe(op_conditional, 0x9000, KERNEL, 0x77) >> 28);
	line("memory", *(volatile uint32_t *)0x9000);
	line("stwcx. without reservation: cr", probe(op_lost_reservation, 0x9000, KERNEL, 0x99) >> 28);
	line("memory", *(volatile uint32_t *)0x9000);
	set_bat(1, 1, 0, 0);
}

#define ISA(port) (*(volatile uint8_t *)(0x80000000u + (port)))

/* Sets the pair of 8259s up and masks all inputs: the board's timer may have raised one. */
static void mask_interrupts(void)
{
	static const uint16_t base[2] = { 0x20, 0xa0 };
	for (int n = 0; n < 2; n++) {
		ISA(base[n]) = 0x11;
		ISA(base[n] + 1) = (uint8_t)(8 * n);
		ISA(base[n] + 1) = n ? 2 : 4;
		ISA(base[n] + 1) = 1;
		ISA(base[n] + 1) = 0xff;
	}
	__asm__ volatile("eieio");
}

void test_interrupts(void)
{
	print("== interrupts\n");
	mask_interrupts();
	/* The decrementer's exception comes when bit 0 goes from 0 to 1, and waits for MSR[EE]. */
	mtspr(DEC, 20);
	probe(op_spin, 0, KERNEL | MSR_EE, 0);
	line("decrementer: vector", RECORD->vector);
	line("srr1", RECORD->srr1);
	line("spins at", RECORD->srr0 - (uint32_t)op_spin);
	mtspr(DEC, 0x7fffffff);
	probe(op_nothing, 0, KERNEL | MSR_EE, 0);
	line("quiet: vector", RECORD->vector);
	/* Single step: after one instruction. */
	probe(op_nothing, 0, USER | MSR_SE, 0);
	line("single step: vector", RECORD->vector);
	line("srr0", RECORD->srr0 - (uint32_t)op_nothing);
	/* Vectors in RAM with MSR[IP] = 0: a copy of this ROM's. */
	for (uint32_t a = 0x100; a < 0x1600; a += 4)
		*(volatile uint32_t *)a = *(volatile uint32_t *)(0xfff00000u + a);
	for (uint32_t a = 0x200; a < 0x1000; a += 0x100) {
		/* "b caught" is relative: in RAM it goes by way of an absolute branch to the ROM. */
		volatile uint32_t *code = (volatile uint32_t *)a;
		extern const char caught[];
		code[2] = 0x48000002u | ((uint32_t)caught & 0x03fffffcu);
	}
	for (uint32_t a = 0x100; a < 0x1600; a += 32)
		__asm__ volatile("dcbst 0, %0\n\tsync\n\ticbi 0, %0" : : "r"(a) : "memory");
	__asm__ volatile("sync\n\tisync");
	probe(op_nothing, 0, (KERNEL & ~MSR_IP), 0);
	line("vector in RAM", RECORD->vector);
	line("msr", RECORD->msr);
}
