/* The C handlers of the exceptions, called after entry.S saved the registers. */
#include <arch.h>
#include <cpu.h>
#include <errno.h>
#include <irq.h>
#include <lib.h>
#include <mm.h>
#include <outside.h>
#include <panic.h>
#include <process.h>
#include <signal.h>
#include <smp.h>
#include <syscall.h>
#include <task.h>

#include "internal.h"

/* Vectors (Intel manual, volume 3A, table 6-1). */
enum {
	DIVIDE = 0, DEBUG = 1, NON_MASKABLE = 2, BREAKPOINT = 3, OVERFLOW = 4, BOUND = 5, INVALID = 6, NO_FPU = 7,
	DOUBLE_FAULT = 8, FPU_OVERRUN = 9, INVALID_TSS = 10, NOT_PRESENT = 11, STACK_FAULT = 12, PROTECTION = 13,
	FPU_ERROR = 16, ALIGNMENT = 17,
};

/* Bits of an error code that names a selector: which table it is of. */
#define SELECTOR_TABLES 7u
#define SELECTOR_LOCAL  4u
#define FAULT_WRITE 2u          /* a bit of a page fault's error code */

/* The continuation after a fault in the kernel at [start, end). */
struct recovery {
	vaddr_t start, end, target;
};
extern const struct recovery recoveries_start[], recoveries_end[];

static bool access_recover(struct regs *regs)
{
	for (const struct recovery *r = recoveries_start; r < recoveries_end; r++) {
		if (regs->eip >= r->start && regs->eip < r->end) {
			regs->eip = r->target;
			return true;
		}
	}
	return false;
}

/* A fault that mm could not resolve: in the kernel, continues a user copy or panics; in a program, sends a signal. */
NOINLINE static void not_served(struct regs *regs, uaddr_t address, u32 access, int error)
{
	if (!regs_user(regs)) {
		if ((address < USER_END || aperture_has(address)) && access_recover(regs))
			return;
		panic_regs(regs, "kernel %s of 0x%08x", access == MM_WRITE ? "write" : "read", address);
	}
	current->arch.fault_address = address;
	if (error == -ENXIO)
		signal_fault(SIGBUS, BUS_ADRERR, address);
	else if (error == -ENOMEM)
		signal_kill(current->process);
	else
		signal_fault(SIGSEGV, error == -EACCES ? SEGV_ACCERR : SEGV_MAPERR, address);
}

/* No page withholds fetches, so a fetch is a read. */
CAUSE(fault) static inline u32 fault_access(const struct regs *regs)
{
	return regs->error & FAULT_WRITE ? MM_WRITE : MM_READ;
}

CAUSE(fault) void exception_page_fault(struct regs *regs)
{
	uaddr_t address = cr2_read();
	u32 access = fault_access(regs);
	int error = -EFAULT;

	if (fault_served_outside(regs, address, access))
		return;
	if (!regs_user(regs))
		stack_check(regs);
	if (current->mm)
		error = mm_fault(current->mm, address, access);
	if (error)
		not_served(regs, address, access, error);
	else
		current->minor_faults++;
}

void exception_interrupt(struct regs *regs)
{
	struct cpu_state *cpu = &this_cpu()->arch;

	cpu->vector = (u8)regs->trap;
	cpu->timer_regs = regs;
	irq_dispatch();
}

void exception_syscall(struct regs *regs)
{
	syscall_dispatch(regs);
}

/* The si_code of a floating-point exception: bits of the status word that the control word does not mask. */
static int fpe_code(void)
{
	u32 raised;

	arch_fpu_save(current);
	raised = (u32)current->arch.fp[4] & ~(u32)current->arch.fp[0] & 0x3f;
	if (raised & 0x01)
		return FPE_FLTINV;
	if (raised & 0x04)
		return FPE_FLTDIV;
	if (raised & 0x08)
		return FPE_FLTOVF;
	if (raised & 0x12)
		return FPE_FLTUND;
	return FPE_FLTRES;
}

