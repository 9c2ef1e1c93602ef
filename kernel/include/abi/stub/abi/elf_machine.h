/* ELF of the stub, a little-endian machine that does not exist, and the registers in its core files. */
#ifndef ABI_ELF_MACHINE_H
#define ABI_ELF_MACHINE_H

#include <types.h>

#define EM_STUB   0xfffeu
#define ELF_MAGIC 0x464c457fu          /* 0x7f, "ELF", as a word */

#define ABI_ELF_CLASS   ELFCLASS32
#define ABI_ELF_DATA    ELFDATA2LSB
#define ABI_ELF_MACHINE EM_STUB
#define ABI_MACHINE     "stub"          /* uname's machine */
#define ABI_ELF_FORM    "32-bit little-endian"     /* in messages */
#define ABI_ELF_FOR     "the stub"

/* A task's registers as a debugger sees them. */
#define GENERAL_WORDS 17u
#define FP_WORDS      13u

struct core_time { s32 sec, usec; };

struct prstatus {
	s32 sig, code, error;
	s16 current_signal, padding;
	u32 pending, blocked;
	s32 pid, parent, group, session;
	struct core_time user, system, children_user, children_system;
	u32 regs[GENERAL_WORDS];
	s32 has_fp;
};

struct prpsinfo {
	u8 state, letter, zombie, nice;
	u32 flags, uid, gid;
	s32 pid, parent, group, session;
	char name[16], arguments[80];
};

#endif
