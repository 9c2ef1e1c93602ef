/* The architecture's part of a task. */
#ifndef ARCH_TASK_H
#define ARCH_TASK_H
#include <arch/segment.h>
#include <types.h>

struct task;

#define KERNEL_STACK_SIZE 8192u
/*
 * Lowest bytes of a kernel stack, which only a panic may use. They hold all that it needs: below them, it would lose
 * the pointer to its task.
 */
#define STACK_RED_ZONE 2048u
#define STACK_TASK 4u           /* offset in a kernel stack of the pointer to its task, above its mark */

/*
 * The running task. A kernel stack lies at a multiple of its size, so its task is found from the stack pointer, on each
 * of several processors. It is the same for as long as a function runs.
 */
static inline struct task *task_of_stack(void)
{
	struct task *task;

	__asm__("movl %%esp, %0; andl %1, %0; movl %c2(%0), %0" : "=&r"(task) : "i"(-KERNEL_STACK_SIZE), "i"(STACK_TASK));
	return task;
}
#define current (task_of_stack())

#define FLOAT_STATE_SIZE 108u   /* what FNSAVE stores */

/* What switch_stack (switch.S) leaves on the stack of a task that does not run. */
struct switch_frame {
	u32 edi, esi, ebx, ebp, eip;
};

/* Member `arch` of struct task; zeroed when the task is created. */
struct arch_task {
	u32 esp;                /* kernel stack pointer while switched out */
	u32 stack_top;          /* end of the kernel stack: where an exception in user mode begins to push */
	union {
		struct {
			u16 fs, gs;     /* of the program, while it is switched out */
		};
		u32 selectors;          /* both */
	};
	u32 root;               /* CR3 of its address space, once that has been active; 0: none */
	u32 accepts;            /* it waits at the gate for a message of this task (message.h); 0: it does not */
	u32 segments;           /* names the content of tls[] and of LDTR; 0: it has no segments of its own */
	u64 tls[SEGMENTS_TLS];  /* descriptors for threads; 0: none */
	_Alignas(4) u8 fp[FLOAT_STATE_SIZE];
	bool steps_for_tracer;  /* EFLAGS.TF is set for its tracer alone (step.c) */
	u32 stepped_from;       /* address of the instruction that was last stepped over so */
	u32 fault_address;      /* of its last page fault that became a signal; CR2 may have another task's address */
};

#endif
