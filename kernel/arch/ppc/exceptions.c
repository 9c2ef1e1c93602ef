/* The C handlers of the exceptions, called after the vectors' images saved the registers. */
#include <arch.h>
#include <arch/entry.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <cpu.h>
#include <irq.h>
#include <lib.h>
#include <mm.h>
#include <outside.h>
#include <panic.h>
#include <process.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <time.h>

#include "internal.h"

/* The continuation after a fault on a user address in [start, end) (copy.S). */
struct recovery {
	vaddr_t start, end, target;
};
extern const struct recovery recoveries_start[], recoveries_end[];

DECLARE_IMAGE(image_reset);
DECLARE_IMAGE(image_machine_check);
DECLARE_IMAGE(image_alignment);
DECLARE_IMAGE(image_program);
DECLARE_IMAGE(image_fpu);
DECLARE_IMAGE(image_decrementer);
DECLARE_IMAGE(image_trace);
DECLARE_IMAGE(image_breakpoint);
DECLARE_IMAGE(image_management);

void exceptions_init(void)
{
	static const struct { u32 vector; const struct image *image; } table[] = {
		{ 0x100, &image_reset },
		{ 0x200, &image_machine_check },
		{ 0x600, &image_alignment },
		{ 0x700, &image_program },
		{ 0x800, &image_fpu },
		{ 0x900, &image_decrementer },
		{ 0xd00, &image_trace },
		{ 0x1300, &image_breakpoint },
		{ 0x1400, &image_management },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		image_install(table[i].vector, table[i].image);
	external_bind(false);
}

static bool user_access_recover(struct regs *regs)
{
	for (const struct recovery *r = recoveries_start; r < recoveries_end; r++) {
		if (regs->nip >= r->start && regs->nip < r->end) {
			regs->nip = r->target;
			return true;
		}
	}
	return false;
}

/* A fault that mm could not resolve: in the kernel, continues a user copy or panics; in a program, sends a signal. */
NOINLINE static void not_served(struct regs *regs, uaddr_t address, u32 access, int error)
{
	if (!regs_user(regs)) {
		if (address < USER_END && user_access_recover(regs))
			return;
		panic_regs(regs, "kernel %s of 0x%08x", access == MM_EXECUTE ? "execution" :
			   access == MM_WRITE ? "write" : "read", address);
	}
	if (error == -ENXIO)
		signal_fault(SIGBUS, BUS_ADRERR, address);
	else if (error == -ENOMEM)
		signal_kill(current->process);
	else
		signal_fault(SIGSEGV, error == -EACCES ? SEGV_ACCERR : SEGV_MAPERR, address);
}

CAUSE(fault) static inline __attribute__((always_inline)) int fault_error(const struct regs *regs, uaddr_t address,
									  u32 access)
{
	int error = -EFAULT;

	if (!regs_user(regs))
		stack_check(regs);
	if (current->mm)
		error = mm_fault(current->mm, address, access);
	if (!error)
		current->minor_faults++;
	return error;
}

CAUSE(fault) void exception_fault(struct regs *regs, uaddr_t address, u32 access)
{
	int error = fault_error(regs, address, access);

	if (error)
		not_served(regs, address, access, error);
}

static inline u32 data_access(u32 dsisr)
{
	return dsisr & DSISR_STORE ? MM_WRITE : MM_READ;
}

/* On an error, reads address and access from regs again, so that the usual path saves only the pointer regs. */
CAUSE(fault) void exception_data_fault(struct regs *regs)
{
	bool never = regs->dsisr & DSISR_NEVER;
	int error;

	/* In place of an access that no page permits, address 0: no fault there is served, and the lock is taken. */
	if (fault_served_outside(regs, never ? 0 : regs->dar, data_access(regs->dsisr)))
		return;
	error = never ? -ENXIO : fault_error(regs, regs->dar, data_access(regs->dsisr));
	if (error)
		not_served(regs, regs->dar, data_access(regs->dsisr), error);
}

/* Out of line, and reads the registers again, so that the caller saves nothing across mm_fault(). */
NOINLINE CAUSE(fault) static void data_miss_not_served(int error)
{
	struct regs *regs = task_regs(current);

	not_served(regs, regs->dar, data_access(regs->dsisr), error);
}

/*
 * As exception_data_fault(), for a page that a program uses and its tree lacks, so that no other bit of DSISR than the
 * store's matters (604 manual, 4.5.3). The vector passes regs, as to every handler, DAR and DSISR.
 */
CAUSE(fault) void exception_data_miss(struct regs *regs, uaddr_t address, u32 dsisr)
{
	int error = mm_fault(current->mm, address, data_access(dsisr));

	(void)regs;
	if (unlikely(error))
		data_miss_not_served(error);
	else
		current->minor_faults++;
}

REPLACED CAUSE(fault) void exception_instruction_fault(struct regs *regs)
{
	int error;

	if (fault_served_outside(regs, regs->nip, MM_EXECUTE))
		return;
	error = fault_error(regs, regs->nip, MM_EXECUTE);
	if (error)
		not_served(regs, regs->nip, MM_EXECUTE, error);
}

CAUSE(fault) bool fetch_granted(const struct regs *regs)
{
	return fetch_withheld && regs_user(regs) && fetch_permit(current->mm, regs->nip);
}

/* In place of exception_instruction_fault() where the reload refuses a fetch whose permission is withheld. */
CAUSE(fault) static void instruction_fault_withheld(struct regs *regs)
{
	int error = fetch_granted(regs) ? 0 : fault_error(regs, regs->nip, MM_EXECUTE);

	if (error)
		not_served(regs, regs->nip, MM_EXECUTE, error);
}

void exceptions_bind_withheld(void)
{
	arch_replace((const void *)exception_instruction_fault, (const void *)instruction_fault_withheld);
}

void exception_unexpected(struct regs *regs)
{
	panic_regs(regs, "unexpected exception 0x%x", regs->trap);
}

void exception_machine_check(struct regs *regs)
{
	this_cpu()->machine_checks++;
	if (!regs_user(regs)) {
		/* A device that a program has mapped refuses some access sizes, among them those of a copy. */
		if (user_access_recover(regs))
			return;
		panic_regs(regs, "kernel machine check");
	}
	signal_fault(SIGBUS, BUS_ADRERR, regs->nip);
}

REPLACED void exception_external(struct regs *regs)
{
	(void)regs;
	irq_dispatch();
}

void exception_decrementer(struct regs *regs)
{
	timer_interrupt(regs);
}

void exception_syscall(struct regs *regs)
{
	syscall_dispatch(regs);
}

void exception_trace(struct regs *regs)
{
	if (!regs_user(regs))
		panic_regs(regs, "kernel trace exception");
	regs_set_stepping(regs, false);
	signal_fault(SIGTRAP, TRAP_TRACE, regs->nip);
}

void step_emulated(struct regs *regs)
{
	if (regs->msr & regs_step_bit)
		exception_trace(regs);
}

void exception_alignment(struct regs *regs)
{
	int error;

	if (!regs_user(regs)) {
		/* dcbz of a program's uncached memory */
		if (regs->dar < USER_END && user_access_recover(regs))
			return;
		panic_regs(regs, "kernel access to 0x%08x is not aligned", regs->dar);
	}
	error = emulate_alignment(regs);
	if (error == -EFAULT)
		signal_fault(SIGSEGV, SEGV_ACCERR, regs->dar);
	else if (error)
		signal_fault(SIGBUS, BUS_ADRALN, regs->dar);
	else
		step_emulated(regs);
}

/* The si_code of a floating-point exception: FPSCR's exception bits that are enabled. */
static int fpe_code(u32 fpscr)
{
	if (fpscr & 0x80 && fpscr & 0x20000000)
		return FPE_FLTINV;
	if (fpscr & 0x40 && fpscr & 0x10000000)
		return FPE_FLTOVF;
	if (fpscr & 0x20 && fpscr & 0x08000000)
		return FPE_FLTUND;
	if (fpscr & 0x10 && fpscr & 0x04000000)
		return FPE_FLTDIV;
	return FPE_FLTRES;
}

void program_exception(struct regs *regs, u32 reason)
{
	if (!regs_user(regs))
		panic_regs(regs, "kernel program exception, SRR1 0x%08x", reason);
	if (reason & SRR1_FP_EXCEPTION) {
		arch_fpu_save(current);
		signal_fault(SIGFPE, fpe_code((u32)current->arch.fpscr), regs->nip);
	} else if (reason & SRR1_TRAP) {
		signal_fault(SIGTRAP, TRAP_BRKPT, regs->nip);
	} else if (!emulate_program(regs)) {
		signal_fault(SIGILL, reason & SRR1_PRIVILEGED ? ILL_PRVOPC : ILL_ILLOPC, regs->nip);
	} else {
		step_emulated(regs);
	}
}

void exception_program(struct regs *regs)
{
	u32 reason = regs->msr & 0xffff0000;

	regs->msr &= 0xffff;
	program_exception(regs, reason);
}

/* An MPC8xx: an instruction without hardware, usually a floating-point one. */
void exception_emulation(struct regs *regs)
{
	int error;

	if (!regs_user(regs))
		panic_regs(regs, "kernel instruction that the processor does not have");
	error = emulate_float(regs);
	if (error == -EFAULT)
		signal_fault(SIGSEGV, SEGV_ACCERR, regs->dar);
	else if (error)
		signal_fault(SIGILL, ILL_ILLOPC, regs->nip);
	else
		step_emulated(regs);
}

void exception_fpu_unavailable(struct regs *regs)
{
	if (!regs_user(regs))
		panic_regs(regs, "kernel use of the floating-point unit");
	fpu_give(current);
	regs->msr |= MSR_FP | MSR_FE0 | MSR_FE1;
}
