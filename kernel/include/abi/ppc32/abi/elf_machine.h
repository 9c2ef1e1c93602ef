/*
 * ELF on PowerPC: how a program names its processor, and the registers in a core file (powerpc asm/elf.h,
 * linux/elfcore.h).
 */
#ifndef ABI_ELF_MACHINE_H
#define ABI_ELF_MACHINE_H

#define EM_PPC    20
#define ELF_MAGIC 0x7f454c46u          /* 0x7f, "ELF", as a word */

#define ABI_ELF_CLASS   ELFCLASS32
#define ABI_ELF_DATA    ELFDATA2MSB
#define ABI_ELF_MACHINE EM_PPC
#define ABI_MACHINE     "ppc"           /* uname's machine */
#define ABI_CODE_ALIGN  4u            /* of an instruction's address */
#define ABI_ELF_FORM    "32-bit big-endian"     /* in messages */
#define ABI_ELF_FOR     "PowerPC"

/* A task's registers as a debugger sees them: the general ones are struct regs, padded with zeros. */
#define GENERAL_WORDS 48u
#define FP_WORDS      33u               /* of 64 bits: the last is FPSCR */
#include <types.h>

typedef u32 core_id;

#include <abi/elf_core.h>

_Static_assert(sizeof(struct prstatus) == 268, "debuggers know it by its size");
_Static_assert(sizeof(struct prpsinfo) == 128, "debuggers know it by its size");

#endif
