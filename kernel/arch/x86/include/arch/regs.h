/* The registers that an exception saves. Code outside the architecture reads and changes them only by regs_*(). */
#ifndef ARCH_REGS_H
#define ARCH_REGS_H
#include <arch/segment.h>
#include <types.h>

/*
 * The registers of a program or of the interrupted kernel, in the order in which entry.S and the processor push them. A
 * system call's arguments come first, so that they lie on the stack as a C function expects them. esp and ss are there
 * only if a program was interrupted. fs and gs are not saved: the kernel does not use them (task.c).
 */
struct regs {
	u32 ebx, ecx, edx, esi, edi, ebp, eax, ds, es;
	u32 trap;               /* vector, TRAP_SYSCALL for a call; 0: none */
	u32 error;              /* the exception's error code; of a call, its number */
	u32 eip, cs, eflags;
	u32 esp, ss;
};

#define TRAP_SYSCALL    0x80u
#define TRAP_PAGE_FAULT 14u

/* Whether the registers are of user mode, not of the interrupted kernel. */
static inline bool regs_user(const struct regs *regs) { return (regs->cs & 3) != 0; }
static inline bool regs_fault(const struct regs *regs) { return regs->trap == TRAP_PAGE_FAULT; }
/* The address to continue at. No register has the return address of the function there. */
static inline vaddr_t regs_pc(const struct regs *regs) { return regs->eip; }
static inline vaddr_t regs_caller(const struct regs *regs) { return regs->eip; }
/* The processor pushes a stack pointer only when it changes the stack. */
static inline uaddr_t regs_stack(const struct regs *regs) { return regs_user(regs) ? regs->esp : (u32)&regs->esp; }
static inline void regs_set_stack(struct regs *regs, uaddr_t address) { regs->esp = address; }
/* value: the address of a struct user_desc (tls.c). */
int thread_pointer_check(u32 value);
void regs_set_thread_pointer(struct regs *regs, u32 value);

/* System calls: arguments are counted from 0. A call may return values in the argument registers too. */
static inline u32 regs_argument(const struct regs *regs, unsigned n) { return (&regs->ebx)[n]; }
static inline void regs_set_argument(struct regs *regs, unsigned n, u32 value) { (&regs->ebx)[n] = value; }
/* The positive errno of the call; 0: no error, or no call. */
static inline u32 regs_error(const struct regs *regs)
{
	return regs->trap == TRAP_SYSCALL && regs->eax >= (u32)-4095 ? -regs->eax : 0;
}
static inline void regs_set_error(struct regs *regs, u32 error) { regs->eax = -error; }
/* Makes the program repeat the call. */
static inline void regs_call_again(struct regs *regs)
{
	regs->eax = regs->error;
	regs->eip -= 2;         /* int $0x80 */
}
/* Replaces the number of a call that will be repeated. */
static inline void regs_set_call(struct regs *regs, u32 number) { regs->eax = number; }
/* Stores no call's result: the registers are complete. */
static inline void regs_no_call(struct regs *regs) { regs->trap = 0; }
/* Whether the word before regs_pc() ends with the instruction of a system call, and where that word is. */
static inline bool regs_word_calls(u32 word) { return word >> 16 == 0x80cd; }
static inline uaddr_t regs_pc_before(const struct regs *regs) { return regs->eip - sizeof(u32); }

/* Sets or clears an exception after each instruction of the program (step.c). */
void regs_set_stepping(struct regs *regs, bool on);

#endif
