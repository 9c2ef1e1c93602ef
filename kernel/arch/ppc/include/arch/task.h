/* What the processor's part of the kernel keeps of a task, and how tasks start and switch. */
#ifndef ARCH_TASK_H
#define ARCH_TASK_H

#include <types.h>

struct task;
struct regs;

/* The running task. r2 is reserved for it in the whole kernel. */
register struct task *current __asm__("r2");

#define KERNEL_STACK_SIZE 8192u
#define STACK_RED_ZONE 1024u    /* lowest bytes of a kernel stack, which only a panic may use */

/*
 * Member `arch` of struct task; zeroed at the task's birth. The entry code
 * reaches it by SPRG3, which holds its physical address.
 */
struct arch_task {
	u32 ksp;                /* kernel stack pointer while switched out */
	u32 stack_top;          /* virtual end of the kernel stack */
	struct task *task;
	u32 root_pa;            /* of the page-table tree that was last active */
	u32 scratch[12];        /* of handlers that use no stack */
	u32 fpu_live;           /* the FPU holds this task's registers */
	u32 fpu_used;           /* since exec */
	u64 fpr[32];
	u64 fpscr;              /* as mffs gives it: low word */
};

/*
 * A new task whose `kernel_stack` (KERNEL_STACK_SIZE bytes from kmalloc) is set:
 * its first run calls function(argument) on that stack. When that returns,
 * the task goes to user mode with task_regs(task), after return_to_user() if
 * task->work asks for it.
 */
void arch_task_start(struct task *task, void (*function)(void *), void *argument);
/* The registers of user mode, at the top of the task's kernel stack. */
struct regs *task_regs(struct task *task);
/*
 * fork and clone: the child's user registers are the parent's (current) with r3 = 0 and
 * CR0.SO clear, the FPU's too. Follow with arch_task_start(). The caller then
 * sets gpr[1] (stack) and gpr[2] (TLS) as clone's arguments say.
 */
void arch_task_fork(struct task *child, const struct regs *parent);
/* exec by current: regs for a program's first instruction, FPU cleared. */
void arch_task_exec(struct regs *regs, u32 entry, u32 stack_pointer);
/* Before a task's memory is freed. */
void arch_task_free(struct task *task);

/* Asks for the lines that a switch to this task reads first; nothing unless policy preload is on. */
void switch_preload(struct task *next);

/* Saves previous, continues next; returns, later, in previous. Interrupts are off. mmu->activate() comes first. */
void switch_to(struct task *previous, struct task *next);

/* After this task->arch.fpr and fpscr are right; the FPU is reloaded from them at next use. */
void arch_fpu_save(struct task *task);
/* What the FPU holds of the task is worthless: exec, exit, or fpr was written. */
void arch_fpu_drop(struct task *task);

#endif
