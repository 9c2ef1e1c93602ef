/* Noting in the tree which hash-table slot an entry is in. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/image.h>
#include <arch/pte.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <lib.h>
#include <pagetable.h>

/* Places in reload.S, and the code to which they then branch (arch/hash_insert.h). */
extern u32 hash_placed_data[], hash_placed_instruction[];
extern const u32 hash_placed_data_on[], hash_placed_instruction_on[];

#include "note.h"

u64 hash_notes_used;

static void placed_nowhere(vaddr_t address, const struct hpte *entry)
{
	(void)address;
	(void)entry;
}

CAUSE(reload) static void placed_noted(vaddr_t address, const struct hpte *entry)
{
	pte_set_note(pagetable_find(this_cpu()->mm->root, address), note_of_slot((u32)entry / sizeof(*entry)));
}

void (*hash_placed)(vaddr_t address, const struct hpte *entry) = placed_nowhere;
bool (*hash_remove)(struct mm *mm, u32 vsid, vaddr_t address) = hash_remove_searching;

/* A page that was never inserted needs no search; any other is in the noted slot, or has been replaced since. */
CAUSE(flush) static bool hash_remove_noted(struct mm *mm, u32 vsid, vaddr_t address)
{
	struct pte *entry = pagetable_find(mm->root, address);

	if (!entry || !(pte_note(entry) & PTE_HASHED))
		return false;
	hash_notes_used++;
	hash_clear_slot(vsid, address, noted_slot(entry));
	pte_set_note(entry, 0);
	return true;
}

/* hpte.slot=flagged: the note only says that the page was inserted. */
CAUSE(flush) static bool remove_flagged(struct mm *mm, u32 vsid, vaddr_t address)
{
	struct pte *entry = pagetable_find(mm->root, address);

	if (!entry || !(pte_note(entry) & PTE_HASHED))
		return false;
	hash_notes_used++;
	hash_remove_searching(mm, vsid, address);
	pte_set_note(entry, 0);
	return true;
}

bool hash_noted(const struct pte *at, const struct hpte *entry)
{
	return !pagetable_notes || pte_note(at) == note_of_slot((u32)entry / sizeof(*entry));
}

void hash_note(enum hash_note what)
{
	static bool (*const forms[])(struct mm *mm, u32 vsid, vaddr_t address) = {
		[HASH_NOTE_OFF] = hash_remove_searching,
		[HASH_NOTE_SLOT] = hash_remove_noted,
		[HASH_NOTE_FLAG] = remove_flagged,
	};
	bool on = what != HASH_NOTE_OFF;

	code_divert(hash_placed_data, on ? hash_placed_data_on : NULL, EIEIO);
	code_divert(hash_placed_instruction, on ? hash_placed_instruction_on : NULL, EIEIO);
	pagetable_notes = on;
	hash_placed = on ? placed_noted : placed_nowhere;
	hash_remove = forms[what];
	hash_preload_rebind();
}
