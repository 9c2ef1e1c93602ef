/* What the processor's part of the kernel keeps of a task. */
#ifndef ARCH_TASK_H
#define ARCH_TASK_H
#include <types.h>

struct task;

extern struct task *current;

#define KERNEL_STACK_SIZE 8192u
#define STACK_RED_ZONE 1024u

struct arch_task {
	u32 stack;
};

#endif
