/* Waiting for an interrupt. */
#include <arch.h>
#include <arch/core.h>

/*
 * MSR[POW] and MSR[EE] are set by one instruction, so a pending interrupt is taken before the processor dozes. Any
 * interrupt ends the doze: its SRR1 has POW clear, and rfi restores that.
 */
void arch_idle(void)
{
	u32 msr = mfmsr();

	if (cpu_core->dozes) {
		u32 hid0;

		__asm__ volatile("mfspr %0, %1" : "=r"(hid0) : "i"(SPR_HID0));
		__asm__ volatile("mtspr %0, %1" : : "i"(SPR_HID0), "r"(hid0 | HID0_DOZE));
	}
	__asm__ volatile(".globl idle_wait_start, idle_wait_end; idle_wait_start: sync; mtmsr %0; isync; idle_wait_end:"
			 : : "r"(msr | MSR_EE | MSR_POW) : "memory");
	mtmsr(msr);
}
