/* The 603's reload, for the policies that bind it. */
#ifndef ARCH_SOFT6XX_H
#define ARCH_SOFT6XX_H
#include <types.h>

struct mm;

/* How a reload finds a page, and how a flush removes it from the hash table. */
struct soft_lookup {
	u32 (*find)(u32 vsid, vaddr_t address);
	void (*flush)(struct mm *mm, u32 vsid, vaddr_t address);
};

extern const struct soft_lookup *soft_lookup, soft_lookup_emulate, soft_lookup_bypass;

#endif
