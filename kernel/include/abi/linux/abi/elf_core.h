/*
 * Notes of a core file (uapi linux/elfcore.h). elf_machine.h says how many words the registers have, and what core_id
 * is.
 */
#ifndef ABI_ELF_CORE_H
#define ABI_ELF_CORE_H
#include <types.h>

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
	u32 flags;
	core_id uid, gid;
	s32 pid, parent, group, session;
	char name[16], arguments[80];
};

#endif
