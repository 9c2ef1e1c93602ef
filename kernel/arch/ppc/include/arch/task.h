/* The architecture's part of a task. */
#ifndef ARCH_TASK_H
#define ARCH_TASK_H
#include <types.h>

struct task;

/* The running task. r2 is reserved for it in the whole kernel. */
register struct task *current __asm__("r2");

#define KERNEL_STACK_SIZE 8192u
#define STACK_RED_ZONE 1024u    /* lowest bytes of a kernel stack, which only a panic may use */

/*
 * Member `arch` of struct task; zeroed when the task is created. The entry code finds it by SPRG3, which holds its
 * physical address.
 */
struct arch_task {
	u32 ksp;                /* kernel stack pointer while switched out */
	u32 stack_top;          /* virtual end of the kernel stack */
	u32 frame_pa;           /* physical address of the frame of an exception in user mode */
	struct task *task;
	/* gate.S: physical addresses are of other tasks' struct arch_task (message.h) */
	u32 accepts;            /* it waits at the gate for a message of this task; 0: it does not */
	u32 peer_pa;            /* gets messages without further checks; the task's own address: none */
	s32 peer_number;        /* the number of the thread at the other end; 0: there is none */
	u32 passed;             /* messages sent to that thread since messages_account() */
	u32 scratch[12];        /* for handlers without a stack */
	u64 fpr[32];
	u64 fpscr;              /* in the form of mffs: low word */
	u32 usprg;              /* a PPC405's USPRG0 while switched out */
};

#endif
