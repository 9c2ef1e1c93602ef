/*
 * Single steps. EFLAGS.TF may be set by the program itself or for its tracer. Only the program's own flag is seen in
 * its registers, and only this one goes to signal frames and children.
 */
#include <arch.h>
#include <lib.h>
#include <task.h>
#include <uaccess.h>

#include "internal.h"

#define OPCODE_POPF 0x9du
#define OPCODE_IRET 0xcfu

u32 step_flags(const struct task *task, u32 eflags)
{
	return task->arch.steps_for_tracer ? eflags & ~(u32)EFLAGS_TF : eflags;
}

void step_forget(struct task *task)
{
	task->arch.steps_for_tracer = false;
}

void regs_set_stepping(struct regs *regs, bool on)
{
	struct task *task = task_of_regs(regs);

	regs->eflags = step_flags(task, regs->eflags);
	task->arch.steps_for_tracer = on && !(regs->eflags & EFLAGS_TF);
	task->arch.stepped_from = regs->eip;
	if (on)
		regs->eflags |= EFLAGS_TF;
}

/* Whether the instruction there sets the flag: POPF or IRET, behind prefixes. */
static bool sets_trap_flag(uaddr_t address)
{
	static const u8 prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3 };
	u8 byte;

	for (u32 i = 0; i < 15 && !get_user(byte, (const u8 *)address + i); i++) {
		if (byte == OPCODE_POPF || byte == OPCODE_IRET)
			return true;
		if (!memchr(prefixes, byte, sizeof(prefixes)))
			return false;
	}
	return false;
}

/* After an instruction that loads the flags, TF is what the program wants, set or not. */
void step_done(struct regs *regs)
{
	struct arch_task *arch = &current->arch;

	if (arch->steps_for_tracer && (!(regs->eflags & EFLAGS_TF) || sets_trap_flag(arch->stepped_from)))
		arch->steps_for_tracer = false;
}
