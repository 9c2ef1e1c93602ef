/* Faults of hash table and TLB for the invariant checker to find (test/inject.c). */
#include <arch/hash.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/vsid.h>
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <pagetable.h>
#include <smp.h>
#include <time.h>

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

/* Write permission is removed from tree and hash table, but not from the TLB. */
static void leave_tlb(struct mm *mm, vaddr_t address, struct pte *entry)
{
	hash_remove_searching(mm, context_vsid(mm, address), address);
	pagetable_set(entry, pte_write_protect(pte_get(entry)));
}

static struct spinlock one_lock = { .name = "one" };

/* Wrong orders of the hash table's lock. Before the first, the other processors have time to miss and wait for it. */
static void take_after_hash(void)
{
	u64 until = time_now_ns() + 5 * NSEC_PER_MSEC;

	hash_lock_keep();
	kernel_unlock();
	while (time_now_ns() < until)
		arch_pause();
	spin_lock(&one_lock);
}

static void take_hash_twice(void)
{
	hash_lock_keep();
	hash_lock_keep();
}

static void take_kernel_after_hash(void)
{
	kernel_unlock();
	hash_lock_keep();
	kernel_lock();
}

int hash_tlb_make_fault(const char *name, struct mm *mm, vaddr_t address)
{
	struct pte *entry = pagetable_find(mm->root, address);

	if (strcmp(name, "hpte") == 0)
		change_hpte(mm, address, entry);
	else if (strcmp(name, "hpte-twice") == 0)
		double_hpte(mm, address, entry);
	else if (strcmp(name, "tlb") == 0)
		leave_tlb(mm, address, entry);
	else if (strcmp(name, "lock-hash") == 0)
		take_after_hash();
	else if (strcmp(name, "lock-hash-twice") == 0)
		take_hash_twice();
	else if (strcmp(name, "lock-hash-kernel") == 0)
		take_kernel_after_hash();
	else
		return -EINVAL;
	return 0;
}
