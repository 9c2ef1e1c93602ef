/*
 * The interface between the page-table tree and its caches: a TLB, and on some processors a hash table. The kernel
 * tells a backend of changes. A backend never looks at areas, and only its reload code reads the tree.
 */
#ifndef MMU_H
#define MMU_H
#include <arch/pte.h>
#include <check.h>
#include <types.h>

struct mm;

struct mmu_backend {
	const char *name;
	const char *reload;             /* how the TLB is filled, for the boot's first line */
	u32 memory_most;                /* most bytes of RAM that the boot's mappings cover */
	/* Bits of a root's entry beside the table's address, for a program's table and for the kernel's. */
	u32 root_bits, root_bits_kernel;
	/* Called once, when frames can be allocated: creates what the backend needs in memory. */
	void (*init)(void);
	/* Registers the backend's files of /proc/mmu. */
	void (*proc_init)(void);
	/* Makes mm the active address space; NULL: the kernel's part only. */
	void (*activate)(struct mm *mm);
	/*
	 * Removes a page of mm from the caches. Called while the entry of the tree still has what the architecture
	 * keeps beside the translation, such as a place in a hash table (arch/pte.h).
	 */
	void (*page_flush)(struct mm *mm, vaddr_t address);
	/*
	 * Removes a page of the kernel's own from the caches, after it has left the tree. NULL: the backend cannot
	 * (policy kernel.buffers).
	 */
	void (*kernel_page_flush)(vaddr_t address);
	/* Removes every translation from the caches. */
	void (*flush_all)(void);
	/*
	 * For the invariant checker: calls bad() for each cached entry that contradicts the tree: all of them, or
	 * those of an address. mm is not used for an address of the kernel.
	 */
	void (*check)(check_bad *bad);
	void (*check_page)(const struct mm *mm, vaddr_t address, check_bad *bad);
	/*
	 * For tests of the checker: makes what is cached of a page contradict the tree. The page is in the tree and in
	 * the TLB. -EINVAL: the backend has no fault of this name. NULL: it has none.
	 */
	int (*make_fault)(const char *name, struct mm *mm, vaddr_t address);
};

extern struct mmu_backend mmu[1];        /* the processor's backend, copied here at boot */
/*
 * Called when the tree got a new entry for a page that no cache holds. Policy hash.preload binds it;
 * icache.flush=twice, =every and =page do their work before.
 */
extern void (*page_installed)(struct mm *mm, vaddr_t address, pte_t pte);
/* The same for an entry that the tree had: a write has put a copy of the page there, or has made it writable. */
extern void (*page_copied)(struct mm *mm, vaddr_t address, pte_t pte);
extern void (*page_made_writable)(struct mm *mm, vaddr_t address, pte_t pte);
void page_installed_bind(void (*to)(struct mm *mm, vaddr_t address, pte_t pte));
/* Has a function called after page_installed(); NULL: none. */
void page_installed_tell(void (*whom)(struct mm *mm, vaddr_t address));

/* Has step called after each mmu->activate(). NULL: nothing is called. */
void activate_set_report(void (*step)(struct mm *mm));

#endif
