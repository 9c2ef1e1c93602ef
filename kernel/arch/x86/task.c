/* Tasks: starting, switching, and sharing the floating-point unit. */
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <lib.h>
#include <task.h>

#include "internal.h"

/* What FNSAVE stores after FNINIT, but for unused halves: control, status and tag words. */
static const u32 fp_initial[FLOAT_STATE_SIZE / sizeof(u32)] = { 0xffff037f, 0xffff0000, 0xffffffff, [6] = 0xffff0000 };

void fp_initialise(struct task *task)
{
	memcpy(task->arch.fp, fp_initial, sizeof(task->arch.fp));
}

struct regs *task_regs(struct task *task)
{
	return (struct regs *)(task->arch.stack_top - sizeof(struct regs));
}

void task_stack_init(struct task *task)
{
	task->arch.stack_top = (u32)task->kernel_stack + KERNEL_STACK_SIZE - sizeof(struct message_block);
	message_init(task);
	*(struct task **)((vaddr_t)task->kernel_stack + STACK_TASK) = task;
}

void arch_task_start(struct task *task, void (*function)(void *), void *argument)
{
	struct switch_frame *frame;

	task_stack_init(task);
	frame = (struct switch_frame *)((vaddr_t)task_regs(task) - sizeof(*frame));
	*frame = (struct switch_frame){ .ebx = (u32)function, .esi = (u32)argument, .eip = (u32)task_first_entry };
	task->arch.esp = (u32)frame;
}

void arch_task_fork(struct task *child, const struct regs *parent)
{
	struct regs *regs;

	task_stack_init(child);
	regs = task_regs(child);
	*regs = *parent;
	regs->eax = 0;
	regs->eflags = step_flags(current, regs->eflags);
	arch_fpu_save(current);
	memcpy(child->arch.fp, current->arch.fp, sizeof(child->arch.fp));
	memcpy(child->arch.tls, current->arch.tls, sizeof(child->arch.tls));
	child->arch.segments = segments_of_child(current);
	child->arch.fs = segment_read_fs();
	child->arch.gs = segment_read_gs();
	child->arch.fault_address = current->arch.fault_address;
}

void arch_task_exec(struct regs *regs, uaddr_t entry, uaddr_t stack_pointer)
{
	arch_fpu_drop(current);
	fp_initialise(current);
	tls_clear(current);
	step_forget(current);
	current->arch.fault_address = 0;
	*regs = (struct regs){
		.ds = USER_DS, .es = USER_DS, .eip = entry, .cs = USER_CS, .eflags = EFLAGS_IF | EFLAGS_FIXED,
		.esp = stack_pointer, .ss = USER_DS,
	};
}

void arch_task_free(struct task *task)
{
	if (this_cpu()->arch.fpu_owner == task)
		this_cpu()->arch.fpu_owner = NULL;
}

/* CR0.TS makes the next instruction of the FPU an exception. It changes only if it must: a write of CR0 takes long. */
CAUSE(switch) static inline void fpu_refuse(struct cpu_state *cpu, bool refuse)
{
	if (cpu->fpu_refuses == refuse)
		return;
	cpu->fpu_refuses = refuse;
	if (refuse)
		cr0_write(cr0_read() | CR0_TS);
	else
		__asm__ volatile("clts");
}

static inline void fpu_store(u8 *state)
{
	__asm__ volatile("fnsave (%0); fwait" : : "r"(state) : "memory");
}

static inline void fpu_load(const u8 *state)
{
	__asm__ volatile("frstor (%0)" : : "r"(state) : "memory");
}

/* The registers stay in the FPU until another task asks for it. */
CAUSE(switch) void fpu_give(struct task *task)
{
	struct cpu_state *cpu = &this_cpu()->arch;

	message_forget();
	fpu_refuse(cpu, false);
	if (cpu->fpu_owner == task)
		return;
	/*
	 * FRSTOR first reports an exception that waits; whoever caused it has dropped its registers. FNSAVE reports
	 * none.
	 */
	if (cpu->fpu_owner)
		fpu_store(cpu->fpu_owner->arch.fp);
	else
		__asm__ volatile("fnclex");
	fpu_load(task->arch.fp);
	cpu->fpu_owner = task;
}

/* FNSAVE initialises the FPU, so the registers are loaded again. */
CAUSE(switch) void arch_fpu_save(struct task *task)
{
	struct cpu_state *cpu = &this_cpu()->arch;
	bool refused = cpu->fpu_refuses;

	if (cpu->fpu_owner != task)
		return;
	fpu_refuse(cpu, false);
	fpu_store(task->arch.fp);
	fpu_load(task->arch.fp);
	fpu_refuse(cpu, refused);
}

NOINLINE CAUSE(switch) void arch_fpu_drop(struct task *task)
{
	struct cpu_state *cpu = &this_cpu()->arch;

	if (cpu->fpu_owner == task)
		cpu->fpu_owner = NULL;
	if (task == current)
		fpu_refuse(cpu, true);
}

CAUSE(switch) static inline __attribute__((always_inline)) void prepare_next(struct task *previous, struct task *next)
{
	struct cpu_state *cpu = &next->cpu->arch;

	cpu->tss.esp0 = next->arch.stack_top;
	fpu_refuse(cpu, cpu->fpu_owner != next);
	tls_switch(previous, next);
}

/* With several processors the task may go on elsewhere, so that this one's FPU keeps nothing of it. */
CAUSE(switch) static inline void fpu_leave(struct cpu_state *cpu, struct task *previous)
{
	if (!SEVERAL || cpu->fpu_owner != previous)
		return;
	fpu_refuse(cpu, false);
	fpu_store(previous->arch.fp);
	cpu->fpu_owner = NULL;
}

CAUSE(switch) void switch_to(struct task *previous, struct task *next)
{
	fpu_leave(&next->cpu->arch, previous);
	prepare_next(previous, next);
	switch_stack(&previous->arch.esp, next->arch.esp);
}

CAUSE(switch) void switch_away(struct task *previous, struct task *next)
{
	if (SEVERAL && next->cpu->arch.fpu_owner == previous)
		next->cpu->arch.fpu_owner = NULL;
	prepare_next(previous, next);
	switch_stack_away(previous, next->arch.esp);
}

/* No instruction prefetches. */
CAUSE(switch) void switch_preload(struct task *next)
{
	(void)next;
}
