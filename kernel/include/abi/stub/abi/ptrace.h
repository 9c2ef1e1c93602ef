/* ptrace: the size of the registers. */
#ifndef ABI_PTRACE_H
#define ABI_PTRACE_H
#include <abi/elf_machine.h>
#include <abi/ptrace_base.h>

#define PTRACE_REGS_SIZE (GENERAL_WORDS * sizeof(u32))

#endif
