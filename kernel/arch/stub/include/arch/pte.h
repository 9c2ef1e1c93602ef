/*
 * Entries of the page-table tree. Bits lie where no PowerPC has them, entries and places are structures of their own,
 * and the kernel's stores ignore that a page is read-only: who takes an entry for a number does not compile.
 */
#ifndef ARCH_PTE_H
#define ARCH_PTE_H
#include <types.h>

#define ARCH_KERNEL_OBEYS_READ_ONLY 0

typedef struct {
	paddr_t pa;
	bool there, present, user, writable;
} pte_t;

struct pte {
	pte_t entry;
};
struct root_entry {
	paddr_t table;
};

#define PTE_NONE ((pte_t){ .there = false })

enum pte_access {
	PTE_NO_ACCESS,
	PTE_READ,
	PTE_READ_WRITE,
};

static inline pte_t pte_make(paddr_t pa, enum pte_access access, bool device)
{
	(void)device;
	return (pte_t){ pa, true, access != PTE_NO_ACCESS, access != PTE_NO_ACCESS, access == PTE_READ_WRITE };
}
static inline pte_t pte_make_kernel(paddr_t pa, bool device)
{
	(void)device;
	return (pte_t){ pa, true, true, false, false };
}

static inline bool pte_none(pte_t pte) { return !pte.there; }
static inline bool pte_present(pte_t pte) { return pte.present; }
static inline bool pte_user(pte_t pte) { return pte.user; }
static inline bool pte_writable(pte_t pte) { return pte.writable; }
static inline paddr_t pte_pa(pte_t pte) { return pte.pa; }
static inline u32 pte_word(pte_t pte) { return pte.pa; }

static inline pte_t pte_write_protect(pte_t pte)
{
	pte.writable = false;
	return pte;
}
static inline pte_t pte_hide(pte_t pte)
{
	pte.present = false;
	return pte;
}
static inline pte_t pte_shown(pte_t pte)
{
	pte.present = pte.user;
	return pte;
}
static inline pte_t pte_make_writable(pte_t pte)
{
	pte.writable = true;
	return pte;
}

/* No permission to fetch is withheld. */
static inline bool pte_fetchable(pte_t pte) { return pte.present; }
static inline pte_t pte_make_fetchable(pte_t pte) { return pte; }

static inline pte_t pte_get(const struct pte *at) { return at->entry; }
#define PTE_LINE 1u
static inline bool pte_line_none(const struct pte *at) { return pte_none(at->entry); }
static inline pte_t pte_copy(pte_t pte) { return pte; }
static inline bool pte_noted(const struct pte *at) { (void)at; return false; }
static inline void pte_store(struct pte *at, pte_t pte) { at->entry = pte; }
static inline void pte_store_first(struct pte *at, pte_t pte) { at->entry = pte; }
static inline void pte_clear(struct pte *at) { at->entry = PTE_NONE; }

static inline bool root_entry_none(struct root_entry entry) { return !entry.table; }
static inline paddr_t root_entry_pa(struct root_entry entry) { return entry.table; }
static inline struct root_entry root_entry_make(paddr_t table_pa, u32 bits)
{
	return (struct root_entry){ table_pa | bits };
}

#endif
