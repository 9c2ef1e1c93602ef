/*
 * Checks the TLBs for the invariant checker. Software cannot read them on these processors; the control device shows
 * them (docs/interfaces.md, section 2). Without the device nothing is checked.
 */
#include <arch.h>
#include <arch/hash.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/vsid.h>
#include <pagetable.h>
#include <shootdown.h>

#include "control_device.h"

static void check_one(const struct control_tlb_entry *entry, check_bad *bad)
{
	u32 segment, address, pte;
	const struct root_entry *root = context_find(entry->vsid, &segment);

	if (!root || shootdown_put_off(root))
		return;         /* a zombie: its VSID is never loaded again */
	address = segment << 28 | entry->page;
	pte = pagetable_read(root, address);
	if (!(pte & PTE_VALID))
		bad("the TLB maps a page that the tree does not", entry->vsid, address, entry->word);
	else if ((pte ^ entry->word) & (PTE_HARDWARE & ~(PTE_VALID | PTE_COHERENT)))
		bad("TLB and tree differ", entry->vsid, address, entry->word);
}

static void check_entries(enum control_tlb tlb, u32 first, u32 count, check_bad *bad)
{
	struct control_tlb_entry entry;

	for (u32 i = first; i < first + count; i++)
		if (control_tlb_read(tlb, i, &entry))
			check_one(&entry, bad);
}

void hash_tlb_check(check_bad *bad)
{
	hash_check(bad);
	for (enum control_tlb tlb = CONTROL_TLB_DATA; tlb <= CONTROL_TLB_INSTRUCTION; tlb++) {
		u32 ways, sets = control_tlb_shape(tlb, &ways);

		check_entries(tlb, 0, sets * ways, bad);
	}
}

void hash_tlb_check_page(const struct mm *mm, vaddr_t address, check_bad *bad)
{
	hash_check_page(mm, address, bad);
	for (enum control_tlb tlb = CONTROL_TLB_DATA; tlb <= CONTROL_TLB_INSTRUCTION; tlb++) {
		u32 ways, sets = control_tlb_shape(tlb, &ways);

		if (sets)
			check_entries(tlb, (address >> PAGE_SHIFT) % sets * ways, ways, bad);
	}
}
