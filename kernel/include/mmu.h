/*
 * The interface between the page-table tree and what caches it: a processor's
 * TLB and hash table. A backend is told what changed, and never walks areas;
 * only its reload reads the tree.
 */
#ifndef MMU_H
#define MMU_H

#include <arch/pte.h>
#include <check.h>
#include <types.h>

struct mm;

struct mmu_backend {
	const char *name;
	const char *reload;             /* who fills the TLB, as the boot's first line says it */
	u32 memory_most;                /* bytes of RAM that the mappings of the boot reach */
	/* What an entry of a root has beside its table's address, for a program's table and for the kernel's. */
	u32 root_bits, root_bits_kernel;
	/* Once, when frames can be allocated: the hash table, if the processor or a policy wants one. */
	void (*init)(void);
	/* Its files of /proc/mmu. */
	void (*proc_init)(void);
	/* From now on a program's addresses are of mm; NULL: there are none but the kernel's. */
	void (*activate)(struct mm *mm);
	/* One page of mm leaves hash table and TLB. Called while the tree's place still has the note (arch/pte.h). */
	void (*page_flush)(struct mm *mm, vaddr_t address);
	/* Everything: hash table emptied, TLB invalidated. */
	void (*flush_all)(void);
	/* The invariant checker: calls bad() for each cached entry that the tree contradicts; all, or an address's. */
	void (*check)(check_bad *bad);
	void (*check_page)(const struct mm *mm, vaddr_t address, check_bad *bad);
};

extern struct mmu_backend mmu[1];        /* the processor's, copied here at boot: a call by it takes one load */
/* Told that the tree has a new entry for a page, of which nothing is cached; policy hash.preload binds it. */
extern void (*page_installed)(struct mm *mm, vaddr_t address, pte_t pte);

#endif
