/* A task's registers as a debugger sees them (<abi/ptrace.h>): struct regs, then the floating-point registers. */
#include <abi/elf.h>
#include <abi/ptrace.h>
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <register_set.h>
#include <task.h>

#define REGS_WORDS (sizeof(struct regs) / sizeof(u32))

_Static_assert(sizeof(struct regs) == PTRACE_REGS_SIZE, "struct regs is the ABI's pt_regs");

/* A word of the user area; NULL: there is none. */
static u32 *user_word(struct task *task, u32 offset)
{
	u32 word = offset / sizeof(u32);

	if (offset % sizeof(u32))
		return NULL;
	if (word < REGS_WORDS)
		return (u32 *)task_regs(task) + word;
	if (word < WORD_FPR || word > WORD_FPSCR)
		return NULL;
	arch_fpu_save(task);
	if (word == WORD_FPSCR)
		return (u32 *)&task->arch.fpscr + 1;
	return word < WORD_FPR + 64 ? (u32 *)task->arch.fpr + (word - WORD_FPR) : NULL;
}

/* Words that a tracer cannot change: the machine state and the reason for the stop. */
static bool is_fixed(u32 word)
{
	return word == WORD_MSR || word == WORD_TRAP;
}

int register_word_get(struct task *task, u32 offset, u32 *value)
{
	const u32 *word = user_word(task, offset);

	if (!word)
		return -EIO;
	*value = *word;
	return 0;
}

int register_word_set(struct task *task, u32 offset, u32 value)
{
	u32 *word = user_word(task, offset);

	if (!word)
		return -EIO;
	if (offset / sizeof(u32) >= WORD_FPR)
		arch_fpu_drop(task);
	if (!is_fixed(offset / sizeof(u32)))
		*word = value;
	return 0;
}

int register_set_put(struct task *task, u32 kind, const struct register_set *set, size_t size)
{
	if (kind == NT_PRFPREG) {
		arch_fpu_save(task);
		arch_fpu_drop(task);
		memcpy(task->arch.fpr, set->fp, size);
		return 0;
	}
	for (u32 word = 0; word < MIN(size / sizeof(u32), REGS_WORDS); word++)
		if (!is_fixed(word))
			((u32 *)task_regs(task))[word] = set->general[word];
	return 0;
}

void register_set_get(struct task *task, u32 kind, struct register_set *set)
{
	memset(set, 0, sizeof(*set));
	if (kind == NT_PRFPREG) {
		arch_fpu_save(task);
		memcpy(set->fp, task->arch.fpr, sizeof(set->fp));
	} else {
		memcpy(set->general, task_regs(task), sizeof(struct regs));
	}
}
