/* ELF: what programs and core files share. */
#ifndef ELF_H
#define ELF_H

#include <abi/elf.h>
#include <abi/elf_machine.h>
#include <types.h>

/* A task's registers as a debugger sees them. */
struct register_set {
	union {
		u32 general[GENERAL_WORDS];
		u64 fp[FP_WORDS];
	};
};
struct task;
void register_set_get(struct task *task, u32 kind, struct register_set *set);

#endif
