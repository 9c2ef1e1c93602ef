/* A task's registers as a debugger sees them (<abi/ptrace.h>). */
#include <abi/elf.h>
#include <abi/ptrace.h>
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <register_set.h>
#include <task.h>

#include "internal.h"

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
	default:
		return word < WORD_FS ? (&regs->ebx)[word] : (&regs->eip)[word - WORD_EIP];
	}
}

/* Code and stack segments, and the flags that protect the kernel, stay as they are. */
static void write_word(struct task *task, u32 word, u32 value)
{
	struct regs *regs = task_regs(task);

	switch (word) {
	case WORD_CS:
	case WORD_SS:
		break;
	case WORD_FS:
		task->arch.fs = (u16)value;
		break;
	case WORD_GS:
		task->arch.gs = (u16)value;
		break;
	case WORD_DS:
	case WORD_ES:
		if (!(value & 0xffff) || (value & 3) == 3)
			(&regs->ebx)[word] = value & 0xffff;
		break;
	case WORD_ORIG_EAX:
		if (value == ~0u)
			regs_no_call(regs);     /* as gdb says that no call is to be repeated */
		else if (regs->trap == TRAP_SYSCALL)
			regs->error = value;
		break;
	case WORD_EFLAGS:
		regs->eflags = (regs->eflags & ~(u32)EFLAGS_FROM_USER) | (value & EFLAGS_FROM_USER);
		break;
	default:
		if (word < WORD_DS)
			(&regs->ebx)[word] = value;
		else
			(&regs->eip)[word - WORD_EIP] = value;
	}
}

int register_word_get(struct task *task, u32 offset, u32 *value)
{
	if (offset % sizeof(u32) || offset / sizeof(u32) >= GENERAL_WORDS)
		return -EIO;
	*value = read_word(task, offset / sizeof(u32));
	return 0;
}

int register_word_set(struct task *task, u32 offset, u32 value)
{
	if (offset % sizeof(u32) || offset / sizeof(u32) >= GENERAL_WORDS)
		return -EIO;
	write_word(task, offset / sizeof(u32), value);
	return 0;
}

void register_set_put(struct task *task, u32 kind, const struct register_set *set, size_t size)
{
	if (kind == NT_PRFPREG) {
		arch_fpu_save(task);
		arch_fpu_drop(task);
		memcpy(task->arch.fp, set->fp, MIN(size, FLOAT_STATE_SIZE));
		return;
	}
	for (u32 word = 0; word < MIN(size / sizeof(u32), GENERAL_WORDS); word++)
		write_word(task, word, set->general[word]);
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
