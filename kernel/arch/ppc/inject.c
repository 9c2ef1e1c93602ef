/* Faults of hash table and TLB for the invariant checker to find (test/inject.c). */
#include <arch.h>
#include <arch/hash.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/vsid.h>
#include <errno.h>
#include <lib.h>
#include <pagetable.h>

/* The hash table maps the page to another frame. */
static void change_hpte(struct mm *mm, vaddr_t address, struct pte *entry)
{
	u32 vsid = context_vsid(mm, address);

	hash_remove_searching(mm, vsid, address);
	hash_placed(address, hash_insert(vsid, address, pte_get(entry) ^ PAGE_SIZE));
}

/* The hash table has the page twice. */
static void double_hpte(struct mm *mm, vaddr_t address, struct pte *entry)
{
	u32 vsid = context_vsid(mm, address);

	while (hash_copies(vsid, address) < 2)
		hash_placed(address, hash_insert(vsid, address, pte_get(entry)));
}

/* Write permission is removed from the tree, but not from the TLB. */
int tlb_make_fault(const char *name, struct mm *mm, vaddr_t address)
{
	struct pte *entry = pagetable_find(mm->root, address);

	if (strcmp(name, "tlb") != 0)
		return -EINVAL;
	pagetable_set(entry, pte_write_protect(pte_get(entry)));
	return 0;
}

int hash_tlb_make_fault(const char *name, struct mm *mm, vaddr_t address)
{
	struct pte *entry = pagetable_find(mm->root, address);

	if (strcmp(name, "hpte") == 0)
		change_hpte(mm, address, entry);
	else if (strcmp(name, "hpte-twice") == 0)
		double_hpte(mm, address, entry);
	else if (!tlb_make_fault(name, mm, address))
		hash_remove_searching(mm, context_vsid(mm, address), address);
	else
		return -EINVAL;
	return 0;
}
