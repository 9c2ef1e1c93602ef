/* The registers that an exception saves. Code outside the architecture reads and changes them only by regs_*(). */
#ifndef ARCH_REGS_H
#define ARCH_REGS_H
#include <arch/reg.h>
#include <types.h>

/*
 * The registers of a program or of the interrupted kernel, in the layout of Linux's struct pt_regs for 32-bit PowerPC,
 * so that signal frames contain it unchanged.
 */
struct regs {
	u32 gpr[32];
	u32 nip;                /* address to continue at (SRR0) */
	u32 msr;                /* machine state (SRR1) */
	u32 orig_gpr3;          /* system calls: r3 as it was passed */
	u32 ctr, link, xer, ccr;
	u32 mq;                 /* 601 only; 0 */
	u32 trap;               /* vector, 0xc00 for a system call */
	u32 dar, dsisr;         /* of a fault */
	u32 result;             /* unused; the ABI has it */
};

#define TRAP_SYSCALL 0xc00u

/* Whether the registers are of user mode, not of the interrupted kernel. */
static inline bool regs_user(const struct regs *regs) { return (regs->msr & MSR_PR) != 0; }
/* Whether they are of a fault, a miss that the tree may serve included. */
static inline bool regs_fault(const struct regs *regs) { return regs->trap == 0x300 || regs->trap == 0x400; }
/* The address to continue at, and the return address of the function there, if a register has it. */
static inline vaddr_t regs_pc(const struct regs *regs) { return regs->nip; }
static inline vaddr_t regs_caller(const struct regs *regs) { return regs->link; }
static inline uaddr_t regs_stack(const struct regs *regs) { return regs->gpr[1]; }
static inline void regs_set_stack(struct regs *regs, uaddr_t address) { regs->gpr[1] = address; }
static inline void regs_set_thread_pointer(struct regs *regs, u32 value) { regs->gpr[2] = value; }
/* 0, or why no thread can have this value: it can have any. */
static inline int thread_pointer_check(u32 value)
{
	(void)value;
	return 0;
}

/* System calls: arguments are counted from 0. A call may return values in the argument registers too. */
static inline u32 regs_argument(const struct regs *regs, unsigned n) { return regs->gpr[3 + n]; }
static inline void regs_set_argument(struct regs *regs, unsigned n, u32 value) { regs->gpr[3 + n] = value; }
/* The positive errno of the call; 0: no error, or no call. */
static inline u32 regs_error(const struct regs *regs)
{
	return regs->trap == TRAP_SYSCALL && regs->ccr & CCR_SO ? regs->gpr[3] : 0;
}
/* Stores the result of a call that ends: the last 4095 values are errors. */
static inline void regs_set_result(struct regs *regs, u32 result)
{
	if (result >= (u32)-4095) {
		regs->gpr[3] = -result;
		regs->ccr |= CCR_SO;
	} else {
		regs->gpr[3] = result;
		regs->ccr &= ~CCR_SO;
	}
}
static inline void regs_set_error(struct regs *regs, u32 error) { regs->gpr[3] = error; }
/* Makes the program repeat the call. */
static inline void regs_call_again(struct regs *regs)
{
	regs->gpr[3] = regs->orig_gpr3;
	regs->ccr &= ~CCR_SO;
	regs->nip -= sizeof(u32);       /* of the sc instruction */
}
/* Replaces the number of a call that will be repeated. */
static inline void regs_set_call(struct regs *regs, u32 number) { regs->gpr[0] = number; }
/* Stores no call's result: the registers are complete. */
static inline void regs_no_call(struct regs *regs) { regs->trap = 0; }
/* Whether the word before regs_pc() ends with the instruction of a system call, and where that word is. */
#define REGS_CALL_INSTRUCTION 0x44000002u       /* sc */
static inline bool regs_word_calls(u32 word) { return word == REGS_CALL_INSTRUCTION; }
static inline uaddr_t regs_pc_before(const struct regs *regs) { return regs->nip - sizeof(u32); }

/* The bit of MSR for an exception after each instruction of the program. */
extern u32 regs_step_bit;
static inline void regs_set_stepping(struct regs *regs, bool on)
{
	regs->msr = on ? regs->msr | regs_step_bit : regs->msr & ~regs_step_bit;
}

#endif
