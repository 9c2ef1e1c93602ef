/*
 * ELF on an i386: how a program names its processor, and the registers in a core file (x86 asm/elf.h, asm/user_32.h).
 */
#ifndef ABI_ELF_MACHINE_H
#define ABI_ELF_MACHINE_H

#define EM_386    3
#define ELF_MAGIC 0x464c457fu          /* 0x7f, "ELF", as a word */

#define ABI_ELF_CLASS   ELFCLASS32
#define ABI_ELF_DATA    ELFDATA2LSB
#define ABI_ELF_MACHINE EM_386
#define ABI_MACHINE     "i486"          /* uname's machine */
#define ABI_CODE_ALIGN  1u            /* of an instruction's address */
#define ABI_ELF_FORM    "32-bit little-endian"     /* in messages */
#define ABI_ELF_FOR     "i386"

/* A task's registers as a debugger sees them: user_regs_struct, and the 108 bytes that FNSAVE stores. */
#define GENERAL_WORDS 17u
#define FP_BYTES      108u
#define FP_WORDS      14u               /* of 64 bits, of which FP_BYTES have a meaning */
#include <types.h>

typedef u16 core_id;

#include <abi/elf_core.h>

_Static_assert(sizeof(struct prstatus) == 144, "debuggers know it by its size");
_Static_assert(sizeof(struct prpsinfo) == 124, "debuggers know it by its size");

#endif
