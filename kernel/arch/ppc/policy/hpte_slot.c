/*
 * hpte.slot: how a flush finds a page's entry in the hash table (not in the 1999 paper).
 *
 * search: it searches both groups, at most sixteen entries. noted: an insertion notes its slot in the tree's entry
 * (PTE_HASHED, PTE_SLOT). A flush of a page that was never inserted then reads nothing of the table, and any other
 * reads one or two entries. An insertion costs a store to the tree more. flagged: the same note, of which a flush uses
 * the flag alone: it searches both groups for a page that was inserted, as Linux/PPC did from 2.4 on with its flag
 * _PAGE_HASHPTE (arch/ppc/mm/hashtable.S, flush_hash_pages).
 * Forms: hash32/note.c, hash64/note.c, include/arch/hash_insert.h.
 */
#include <arch/hash.h>
#include <arch/mmu.h>
#include <errno.h>
#include <mm.h>
#include <policy.h>
#include <smp.h>

static int hpte_slot_apply(const struct policy_setting *to)
{
	/* Handlers of other processors would write notes into entries that change. */
	if (to->choice && (!backend->hash || SEVERAL))
		return SEVERAL ? -EOPNOTSUPP : -ENODEV;
	/* A note is valid for one address space, so no table may be shared. */
	if (to->choice && tables_unshare_everywhere())
		return -ENOMEM;
	if (backend->hash)
		backend->hash->note((enum hash_note)to->choice);
	return 0;
}

POLICY(hpte_slot, "hpte.slot", CHOICES("search", "noted", "flagged"), POLICY_QUIESCED, hpte_slot_apply, "notes_used",
       &hash_notes_used);
