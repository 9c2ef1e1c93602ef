/*
 * The interface to entries of the page-table tree. The processor walks the tree itself, so entries have its format
 * (Intel 64 and IA-32 manual, volume 3A, 4.3). A is set in every entry that it may use, and D in every entry that may
 * be written: a walk never stops to set them.
 */
#ifndef ARCH_PTE_H
#define ARCH_PTE_H
#include <pte_word.h>

#define PTE_PRESENT  0x001u
#define PTE_WRITE    0x002u
#define PTE_USER     0x004u
#define PTE_THROUGH  0x008u     /* PWT */
#define PTE_UNCACHED 0x010u     /* PCD */
#define PTE_ACCESSED 0x020u
#define PTE_DIRTY    0x040u
#define PTE_LARGE    0x080u     /* of a root: a page of 4 MB */
#define PTE_GLOBAL   0x100u
#define PTE_ENTRY    0x200u     /* software: there is an entry, even if it permits nothing */
#define PTE_FRAME    0xfffff000u

/* CR0.WP: the kernel's stores to programs fault if a page must be copied first. */
#define ARCH_KERNEL_OBEYS_READ_ONLY 1

static inline pte_t pte_make(paddr_t pa, enum pte_access access, bool device)
{
	pte_t pte = pa | PTE_ENTRY | (device ? PTE_UNCACHED | PTE_THROUGH : 0);

	if (access == PTE_NO_ACCESS)
		return pte;
	return pte | PTE_PRESENT | PTE_USER | PTE_ACCESSED | (access == PTE_READ_WRITE ? PTE_WRITE | PTE_DIRTY : 0);
}

/* Entries of the kernel's own have these bits too (policy kernel.map). */
extern u32 pte_kernel_bits;

/* A page of the kernel's own. */
static inline pte_t pte_make_kernel(paddr_t pa, bool device)
{
	return pa | PTE_ENTRY | PTE_PRESENT | PTE_WRITE | PTE_ACCESSED | PTE_DIRTY | pte_kernel_bits |
	       (device ? PTE_UNCACHED | PTE_THROUGH : 0);
}

static inline bool pte_none(pte_t pte) { return !pte; }
/* Hardware may use the entry. An entry with contents that is not present permits no access. */
static inline bool pte_present(pte_t pte) { return pte & PTE_PRESENT; }
static inline bool pte_user(pte_t pte) { return pte & PTE_USER; }
static inline bool pte_writable(pte_t pte) { return (pte & (PTE_WRITE | PTE_USER)) == (PTE_WRITE | PTE_USER); }
static inline paddr_t pte_pa(pte_t pte) { return pte & PTE_FRAME; }

static inline pte_t pte_write_protect(pte_t pte) { return pte & ~(PTE_WRITE | PTE_DIRTY); }
static inline pte_t pte_make_writable(pte_t pte) { return pte | PTE_WRITE | PTE_DIRTY; }

/* Hides an entry from hardware for a while, and shows it again: it keeps what it maps. */
static inline pte_t pte_hide(pte_t pte) { return pte & ~PTE_PRESENT; }
static inline pte_t pte_shown(pte_t pte) { return pte & PTE_USER ? pte | PTE_PRESENT : pte; }

/* No permission to fetch can be withheld. */
static inline bool pte_fetchable(pte_t pte) { return pte_present(pte); }
static inline pte_t pte_make_fetchable(pte_t pte) { return pte; }

static inline pte_t pte_get(const struct pte *at) { return *(const volatile u32 *)&at->word; }
static inline pte_t pte_copy(pte_t pte) { return pte; }
static inline bool pte_noted(const struct pte *at) { (void)at; return false; }
static inline void pte_store(struct pte *at, pte_t pte) { *(volatile u32 *)&at->word = pte; }
static inline void pte_store_first(struct pte *at, pte_t pte) { pte_store(at, pte); }
static inline void pte_clear(struct pte *at) { pte_store(at, PTE_NONE); }
/* Whether all entries of a cache line are none. */
#define PTE_LINE 4u
static inline bool pte_line_none(const struct pte *at)
{
	return pte_none(at[0].word | at[1].word | at[2].word | at[3].word);
}

static inline paddr_t root_entry_pa(struct root_entry entry) { return entry.word & PTE_FRAME; }

#endif
