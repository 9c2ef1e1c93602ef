/*
 * The page-table tree, of 4 KB pages. The architecture says what an entry is (arch/pte.h), and how many levels lead to
 * a table (arch/levels.h); only the functions of this header write an entry.
 */
#ifndef PAGETABLE_H
#define PAGETABLE_H
#include <arch/levels.h>
#include <arch/pte.h>
#include <frame.h>
#include <types.h>

struct mm;

#define PTE_PER_TABLE (1u << TABLE_BITS)
#define TABLE_SPAN ((vaddr_t)1 << ROOT_SHIFT)   /* bytes that one table covers */

extern struct root_entry *kernel_root;  /* the kernel's tree: the entries from KERNEL_BASE on, shared by every root */

/* Where C code maps physical 0 to reach the tables: KERNEL_BASE, or KERNEL_UNCACHED by policy pagetable.cache. */
extern vaddr_t pagetable_base;
extern u64 pagetables_uncached;         /* tables and roots created past the cache */
/*
 * Address spaces may share tables at physical addresses up to this one. pagetable_make() compares a root's entry with
 * it, so one comparison finds shared tables and absent ones (address 0). 0: no table is shared.
 */
extern paddr_t pagetable_uncertain;
/* After a table left the tree, before it is freed: waits until no processor's handler is in it. */
extern void (*pagetable_left)(void);
/* Entries have notes of the MMU's backend. A note is valid in one address space only, so no table may be shared. */
extern bool pagetable_notes;
/* Translations are loaded from the tree itself: an entry without a note may be in a TLB, too. */
extern bool pagetable_direct;

static inline struct root_entry *pagetable_root(const struct root_entry *root)
{
	return (struct root_entry *)((vaddr_t)root - KERNEL_BASE + pagetable_base);
}

/* The entry of a root for an address. */
static inline struct root_entry *pagetable_slot(const struct root_entry *root, vaddr_t address)
{
	return levels_slot(pagetable_root(root), address);
}
/* The same, in order to set it. NULL: no memory. */
static inline struct root_entry *pagetable_slot_make(const struct root_entry *root, vaddr_t address)
{
	return levels_make(pagetable_root(root), address);
}
static inline bool slot_empty(const struct root_entry *slot) { return root_entry_none(*slot); }
static inline struct frame *slot_frame(const struct root_entry *slot) { return pa_frame(root_entry_pa(*slot)); }
static inline struct pte *slot_table(const struct root_entry *slot)
{
	return (struct pte *)(pagetable_base + root_entry_pa(*slot));
}
static inline bool slot_same(const struct root_entry *a, const struct root_entry *b)
{
	return root_entry_pa(*a) == root_entry_pa(*b);
}
/* Sets an entry to a program's table, to the table of another entry, or to none. */
void slot_set(struct root_entry *slot, const struct frame *table);
static inline void slot_share(struct root_entry *slot, const struct root_entry *from) { *slot = *from; }
static inline void slot_clear(struct root_entry *slot) { *slot = (struct root_entry){ 0 }; }

/* Builds the kernel's tree: RAM and I/O. */
void pagetable_init(void);
/* At boot: makes the kernel's tables of [start, end), so that entries can be installed there later. */
void pagetable_kernel_tables(vaddr_t start, vaddr_t end);
/* Creates a root with the kernel's part; NULL: no memory. */
struct root_entry *pagetable_root_new(void);
void pagetable_root_free(struct root_entry *root);

static inline u32 pagetable_index(vaddr_t address)
{
	return page_number(address) & (PTE_PER_TABLE - 1);
}

/* Finds the entry for an address; NULL: there is no table. */
static inline struct pte *pagetable_find(const struct root_entry *root, vaddr_t address)
{
	const struct root_entry *slot = pagetable_slot(root, address);

	return slot_empty(slot) ? NULL : &slot_table(slot)[pagetable_index(address)];
}

/* Reads the entry for an address. */
static inline pte_t pagetable_read(const struct root_entry *root, vaddr_t address)
{
	const struct pte *entry = pagetable_find(root, address);

	return entry ? pte_get(entry) : PTE_NONE;
}

/*
 * Three ways to write an entry. pagetable_set() replaces one; the caller flushes the old one by flush->page() or
 * range() (flush.h), before or after. pagetable_install() fills an empty one; an entry copied from another place goes
 * through pte_copy() first. pagetable_clear() empties an entry that no cache holds any more.
 */
static inline void pagetable_set(struct pte *entry, pte_t pte) { pte_store(entry, pte); }
static inline void pagetable_install(struct pte *entry, pte_t pte) { pte_store_first(entry, pte); }
static inline void pagetable_clear(struct pte *entry) { pte_clear(entry); }

/* The frame that an entry maps, and holds a reference to; NULL: none, or a device's page. */
static inline bool pte_has_frame(pte_t pte) { return !pte_none(pte) && pte_pa(pte) >> PAGE_SHIFT < frame_count; }
static inline struct frame *pte_frame(pte_t pte) { return pte_has_frame(pte) ? pa_frame(pte_pa(pte)) : NULL; }

/*
 * Finds the entry for an address, if no other address space can share its table: the entry may then change at once.
 * NULL: the table is absent or may be shared, and the caller asks pagetable_make().
 */
static inline struct pte *pagetable_own(const struct root_entry *root, vaddr_t address)
{
	const struct root_entry *slot = pagetable_slot(root, address);
	struct pte *entry = &slot_table(slot)[pagetable_index(address)];

	if (root_entry_pa(*slot) <= pagetable_uncertain)
		return NULL;
	if (!entry)
		__builtin_unreachable();        /* a table is never at address 0: callers need not test twice */
	return entry;
}
/* Finds an entry in order to change it: in a table that mm does not share, created if need be. NULL: no memory. */
struct pte *pagetable_make(struct mm *mm, vaddr_t address);
/* Creates an empty table; NULL: no memory. */
struct frame *pagetable_table_new(void);
/* Gives mm its own copy of the table of an address, if it shares it (mm/shared_tables.c). 0 or -ENOMEM. */
int table_unshare(struct mm *mm, vaddr_t address);
/* The end of the range that the table of an address covers: where a walk continues after an absent table. */
static inline vaddr_t pagetable_next(vaddr_t address) { return (address | (TABLE_SPAN - 1)) + 1; }
/*
 * Frees the tables of [start, end) that no area needs. floor and ceiling are the end of the area below and the start
 * of the area above.
 */
void pagetable_free_range(struct mm *mm, vaddr_t start, vaddr_t end, vaddr_t floor, vaddr_t ceiling);

#endif
