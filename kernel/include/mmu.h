/*
 * The narrow interface between the page-table tree and what caches it: a
 * processor's TLB and hash table. Backends are told what changed, and never
 * walk areas; only their reloads read the tree.
 */
#ifndef MMU_H
#define MMU_H

#include <check.h>
#include <types.h>

struct mm;

struct mmu_backend {
	const char *name;
	bool software_reload;
	bool hash;                      /* has a hash table, its own or one that software keeps */
	bool blocks;                    /* has block address translation and segment registers */
	u32 memory_most;                /* bytes of RAM that the mappings of the boot reach */
	/* What an entry of a root has beside its table's address, for a program's table and for the kernel's. */
	u32 root_bits, root_bits_kernel;
	/* Once, when frames can be allocated: the hash table, if the processor or a policy wants one. */
	void (*init)(void);
	/* Makes the kernel's own context known. */
	void (*kernel_context)(u32 segment_base, u32 step);
	/* Entries of one page of mm, of a VSID: removed from hash table and TLB. The tree's entry keeps PTE_NOTE so far. */
	void (*page_flush)(struct mm *mm, u32 vsid, vaddr_t address);
	/* Everything: hash table emptied, TLB invalidated. */
	void (*flush_all)(void);
	/* The invariant checker: calls bad() for each cached entry that the tree contradicts; all, or an address's. */
	void (*check)(check_bad *bad);
	void (*check_page)(const struct mm *mm, vaddr_t address, check_bad *bad);
};

extern const struct mmu_backend *mmu;           /* the processor's, bound at boot */
/* Told that the tree has a new entry for a page, of which nothing is cached; policy hash.preload binds it. */
extern void (*page_installed)(struct mm *mm, vaddr_t address, u32 pte);

#endif
