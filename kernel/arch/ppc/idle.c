/* Waiting for an interrupt. */
#include <arch.h>
#include <arch/core.h>

/*
 * POW and EE go on together: an interrupt that waits already is taken first, and any interrupt ends the doze,
 * because SRR1 does not hold POW.
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
