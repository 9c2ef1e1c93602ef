/* ptrace: the word number of each of PowerPC's registers (uapi powerpc asm/ptrace.h). */
#ifndef ABI_PTRACE_H
#define ABI_PTRACE_H
#include <abi/elf_machine.h>
#include <abi/ptrace_base.h>

#define PTRACE_REGS_SIZE (44u * sizeof(u32))

/* PTRACE_PEEKUSR: struct regs, then, at word 48, the floating-point registers. */
#define WORD_MSR   33u
#define WORD_TRAP  40u
#define WORD_FPR   48u
#define WORD_FPSCR (WORD_FPR + 65u)

#endif
