/* ELF of the stub, a little-endian machine that does not exist, and the registers in its core files. */
#ifndef ABI_ELF_MACHINE_H
#define ABI_ELF_MACHINE_H

#define EM_STUB   0xfffeu
#define ELF_MAGIC 0x464c457fu          /* 0x7f, "ELF", as a word */

#define ABI_ELF_CLASS   ELFCLASS32
#define ABI_ELF_DATA    ELFDATA2LSB
#define ABI_ELF_MACHINE EM_STUB
#define ABI_MACHINE     "stub"          /* uname's machine */
#define ABI_CODE_ALIGN  4u            /* of an instruction's address */
#define ABI_ELF_FORM    "32-bit little-endian"     /* in messages */
#define ABI_ELF_FOR     "the stub"

/* A task's registers as a debugger sees them. */
#define GENERAL_WORDS 17u
#define FP_WORDS      13u
#include <types.h>

typedef u32 core_id;

#include <abi/elf_core.h>

#endif
