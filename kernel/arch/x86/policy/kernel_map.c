/*
 * kernel.map: how RAM is mapped for the kernel.
 *
 * pte: by pages of 4 KB, whose translations a switch of address space removes, as an i486 has it. large: by pages of 4
 * MB (from the Pentium on), which have TLB entries of their own. global, large+global: these translations stay over a
 * switch (from the P6 on).
 */
#include <arch.h>
#include <errno.h>
#include <mm.h>
#include <pagetable.h>
#include <policy.h>

#include "../internal.h"

#define FIRST (KERNEL_BASE >> ROOT_SHIFT)
#define MOST  ((IO_VIRTUAL - KERNEL_BASE) >> ROOT_SHIFT)

#define LARGE_BITS (PTE_PRESENT | PTE_WRITE | PTE_ACCESSED | PTE_DIRTY | PTE_LARGE)

static struct root_entry small_tables[MOST];    /* the root's entries with choice pte */
static u32 tables_used;
static u64 blocks_mapped;               /* pages of 4 MB, or global tables, at the last change */

static void map_root(struct root_entry *root)
{
	for (u32 i = 0; i < tables_used; i++)
		root[FIRST + i] = kernel_root[FIRST + i];
}

static void map_mm(struct mm *mm)
{
	map_root(mm->root);
}

static void mark_global(struct root_entry entry, u32 bits)
{
	struct pte *table = slot_table(&entry);

	for (u32 i = 0; i < PTE_PER_TABLE; i++)
		if (!pte_none(pte_get(&table[i])))
			pte_store(&table[i], (pte_get(&table[i]) & ~PTE_GLOBAL) | bits);
}

static int kernel_map_apply(const struct policy_setting *to)
{
	bool large = to->choice == 1 || to->choice == 3, global = to->choice >= 2;
	u32 bits = global ? PTE_GLOBAL : 0;

	if ((large && !(cpu_features & CPU_PSE)) || (global && !(cpu_features & CPU_PGE)))
		return -ENODEV;
	if (!tables_used)
		for (; !root_entry_none(kernel_root[FIRST + tables_used]); tables_used++)
			small_tables[tables_used] = kernel_root[FIRST + tables_used];
	blocks_mapped = 0;
	for (u32 i = 0; i < tables_used; i++) {
		mark_global(small_tables[i], bits);
		kernel_root[FIRST + i] = small_tables[i];
		/* The last block may reach past the end of RAM: it keeps its table. */
		if (large && (i + 1) * TABLE_SPAN <= boot.memory_size)
			kernel_root[FIRST + i] = root_entry_make(i * TABLE_SPAN, LARGE_BITS | bits);
		blocks_mapped += to->choice != 0;
	}
	mm_for_each(map_mm);
	tlb_empty();
	return 0;
}

POLICY(kernel_map, "kernel.map", CHOICES("pte", "large", "global", "large+global"), POLICY_QUIESCED, kernel_map_apply,
       "blocks", &blocks_mapped);
