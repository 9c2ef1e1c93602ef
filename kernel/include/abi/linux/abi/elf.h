/* ELF of 32 bits: headers and notes (System V ABI, chapter 4; uapi linux/elf.h). */
#ifndef ABI_ELF_H
#define ABI_ELF_H
#include <types.h>

#define ELFCLASS32    1
#define ELFDATA2LSB   1
#define ELFDATA2MSB   2
#define EV_CURRENT    1
#define ET_EXEC       2
#define ET_DYN        3
#define ET_CORE       4
#define PT_LOAD       1
#define PT_INTERP     3
#define PT_NOTE       4
#define PF_X          1u
#define PF_W          2u
#define PF_R          4u

struct elf_header {
	u32 magic;
	u8 class, data, version, abi;
	u8 padding[8];
	u16 type, machine;
	u32 file_version, entry, program_headers, section_headers, flags;
	u16 header_size, program_header_size, program_header_count;
	u16 section_header_size, section_header_count, section_names;
};

struct program_header {
	u32 type, offset, address, physical, file_size, memory_size, flags, align;
};

/* Notes of a core file; the first two are register sets of ptrace as well. Linux uapi linux/elf.h. */
#define NT_PRSTATUS 1u
#define NT_PRFPREG  2u
#define NT_PRPSINFO 3u
#define NT_AUXV     6u
#define NT_FILE     0x46494c45u
#define NT_SIGINFO  0x53494749u

struct note {
	u32 name_size, size, type;
};

#endif
