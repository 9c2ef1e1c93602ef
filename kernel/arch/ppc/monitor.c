/*
 * Sampling by the performance monitor. PMC1 counts cycles and becomes negative after a period. At that moment the
 * processor notes in SIA which code runs, also while interrupts are off; the interrupt then waits until they are on
 * (604 manual, chapter 9; 750GX manual, 11.1 and 11.2.1.7). The counter goes on meanwhile, so the next sample is taken
 * a whole number of periods later. Samples that would fall into the wait are lost, as there is one SIA.
 */
#include <arch.h>
#include <arch/core.h>
#include <arch/image.h>
#include <errno.h>
#include <smp.h>
#include <stat_tick.h>

#include "internal.h"

DECLARE_IMAGE(image_monitor);

extern const char kernel_start[], text_end[];
extern const char idle_wait_start[], idle_wait_end[];   /* arch_idle() */

static u32 monitor_period;      /* cycles; 0: off */

static void count_down(u32 cycles)
{
	__asm__ volatile("mtspr %0, %1; mtspr %2, %3"
			 : : "i"(SPR_PMC1), "r"(PMC_NEGATIVE - cycles), "i"(SPR_MMCR0),
			     "r"(MMCR0_ENABLE | MMCR0_PMC1 | MMCR0_PMC1_CYCLES));
}

int arch_sample(u32 cycles)
{
	if (cycles && (!cpu_core->monitor || SEVERAL))
		return -EOPNOTSUPP;
	if (cycles) {
		image_install(0xf00, &image_monitor);
		count_down(cycles);
	} else if (monitor_period) {
		__asm__ volatile("mtspr %0, %1" : : "i"(SPR_MMCR0), "r"(0));
	}
	monitor_period = cycles;
	return 0;
}

void exception_monitor(struct regs *regs)
{
	u32 counter, at, late;

	(void)regs;
	/* This interrupt may have been pending when sampling ended. */
	if (!monitor_period)
		return;
	/* Or it was pending when sampling was set again: the counter has begun anew, and SIA is of the time before. */
	__asm__ volatile("mfspr %0, %1" : "=r"(counter) : "i"(SPR_PMC1));
	if (counter < PMC_NEGATIVE)
		return;
	__asm__ volatile("mfspr %0, %1" : "=r"(at) : "i"(SPR_SIA));
	/* With translation off, the kernel's code runs at its physical address. No usual program has code there. */
	if (at < (u32)(text_end - kernel_start))
		at += (vaddr_t)kernel_start;
	late = counter - PMC_NEGATIVE;
	count_down(monitor_period - late % monitor_period);
	stat_sample(at, at >= (vaddr_t)idle_wait_start && at < (vaddr_t)idle_wait_end, late / monitor_period);
}
