/* The registers that an exception saves. */
#ifndef ARCH_REGS_H
#define ARCH_REGS_H

#include <arch/reg.h>
#include <types.h>

/*
 * A program's or the interrupted kernel's registers, in the layout of Linux's
 * struct pt_regs for 32-bit PowerPC, so that signal frames hold it as it is.
 */
struct regs {
	u32 gpr[32];
	u32 nip;                /* where it continues (SRR0) */
	u32 msr;                /* with what (SRR1) */
	u32 orig_gpr3;          /* system calls: r3 as it was passed */
	u32 ctr, link, xer, ccr;
	u32 mq;                 /* 601 only; 0 */
	u32 trap;               /* vector, 0xc00 for a system call */
	u32 dar, dsisr;         /* of a fault */
	u32 result;             /* free for the system-call layer */
};

#define TRAP_SYSCALL 0xc00u

static inline bool regs_user(const struct regs *regs) { return (regs->msr & MSR_PR) != 0; }

#endif
