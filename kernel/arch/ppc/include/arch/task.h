/* What the processor's part of the kernel keeps of a task. */
#ifndef ARCH_TASK_H
#define ARCH_TASK_H

#include <types.h>

struct task;

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
	u32 frame_pa;           /* physical address of the frame that an exception in the program is saved in */
	struct task *task;
	u32 scratch[12];        /* of handlers that use no stack */
	u64 fpr[32];
	u64 fpscr;              /* as mffs gives it: low word */
};

#endif
