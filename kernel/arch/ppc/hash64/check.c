/* Checks the 970's hash table and TLB for the invariant checker, and makes faults that it finds. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/vsid.h>
#include <errno.h>
#include <lib.h>
#include <pagetable.h>

#include "../control_device.h"
#include "hash64.h"

#define VSIDS 0x1000000u        /* VSIDs of contexts lie below it, those of pages of 16 MB above */

/* Reads an entry. Any access of the kernel may miss, and a reload may replace the entry in between. */
static struct hpte64 read_entry(const volatile struct hpte64 *entry)
{
	struct hpte64 seen;

	do {
		seen.word0 = entry->word0;
		seen.high = entry->high;
		seen.word1 = entry->word1;
		seen.zero = entry->zero;
	} while (entry->word0 != seen.word0);
	return seen;
}

static void check_large(u32 vsid, u32 page, u32 word1, check_bad *bad)
{
	u32 pa = (page + (vsid - RAM_VSID)) << LARGE_SHIFT;

	if ((vsid == RAM_VSID || vsid == RAM_VSID + 16) &&
	    (word1 ^ (pa | PTE_CHANGED | PP_KERNEL)) & (PTE_RPN | PTE_CHANGED | PTE_PP))
		bad("a page of 16 MB is not RAM's", vsid, page << LARGE_SHIFT, word1);
}

static void check_entry(const struct hpte64 *entry, check_bad *bad)
{
	struct hpte64 seen = read_entry(entry);
	u32 vsid = hash64_vsid(seen.high, seen.word0), segment, address;
	const struct root_entry *root;
	const struct pte *at;
	pte_t pte;

	if (!(seen.word0 & HPTE64_VALID))
		return;
	if (seen.word0 & HPTE64_LARGE) {
		check_large(vsid, seen.word0 >> 8 & 15, seen.word1, bad);
		return;
	}
	root = context_find(vsid, &segment);
	if (!root)
		return;         /* a zombie: its VSID is never loaded again */
	address = segment << 28 | hash64_address(entry, seen.word0, vsid);
	at = pagetable_find(root, address);
	pte = at ? pte_get(at) : PTE_NONE;
	if (!(pte & PTE_VALID))
		bad("the hash table maps a page that the tree does not", vsid, address, seen.word1);
	else if (hash64_word1(address, pte) != seen.word1 || seen.zero)
		bad("hash table and tree differ", vsid, address, seen.word1);
	else if (root != kernel_root && !hash64_noted(at, entry))
		bad("a hash-table entry that the tree has no note of", vsid, address, pte);
}

static void table_check(check_bad *bad)
{
	for (u32 i = 0; hash64_table && i < hash_groups * HPTES_PER_GROUP; i++)
		if (hash64_table[i].word0 & HPTE64_VALID)
			check_entry(&hash64_table[i], bad);
}

static void table_check_page(const struct mm *mm, vaddr_t address, check_bad *bad)
{
	u32 vsid = address < KERNEL_BASE ? context_vsid(mm, address) : segment_vsid(address);
	const struct hpte64 *entry = hash64_find(vsid, address);

	if (entry)
		check_entry(entry, bad);
	if (hash64_copies(vsid, address) > 1)
		bad("the hash table has a page twice", vsid, address, entry->word1);
}

/* The control device shows the TLB (docs/interfaces.md, section 2). Without it nothing is checked. */
static void check_tlb_entry(const struct control_tlb_entry *entry, check_bad *bad)
{
	u32 segment, address, pte;
	const struct root_entry *root;

	if (entry->vsid >= VSIDS)
		return;
	root = context_find(entry->vsid, &segment);
	if (!root)
		return;
	address = segment << 28 | entry->page;
	pte = pagetable_read(root, address);
	if (!(pte & PTE_VALID))
		bad("the TLB maps a page that the tree does not", entry->vsid, address, entry->word);
	else if ((pte ^ entry->word) & (PTE_HARDWARE & ~(PTE_VALID | PTE_FETCH)))
		bad("TLB and tree differ", entry->vsid, address, entry->word);
}

static void check_tlb(u32 first, u32 count, check_bad *bad)
{
	struct control_tlb_entry entry;

	for (u32 i = first; i < first + count; i++)
		if (control_tlb_read(CONTROL_TLB_DATA, i, &entry))
			check_tlb_entry(&entry, bad);
}

void hash64_check(check_bad *bad)
{
	u32 ways, sets = control_tlb_shape(CONTROL_TLB_DATA, &ways);

	table_check(bad);
	check_tlb(0, sets * ways, bad);
}

void hash64_check_page(const struct mm *mm, vaddr_t address, check_bad *bad)
{
	u32 ways, sets = control_tlb_shape(CONTROL_TLB_DATA, &ways);

	table_check_page(mm, address, bad);
	if (sets)
		check_tlb((address >> PAGE_SHIFT) % sets * ways, ways, bad);
}

int hash64_make_fault(const char *name, struct mm *mm, vaddr_t address)
{
	struct pte *entry = pagetable_find(mm->root, address);
	u32 vsid = context_vsid(mm, address);

	if (strcmp(name, "hpte") == 0) {                /* maps the page to another frame */
		hash64_remove_searching(mm, vsid, address);
		hash64_insert(vsid, address, pte_get(entry) ^ PAGE_SIZE, &hash_inserts);
	} else if (strcmp(name, "hpte-twice") == 0) {
		while (hash64_copies(vsid, address) < 2)
			hash64_insert(vsid, address, pte_get(entry), &hash_inserts);
	} else if (strcmp(name, "tlb") == 0) {          /* write permission is left in the TLB */
		hash64_remove_searching(mm, vsid, address);
		pagetable_set(entry, pte_write_protect(pte_get(entry)));
	} else {
		return -EINVAL;
	}
	return 0;
}
