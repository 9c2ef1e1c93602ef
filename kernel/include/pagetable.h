/*
 * The page-table tree: two levels of 1024 entries, 4 KB pages. The architecture says what an entry is (arch/pte.h);
 * only the functions of this header write one.
 */
#ifndef PAGETABLE_H
#define PAGETABLE_H

#include <arch/pte.h>
#include <frame.h>
#include <types.h>

struct mm;

#define PTE_PER_TABLE 1024
#define ROOT_SHIFT 22
#define TABLE_SHIFT 12
#define TABLE_SPAN 0x400000u            /* bytes that one table covers */

extern struct root_entry *kernel_root;  /* the kernel's tree: entries 768 to 1023, shared by every root */

/* Where C reaches physical 0 for the tables: KERNEL_BASE, or KERNEL_UNCACHED by policy pagetable.cache. */
extern u32 pagetable_base;
extern u64 pagetables_uncached;         /* tables and roots made past the cache */
/* Tables up to this address may be shared, and are looked at before they change. 0: none, but a root's empty entries. */
extern paddr_t pagetable_uncertain;
/* Entries have notes, each of which is about one address space (policy hpte.slot): no table may belong to two. */
extern bool pagetable_notes;

static inline struct root_entry *pagetable_root(const struct root_entry *root)
{
	return (struct root_entry *)((vaddr_t)root - KERNEL_BASE + pagetable_base);
}

/* Entries of a root. */
static inline struct root_entry *pagetable_slot(const struct root_entry *root, vaddr_t address)
{
	return &pagetable_root(root)[address >> ROOT_SHIFT];
}
static inline bool slot_empty(const struct root_entry *slot) { return root_entry_none(*slot); }
static inline struct frame *slot_frame(const struct root_entry *slot) { return pa_frame(root_entry_pa(*slot)); }
static inline struct pte *slot_table(const struct root_entry *slot)
{
	return (struct pte *)(pagetable_base + root_entry_pa(*slot));
}
static inline bool slot_same(const struct root_entry *a, const struct root_entry *b) { return root_entry_pa(*a) == root_entry_pa(*b); }
/* A program's table into an entry; the table of another into it; none. */
void slot_set(struct root_entry *slot, const struct frame *table);
static inline void slot_share(struct root_entry *slot, const struct root_entry *from) { *slot = *from; }
static inline void slot_clear(struct root_entry *slot) { *slot = (struct root_entry){ 0 }; }

/* The kernel's tree: RAM and I/O. */
void pagetable_init(void);
/* A root with the kernel's part; NULL: no memory. */
struct root_entry *pagetable_root_new(void);
void pagetable_root_free(struct root_entry *root);

static inline u32 pagetable_index(vaddr_t address)
{
	return address >> TABLE_SHIFT & (PTE_PER_TABLE - 1);
}

/* Where the entry for an address is; NULL: there is no table. */
static inline struct pte *pagetable_find(const struct root_entry *root, vaddr_t address)
{
	const struct root_entry *slot = pagetable_slot(root, address);

	return slot_empty(slot) ? NULL : &slot_table(slot)[pagetable_index(address)];
}

/* The entry for an address. */
static inline pte_t pagetable_read(const struct root_entry *root, vaddr_t address)
{
	const struct pte *entry = pagetable_find(root, address);

	return entry ? pte_get(entry) : PTE_NONE;
}

/*
 * The entry at a place becomes `pte`. What is cached of the old one goes by flush->page() or range() (flush.h), before
 * or after. pagetable_install(): it was none; an entry of another place is
 * installed by pte_copy(). pagetable_clear(): it is none, and nothing is cached of the page any more.
 */
static inline void pagetable_set(struct pte *entry, pte_t pte) { pte_store(entry, pte); }
static inline void pagetable_install(struct pte *entry, pte_t pte) { pte_store_first(entry, pte); }
static inline void pagetable_clear(struct pte *entry) { pte_clear(entry); }

/* The frame that an entry stands for, and holds a reference to; NULL: none, or a device's page. */
static inline struct frame *pte_frame(pte_t pte)
{
	return !pte_none(pte) && pte_pa(pte) >> PAGE_SHIFT < frame_count ? pa_frame(pte_pa(pte)) : NULL;
}

/* The place of an entry, to be changed: in a table of mm's own, which is made if need be. NULL: no memory. */
struct pte *pagetable_make(struct mm *mm, vaddr_t address);
/* An empty table; NULL: no memory. */
struct frame *pagetable_table_new(void);
/* Before an entry changes: mm has the table of an address alone (mm/shared_tables.c). 0 or -ENOMEM. */
int table_unshare(struct mm *mm, vaddr_t address);
/* The end of what one table covers: where a walk over an absent table goes on. */
static inline u32 pagetable_next(vaddr_t address) { return (address | (TABLE_SPAN - 1)) + 1; }
/* Frees the tables of [start, end) that hold no entry of any area: the caller says what lies around. */
void pagetable_free_range(struct mm *mm, vaddr_t start, vaddr_t end, vaddr_t floor, vaddr_t ceiling);

#endif
