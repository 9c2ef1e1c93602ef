/* ptrace: the size of the registers, and the order of their words (x86 asm/user_32.h). */
#ifndef ABI_PTRACE_H
#define ABI_PTRACE_H
#include <abi/elf_machine.h>
#include <abi/ptrace_base.h>

#define PTRACE_REGS_SIZE (GENERAL_WORDS * sizeof(u32))

/* PTRACE_PEEKUSR: the general registers. */
enum {
	WORD_EBX, WORD_ECX, WORD_EDX, WORD_ESI, WORD_EDI, WORD_EBP, WORD_EAX, WORD_DS, WORD_ES, WORD_FS, WORD_GS,
	WORD_ORIG_EAX, WORD_EIP, WORD_CS, WORD_EFLAGS, WORD_ESP, WORD_SS,
};

#endif
