/*
 * Notes in the tree of entries of a hash table, for both formats of the table. Removal stands in each note.c: if it
 * shared an inline function, the compiler would save registers before the test at which most flushes end.
 */
#ifndef HASH32_NOTE_H
#define HASH32_NOTE_H
#include <arch/hash.h>
#include <arch/pte.h>

#define EIEIO 0x7c0006acu
#define SLOT_SHIFT 9            /* PTE_SLOT's lowest bit */

/* number: the entry's, in the table or from address 0 on. */
static inline u32 note_of_slot(u32 number)
{
	return number % HPTES_PER_GROUP << SLOT_SHIFT | PTE_HASHED;
}
static inline u32 noted_slot(const struct pte *entry)
{
	return (pte_note(entry) & PTE_SLOT) >> SLOT_SHIFT;
}

#endif