/*
 * The exit to the program faulted: a selector that was valid before is not so now. ds and es become 0 and the exit goes
 * on. The fault lies on the stack right below what the instruction was about to pop.
 */
static bool exit_recover(struct regs *regs)
{
	static const char *const pops[] = { return_ds_loaded, return_es_loaded, return_ds_checked, return_es_checked };
	struct regs *user = task_regs(current);
	u32 general[offsetof(struct regs, trap) / sizeof(u32)];

	for (unsigned i = 0; i < ARRAY_SIZE(pops); i++) {
		if (regs->eip == (u32)pops[i]) {
			*(&regs->eflags + 1) = 0;
			return true;
		}
	}
	if (regs->eip != (u32)return_iret_loaded_loading && regs->eip != (u32)return_iret_checked_loading &&
	    regs->eip != (u32)return_iret_checked)
		return false;
	kernel_lock_again();            /* the exit has let it go already */
	/*
	 * The program's other registers are restored already. The fault's frame has them, and lies over the program's
	 * frame.
	 */
	memcpy(general, regs, sizeof(general));
	memcpy(user, general, sizeof(general));
	user->cs = USER_CS;
	user->ss = USER_DS;
	user->eflags = (user->eflags & EFLAGS_FROM_USER) | EFLAGS_IF | EFLAGS_FIXED;
	regs_no_call(user);
	signal_fault(SIGSEGV, SI_KERNEL, 0);
	return_with(user);
}

static void kernel_exception(struct regs *regs)
{
	/*
	 * A program steps: the trap of an instruction that has loaded ss comes after the next one, which may have
	 * entered the kernel (Intel manual, volume 3A, 6.8.3).
	 */
	if (regs->trap == DEBUG) {
		regs->eflags &= ~(u32)EFLAGS_TF;
		return;
	}
	if (regs->trap >= INVALID_TSS && regs->trap <= PROTECTION && (access_recover(regs) || exit_recover(regs)))
		return;
	if (regs->trap == NO_FPU)
		panic_regs(regs, "kernel use of the floating-point unit");
	panic_regs(regs, "kernel exception %u, error code 0x%x", regs->trap, regs->error);
}

void exception_other(struct regs *regs)
{
	if (regs->trap == NON_MASKABLE) {
		this_cpu()->machine_checks++;
		return;
	}
	if (!regs_user(regs)) {
		kernel_exception(regs);
		return;
	}
	switch (regs->trap) {
	case NO_FPU:
		fpu_give(current);
		break;
	case DIVIDE:
		signal_fault(SIGFPE, FPE_INTDIV, regs->eip);
		break;
	case DEBUG:
		step_done(regs);
		signal_fault(SIGTRAP, TRAP_TRACE, regs->eip);
		break;
	case BREAKPOINT:
		signal_fault(SIGTRAP, SI_KERNEL, 0);
		break;
	case INVALID:
		signal_fault(SIGILL, ILL_ILLOPN, regs->eip);
		break;
	case FPU_ERROR:
	case FPU_OVERRUN:
		signal_fault(SIGFPE, fpe_code(), regs->eip);
		break;
	case ALIGNMENT:
		signal_fault(SIGBUS, BUS_ADRALN, 0);
		break;
	case NOT_PRESENT:
	case STACK_FAULT:
		signal_fault(SIGBUS, SI_KERNEL, 0);
		break;
	case OVERFLOW:
	case BOUND:
	case INVALID_TSS:
	case PROTECTION:
		/* The selector is one of the program's own table. */
		if ((regs->error & SELECTOR_TABLES) == SELECTOR_LOCAL && local_table_refresh())
			break;
		signal_fault(SIGSEGV, SI_KERNEL, 0);
		break;
	default:
		panic_regs(regs, "unexpected exception %u", regs->trap);
	}
}
