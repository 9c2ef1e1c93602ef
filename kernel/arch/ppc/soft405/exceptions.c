/* The C handlers of the PPC405's exceptions that differ from other processors'. */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/reg405.h>
#include <errno.h>
#include <irq.h>
#include <signal.h>
#include <time.h>

#include "../internal.h"
#include "soft405.h"

void exception_fetch_refused(struct regs *regs)
{
	if (!fetch_granted(regs))
		exception_instruction_fault(regs);
}

/*
 * ESR's bits of the cause are those of SRR1 on other processors, eight places higher. Without a floating-point unit its
 * loads and stores are illegal, and emulated.
 */
void exception_program405(struct regs *regs, u32 esr)
{
	int error = esr & ESR_ILLEGAL && regs_user(regs) ? emulate_float(regs) : -EINVAL;

	if (error == -EFAULT)
		signal_fault(SIGSEGV, SEGV_ACCERR, regs->dar);
	else if (error)
		program_exception(regs, esr >> 8);
	else
		step_emulated(regs);
}

/* SRR1 holds MSR[WE], and a return with it would wait for the next interrupt. */
CAUSE(entry) void exception_pit(struct regs *regs)
{
	regs->msr &= ~(u32)MSR_POW;
	__asm__ volatile("mtspr %0, %1" : : "i"(SPR_TSR), "r"(TSR_PIT));
	timer_interrupt(regs);
}

CAUSE(entry) void exception_external405(struct regs *regs)
{
	regs->msr &= ~(u32)MSR_POW;
	irq_dispatch();
}
