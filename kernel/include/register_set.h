/* A task's registers in the form of a debugger; the architecture implements it (register_set.c). */
#ifndef REGISTER_SET_H
#define REGISTER_SET_H
#include <abi/elf_machine.h>
#include <types.h>

struct task;

struct register_set {
	union {
		u32 general[GENERAL_WORDS];
		u64 fp[FP_WORDS];
	};
};

/*
 * kind NT_PRFPREG: the floating-point registers; else the general ones. register_set_put changes the first `size`
 * bytes; -EIO: a register cannot have its value, and those behind it stay as they were.
 */
void register_set_get(struct task *task, u32 kind, struct register_set *set);
int register_set_put(struct task *task, u32 kind, const struct register_set *set, size_t size);
/*
 * Reads and writes the word at an offset of the user area; -EIO: there is none, or it cannot have the value. Fields
 * that a tracer must not change keep their values.
 */
int register_word_get(struct task *task, u32 offset, u32 *value);
int register_word_set(struct task *task, u32 offset, u32 value);

#endif
