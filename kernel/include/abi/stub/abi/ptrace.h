/* ptrace: requests, and the size of the registers. */
#ifndef ABI_PTRACE_H
#define ABI_PTRACE_H

#include <abi/elf_machine.h>
#include <abi/ptrace_base.h>

enum { PTRACE_GETREGS = 12, PTRACE_SETREGS = 13, PTRACE_GETFPREGS = 14, PTRACE_SETFPREGS = 15 };

#define PTRACE_REGS_SIZE (GENERAL_WORDS * sizeof(u32))

#endif
