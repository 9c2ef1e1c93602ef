/* Tasks: starting, switching, and sharing the floating-point unit. */
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <lib.h>
#include <task.h>

#include "internal.h"

#define FRAME_HEADER 16u        /* bytes of the ABI's stack header below struct regs */

/* What switch_to (switch.S) leaves on the stack of a task that does not run. */
struct switch_frame {
	u32 back_chain, link;
	u32 gpr[19];            /* r13 to r31 */
	u32 ccr;
	u32 pad[2];
};

struct regs *task_regs(struct task *task)
{
	return (struct regs *)(task->arch.stack_top - sizeof(struct regs));
}

void task_stack_init(struct task *task)
{
	task->arch.task = task;
	task->arch.stack_top = (u32)task->kernel_stack + KERNEL_STACK_SIZE;
	task->arch.frame_pa = kva_pa(task_regs(task)) - FRAME_HEADER;
	message_init(task);
}

void arch_task_start(struct task *task, void (*function)(void *), void *argument)
{
	task_stack_init(task);

	vaddr_t frame = (vaddr_t)task_regs(task) - FRAME_HEADER;
	struct switch_frame *s = (struct switch_frame *)(frame - sizeof(*s));

	memset(s, 0, sizeof(*s));
	s->back_chain = frame;
	*(u32 *)frame = 0;
	s->gpr[14 - 13] = (u32)function;
	s->gpr[15 - 13] = (u32)argument;
	*(u32 *)(frame + 4) = (u32)task_first_entry;
	task->arch.ksp = (u32)s;
}

/* The register for programs that a PPC405 has beside the usual ones. Its backend replaces both functions. */
REPLACED u32 own_register(void)
{
	return 0;
}

REPLACED void own_register_set(u32 value)
{
	(void)value;
}

void arch_task_fork(struct task *child, const struct regs *parent)
{
	struct regs *regs;

	task_stack_init(child);
	regs = task_regs(child);
	*regs = *parent;
	regs->gpr[3] = 0;
	regs->ccr &= ~(u32)CCR_SO;
	regs->msr &= ~(u32)(MSR_FP | MSR_FE0 | MSR_FE1);
	regs_set_stepping(regs, false);         /* its tracer, if it has one, says whether it steps */
	arch_fpu_save(current);
	memcpy(child->arch.fpr, current->arch.fpr, sizeof(child->arch.fpr));
	child->arch.fpscr = current->arch.fpscr;
	child->arch.usprg = own_register();
}

void arch_task_exec(struct regs *regs, uaddr_t entry, uaddr_t stack_pointer)
{
	arch_fpu_drop(current);
	memset(current->arch.fpr, 0, sizeof(current->arch.fpr));
	current->arch.fpscr = 0;
	own_register_set(0);
	memset(regs, 0, sizeof(*regs));
	regs->nip = entry;
	regs->msr = MSR_USER;
	regs->gpr[1] = stack_pointer;
}

void arch_task_free(struct task *task)
{
	if (this_cpu()->arch.fpu_owner == task)
		this_cpu()->arch.fpu_owner = NULL;
}

/* The owner keeps MSR[FP] while it does not run: its registers stay in the FPU until another task asks for it. */
CAUSE(switch) void fpu_give(struct task *task)
{
	struct task *owner = this_cpu()->arch.fpu_owner;

	if (owner != task) {
		mtmsr(mfmsr() | MSR_FP);
		if (owner) {
			fpu_store(owner->arch.fpr);
			task_regs(owner)->msr &= ~(u32)MSR_FP;
		}
		fpu_load(task->arch.fpr);
		mtmsr(mfmsr() & ~(u32)MSR_FP);
		this_cpu()->arch.fpu_owner = task;
	}
}

/* At a switch with several processors: its registers are in memory when it goes on elsewhere. */
void fpu_leave(struct task *task)
{
	if (this_cpu()->arch.fpu_owner != task)
		return;
	arch_fpu_save(task);
	arch_fpu_drop(task);
}

void arch_fpu_save(struct task *task)
{
	if (this_cpu()->arch.fpu_owner != task)
		return;
	mtmsr(mfmsr() | MSR_FP);
	fpu_store(task->arch.fpr);
	mtmsr(mfmsr() & ~(u32)MSR_FP);
}

void arch_fpu_drop(struct task *task)
{
	if (this_cpu()->arch.fpu_owner == task)
		this_cpu()->arch.fpu_owner = NULL;
	task_regs(task)->msr &= ~(u32)MSR_FP;
}
