/*
 * hpte.slot: how a flush finds a page's entry in the hash table (beyond the 1999 paper).
 *
 * search: both groups are looked through, sixteen entries at the most. noted: whoever fills the table notes in the
 * tree's entry that it did, and in which slot (PTE_HASHED, PTE_SLOT); a flush of a page that was never put in reads
 * nothing of the table, any other reads one entry or two. It costs an insertion a store to the tree.
 */
#include <arch/hash.h>
#include <arch/mmu.h>
#include <errno.h>
#include <mm.h>
#include <policy.h>

static int hpte_slot_apply(const struct policy_setting *to)
{
	if (to->choice && !backend->hash)
		return -ENODEV;
	/* A note is about one address space's entry: no table may belong to two. */
	if (to->choice && tables_unshare_everywhere())
		return -ENOMEM;
	hash_note(to->choice == 1);
	return 0;
}

POLICY(hpte_slot, "hpte.slot", CHOICES("search", "noted"), POLICY_QUIESCED, hpte_slot_apply, "notes_used",
       &hash_notes_used);
