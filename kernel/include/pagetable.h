/* The page-table tree (arch/pte.h has the format). Only these functions write it. */
#ifndef PAGETABLE_H
#define PAGETABLE_H

#include <arch/pte.h>
#include <frame.h>
#include <types.h>

struct mm;

extern u32 *kernel_root;                /* the kernel's tree: entries 768 to 1023, shared by every root */

/* Where C reaches physical 0 for the tables: KERNEL_BASE, or KERNEL_UNCACHED by policy pagetable.cache. */
extern u32 pagetable_base;
extern u64 pagetables_uncached;         /* tables and roots made past the cache */
static inline u32 *pagetable_table(u32 root_entry) { return (u32 *)(pagetable_base + (root_entry & PTE_RPN)); }
static inline u32 *pagetable_root(const u32 *root) { return (u32 *)((u32)root - KERNEL_BASE + pagetable_base); }

/* The kernel's tree: RAM and I/O. */
void pagetable_init(void);
/* A root with the kernel's part; NULL: no memory. */
u32 *pagetable_root_new(void);
void pagetable_root_free(u32 *root);

static inline u32 pagetable_index(u32 address)
{
	return address >> TABLE_SHIFT & (PTE_PER_TABLE - 1);
}

/* Where the entry for an address is; NULL: there is no table. */
static inline u32 *pagetable_find(const u32 *root, u32 address)
{
	u32 entry = pagetable_root(root)[address >> ROOT_SHIFT];

	return entry ? &pagetable_table(entry)[pagetable_index(address)] : NULL;
}

/* The entry; 0: none. */
static inline u32 pagetable_read(const u32 *root, u32 address)
{
	const u32 *entry = pagetable_find(root, address);

	return entry ? *entry : 0;
}

/* The same, to be changed: in a table of mm's own, which is made if need be. NULL: no memory. */
u32 *pagetable_make(struct mm *mm, u32 address);
#define TABLE_SPAN 0x400000u            /* bytes that one table covers */
/* An empty table; NULL: no memory. */
struct frame *pagetable_table_new(void);
/* Before an entry changes: mm has the table of an address alone (mm/shared_tables.c). 0 or -ENOMEM. */
int table_unshare(struct mm *mm, u32 address);
/* The end of what one table covers: where a walk over an absent table goes on. */
static inline u32 pagetable_next(u32 address) { return (address | (TABLE_SPAN - 1)) + 1; }
/* Frees the tables of [start, end) that hold no entry of any area: the caller says what lies around. */
void pagetable_free_range(struct mm *mm, u32 start, u32 end, u32 floor, u32 ceiling);

#endif
