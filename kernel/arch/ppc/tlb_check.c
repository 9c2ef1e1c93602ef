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

/* An entry of an address space whose flush was put off goes before the address space is loaded again. */
static void check_against(const struct root_entry *root, const struct control_tlb_entry *entry, check_bad *bad)
{
	u32 address = (entry->vsid & VSID_SEGMENT) << 28 | entry->page, pte = pagetable_read(root, address);
	const char *what = NULL;

	if (!(pte & PTE_VALID))
		what = "the TLB maps a page that the tree does not";
	else if ((pte ^ entry->word) & (PTE_HARDWARE & ~(PTE_VALID | PTE_COHERENT)))
		what = "TLB and tree differ";
	if (what && !shootdown_put_off(root))
		bad(what, entry->vsid, address, entry->word);
}

static void check_one(const struct control_tlb_entry *entry, check_bad *bad)
{
	u32 segment;
	const struct root_entry *root = context_find(entry->vsid, &segment);

	/* Without a root it is a zombie: its VSID is never loaded again. */
	if (root)
		check_against(root, entry, bad);
}

void hash_tlb_check(check_bad *bad)
{
	struct control_tlb_entry entry;

	hash_check(bad);
	for (enum control_tlb tlb = CONTROL_TLB_DATA; tlb <= CONTROL_TLB_INSTRUCTION; tlb++) {
		u32 ways, sets = control_tlb_shape(tlb, &ways);

		for (u32 i = 0; i < sets * ways; i++)
			if (control_tlb_read(tlb, i, &entry))
				check_one(&entry, bad);
	}
}

/* Entries of other address spaces in the page's set are left to sweeps: to find their trees takes long. */
void hash_tlb_check_page(const struct mm *mm, vaddr_t address, check_bad *bad)
{
	bool user = address < KERNEL_BASE;
	u32 vsid = user ? context_vsid(mm, address) : segment_vsid(address);
	struct control_tlb_entry entry;

	hash_check_page(mm, address, bad);
	for (enum control_tlb tlb = CONTROL_TLB_DATA; tlb <= CONTROL_TLB_INSTRUCTION; tlb++) {
		u32 ways, sets = control_tlb_shape(tlb, &ways);
		u32 first = sets ? (address >> PAGE_SHIFT) % sets * ways : 0;

		for (u32 i = first; sets && i < first + ways; i++)
			if (control_tlb_read(tlb, i, &entry) && entry.vsid == vsid)
				check_against(user ? mm->root : kernel_root, &entry, bad);
	}
}
