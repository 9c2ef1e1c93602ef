/* A task's registers as a debugger sees them: the architecture's (register_set.c). */
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

/* NT_PRFPREG: the floating-point ones; else the general ones. Of a set that is put, the first `size` bytes count. */
void register_set_get(struct task *task, u32 kind, struct register_set *set);
void register_set_put(struct task *task, u32 kind, const struct register_set *set, size_t size);
/* The word of the user area at an offset; -EIO: there is none. What a tracer must not change stays as it is. */
int register_word_get(struct task *task, u32 offset, u32 *value);
int register_word_set(struct task *task, u32 offset, u32 value);

#endif
