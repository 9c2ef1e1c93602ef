/* Noting in the tree which slot of the 970's hash table has an entry, as hash32/note.c; and counting insertions. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/image.h>
#include <arch/pte.h>
#include <cpu.h>
#include <errno.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>

#include "../hash32/note.h"
#include "hash64.h"

#define PTESYNC 0x7c4004acu

/* Places in each of four handlers (insert.h), and the code that they then branch to (arch/hash_insert.h). */
#define PLACES(name)                                                                                          \
	extern u32 hash64_##name##_data[], hash64_##name##_instruction[];                                     \
	extern u32 hash64_##name##_data_withheld[], hash64_##name##_instruction_withheld[];                   \
	extern const u32 hash64_##name##_data_on[], hash64_##name##_instruction_on[];                         \
	extern const u32 hash64_##name##_data_withheld_on[], hash64_##name##_instruction_withheld_on[];       \
	static const struct place name##_places[] = {                                                         \
		{ hash64_##name##_data, hash64_##name##_data_on },                                            \
		{ hash64_##name##_instruction, hash64_##name##_instruction_on },                              \
		{ hash64_##name##_data_withheld, hash64_##name##_data_withheld_on },                          \
		{ hash64_##name##_instruction_withheld, hash64_##name##_instruction_withheld_on },            \
	}

struct place {
	u32 *at;
	const u32 *to;
};

PLACES(counted);
PLACES(placed);

static void places_divert(const struct place *places, u32 count, bool on, u32 plain)
{
	for (u32 i = 0; i < count; i++)
		code_divert(places[i].at, on ? places[i].to : NULL, plain);
}

int hash64_count(bool on)
{
	if (on && !hash_group_misses) {
		hash_group_misses = kzalloc(hash_groups * sizeof(*hash_group_misses));
		if (!hash_group_misses)
			return -ENOMEM;
	}
	places_divert(counted_places, ARRAY_SIZE(counted_places), on, PTESYNC);
	return 0;
}

static void placed_nowhere(vaddr_t address, const struct hpte64 *entry)
{
	(void)address;
	(void)entry;
}

CAUSE(reload) static void placed_noted(vaddr_t address, const struct hpte64 *entry)
{
	pte_set_note(pagetable_find(this_cpu()->mm->root, address), note_of_slot((u32)entry / sizeof(*entry)));
}

void (*hash64_placed)(vaddr_t address, const struct hpte64 *entry) = placed_nowhere;
bool (*hash64_remove)(struct mm *mm, u32 vsid, vaddr_t address) = hash64_remove_searching;

CAUSE(flush) static bool remove_noted(struct mm *mm, u32 vsid, vaddr_t address)
{
	struct pte *entry = pagetable_find(mm->root, address);

	if (!entry || !(pte_note(entry) & PTE_HASHED))
		return false;
	hash_notes_used++;
	hash64_clear_slot(vsid, address, noted_slot(entry));
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
	hash64_remove_searching(mm, vsid, address);
	pte_set_note(entry, 0);
	return true;
}

bool hash64_noted(const struct pte *at, const struct hpte64 *entry)
{
	return !pagetable_notes || pte_note(at) == note_of_slot((u32)entry / sizeof(*entry));
}

void hash64_note(enum hash_note what)
{
	static bool (*const forms[])(struct mm *mm, u32 vsid, vaddr_t address) = {
		[HASH_NOTE_OFF] = hash64_remove_searching,
		[HASH_NOTE_SLOT] = remove_noted,
		[HASH_NOTE_FLAG] = remove_flagged,
	};
	bool on = what != HASH_NOTE_OFF;

	places_divert(placed_places, ARRAY_SIZE(placed_places), on, EIEIO);
	pagetable_notes = on;
	hash64_placed = on ? placed_noted : placed_nowhere;
	hash64_remove = forms[what];
}
