/*
 * The levels of the page-table tree of a processor with two: a root of one page, whose entries lead to tables. An
 * architecture with more has a <arch/levels.h> that offers the same (arch/stub64).
 */
#ifndef TWO_LEVELS_H
#define TWO_LEVELS_H
#include <arch/pte.h>

#define TABLE_BITS 10           /* of an address, that choose an entry of a table */
#define ROOT_SHIFT 22           /* the bits above choose the entry of the root */
#define TOP_SHIFT ROOT_SHIFT

/* The entry that leads to the table of an address. With more levels: an empty one, if nothing leads there. */
static inline struct root_entry *levels_slot(struct root_entry *root, vaddr_t address)
{
	return &root[address >> ROOT_SHIFT];
}
/* The same, in order to change it; with more levels, NULL: no memory for what leads there. */
static inline struct root_entry *levels_make(struct root_entry *root, vaddr_t address)
{
	return levels_slot(root, address);
}
/* Frees what leads to the tables of a program, but for the root. */
static inline void levels_free(struct root_entry *root)
{
	(void)root;
}

#endif
