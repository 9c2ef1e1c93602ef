/* The invariant checker's judgement of the hash table: every live entry says what the tree says. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/pte.h>
#include <arch/vsid.h>
#include <frame.h>
#include <lib.h>
#include <pagetable.h>

/* Both words of one entry: any access of the kernel's own may miss, and a reload put another one into the slot. */
static struct hpte read_entry(const volatile struct hpte *entry)
{
	struct hpte seen;

	do {
		seen.word0 = entry->word0;
		seen.word1 = entry->word1;
	} while (entry->word0 != seen.word0);
	return seen;
}

static void check_entry(const struct hpte *entry, check_bad *bad)
{
	struct hpte seen = read_entry(entry);
	u32 vsid = (seen.word0 & HPTE_VSID) >> 7, segment, address, pte;
	const struct root_entry *root = seen.word0 & HPTE_VALID ? context_find(vsid, &segment) : NULL;

	if (!root)
		return;         /* a zombie: its VSID is in no segment register, and never will be again */
	address = segment << 28 | hash_address(entry, seen.word0);
	pte = pagetable_read(root, address);
	if (!(pte & PTE_VALID))
		bad("the hash table maps a page that the tree does not", vsid, address, seen.word1);
	else if ((pte ^ seen.word1) & (PTE_HARDWARE & ~PTE_VALID))
		bad("hash table and tree differ", vsid, address, seen.word1);
	else if (root != kernel_root && !hash_noted(pagetable_find(root, address), entry))
		bad("a hash-table entry that the tree has no note of", vsid, address, pte);
}

void hash_check(check_bad *bad)
{
	for (u32 i = 0; hash_table && i < hash_groups * HPTES_PER_GROUP; i++)
		check_entry(&hash_table[i], bad);
}

void hash_check_page(const struct mm *mm, u32 address, check_bad *bad)
{
	u32 vsid = context_vsid(mm, address);
	const struct hpte *entry = hash_find(vsid, address);

	if (entry)
		check_entry(entry, bad);
	if (hash_copies(vsid, address) > 1)
		bad("the hash table has a page twice", vsid, address, entry->word1);
}
