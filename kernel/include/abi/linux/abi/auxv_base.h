/* The auxiliary vector (uapi linux/auxvec.h; cache-line entries have PowerPC's numbers: powerpc asm/auxvec.h). */
#ifndef ABI_AUXV_BASE_H
#define ABI_AUXV_BASE_H

enum {
	AT_NULL = 0, AT_PHDR = 3, AT_PHENT, AT_PHNUM, AT_PAGESZ, AT_BASE, AT_FLAGS, AT_ENTRY,
	AT_UID = 11, AT_EUID, AT_GID, AT_EGID, AT_PLATFORM, AT_HWCAP, AT_CLKTCK,
	AT_DCACHEBSIZE = 19, AT_ICACHEBSIZE, AT_UCACHEBSIZE, AT_SECURE = 23, AT_RANDOM = 25,
	AT_HWCAP2 = 26, AT_EXECFN = 31,
};

#endif
