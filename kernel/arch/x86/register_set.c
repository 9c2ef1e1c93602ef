/* A task's registers as a debugger sees them (<abi/ptrace.h>). */
#include <abi/elf.h>
#include <abi/ptrace.h>
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <register_set.h>
#include <task.h>

#include "internal.h"

#define USER_AREA_SIZE 284u     /* of Linux's struct user; behind the registers it holds nothing here, and reads as 0 */

/* fs and gs of the running task are in the processor. */
static u32 read_word(struct task *task, u32 word)
{
	const struct regs *regs = task_regs(task);

	switch (word) {
	case WORD_FS:
		return task == current ? segment_read_fs() : task->arch.fs;
	case WORD_GS:
		return task == current ? segment_read_gs() : task->arch.gs;
	case WORD_ORIG_EAX:
		return regs->trap == TRAP_SYSCALL ? regs->error : ~0u;
	case WORD_EFLAGS:
		return step_flags(task, regs->eflags);
	default:
		return word < WORD_FS ? (&regs->ebx)[word] : (&regs->eip)[word - WORD_EIP];
	}
}

/* Any selector of privilege 3 will do. The exit to the program finds out whether it has a segment (exceptions.c). */
static int write_selector(struct task *task, u32 word, u16 value)
{
	struct regs *regs = task_regs(task);

	if ((value && (value & 3) != 3) || (!value && (word == WORD_CS || word == WORD_SS)))
		return -EIO;
	if (word == WORD_FS)
		task->arch.fs = value;
	else if (word == WORD_GS)
		task->arch.gs = value;
	else
		*(word < WORD_FS ? &regs->ebx + word : &regs->eip + (word - WORD_EIP)) = value;
	return 0;
}

/* The tracer's own TF stays, unless the program is to have it. */
static void write_flags(struct task *task, u32 value)
{
	struct regs *regs = task_regs(task);
	u32 stepping = 0;

	if (value & EFLAGS_TF)
		step_forget(task);
	else if (task->arch.steps_for_tracer)
		stepping = EFLAGS_TF;
	regs->eflags = (regs->eflags & ~(u32)EFLAGS_FROM_USER) | (value & EFLAGS_FROM_USER) | stepping;
}

/* The flags that protect the kernel stay as they are. */
static int write_word(struct task *task, u32 word, u32 value)
{
	struct regs *regs = task_regs(task);

	switch (word) {
	case WORD_CS:
	case WORD_SS:
	case WORD_DS:
	case WORD_ES:
	case WORD_FS:
	case WORD_GS:
		return write_selector(task, word, (u16)value);
	case WORD_ORIG_EAX:
		if (value == ~0u)
			regs_no_call(regs);     /* gdb writes -1: the call must not be repeated */
		else if (regs->trap == TRAP_SYSCALL)
			regs->error = value;
		break;
	case WORD_EFLAGS:
		write_flags(task, value);
		break;
	default:
		if (word < WORD_DS)
			(&regs->ebx)[word] = value;
		else
			(&regs->eip)[word - WORD_EIP] = value;
	}
	return 0;
}

int register_word_get(struct task *task, u32 offset, u32 *value)
{
	if (offset % sizeof(u32) || offset >= USER_AREA_SIZE)
		return -EIO;
	*value = offset / sizeof(u32) < GENERAL_WORDS ? read_word(task, offset / sizeof(u32)) : 0;
	return 0;
}

int register_word_set(struct task *task, u32 offset, u32 value)
{
	if (offset % sizeof(u32) || offset / sizeof(u32) >= GENERAL_WORDS)
		return -EIO;
	return write_word(task, offset / sizeof(u32), value);
}

int register_set_put(struct task *task, u32 kind, const struct register_set *set, size_t size)
{
	int error = 0;

	if (kind == NT_PRFPREG) {
		arch_fpu_save(task);
		arch_fpu_drop(task);
		memcpy(task->arch.fp, set->fp, MIN(size, FLOAT_STATE_SIZE));
		return 0;
	}
	for (u32 word = 0; !error && word < MIN(size / sizeof(u32), GENERAL_WORDS); word++)
		error = write_word(task, word, set->general[word]);
	return error;
}

void register_set_get(struct task *task, u32 kind, struct register_set *set)
{
	memset(set, 0, sizeof(*set));
	if (kind == NT_PRFPREG) {
		arch_fpu_save(task);
		memcpy(set->fp, task->arch.fp, FLOAT_STATE_SIZE);
		return;
	}
	for (u32 word = 0; word < GENERAL_WORDS; word++)
		set->general[word] = read_word(task, word);
}
