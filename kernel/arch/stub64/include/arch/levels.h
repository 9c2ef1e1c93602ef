/* The levels of the page-table tree: a root, middle tables and tables, of 512 entries each (two_levels.h). */
#ifndef ARCH_LEVELS_H
#define ARCH_LEVELS_H
#include <arch/pte.h>

#define TABLE_BITS 9
#define ROOT_SHIFT 21
#define TOP_SHIFT 30

/* What the root's entries lead to where nothing is mapped. Nobody writes it. */
extern struct root_entry empty_middle[];

static inline struct root_entry *levels_slot(struct root_entry *root, vaddr_t address)
{
	const struct root_entry *top = &root[address >> TOP_SHIFT & 511];
	struct root_entry *middle = root_entry_none(*top) ? empty_middle :
							    (struct root_entry *)(KERNEL_BASE + root_entry_pa(*top));

	return &middle[address >> ROOT_SHIFT & 511];
}
struct root_entry *levels_make(struct root_entry *root, vaddr_t address);
void levels_free(struct root_entry *root);

#endif
