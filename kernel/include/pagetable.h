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

/* The entry for an address; 0: none. */
u32 pagetable_read(const u32 *root, u32 address);
/* Where the entry is; NULL: there is no table. */
u32 *pagetable_find(const u32 *root, u32 address);
/* The same, making the table; NULL: no memory. */
u32 *pagetable_make(struct mm *mm, u32 address);
/* The end of what one table covers: where a walk over an absent table goes on. */
static inline u32 pagetable_next(u32 address) { return (address | 0x3fffff) + 1; }
/* Frees the tables of [start, end) that hold no entry of any area: the caller says what lies around. */
void pagetable_free_range(struct mm *mm, u32 start, u32 end, u32 floor, u32 ceiling);

#endif
