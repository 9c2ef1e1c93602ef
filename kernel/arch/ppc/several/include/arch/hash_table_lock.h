/* The hash table's lock, for C (arch/hash_lock.h has it for assembly), and what a flush and an entry are under it. */
#ifndef ARCH_HASH_TABLE_LOCK_H
#define ARCH_HASH_TABLE_LOCK_H
#include <arch.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <lib.h>
#include <smp.h>
#include <task.h>

/* Set in every entry: M, with which caches of other processors see accesses to the page. */
#define PTE_OF_ALL PTE_COHERENT

/* The lock's word is the holder's SPRG3. Assembly counts how often it takes the lock, but checks no order. */
extern struct spinlock hash_lock;

static inline void table_lock(void)
{
	u32 holder = kva_pa(&current->arch);

	if (unlikely(boot.check))
		lock_check(&hash_lock);
	if (!arch_exchange_if(&hash_lock.taken, 0, holder))
		lock_wait(&hash_lock, holder);
	arch_acquired();
	hash_lock.times++;
	if (unlikely(boot.check))
		lock_note_held(&hash_lock);
}

static inline void table_unlock(void)
{
	if (unlikely(boot.check))
		lock_note_left(&hash_lock);
	arch_memory_barrier();
	*(volatile u32 *)&hash_lock.taken = 0;
}

/* From the TLB of each processor, where tlbie goes over the bus: one may be on it at a time. */
static inline void tlb_invalidate_locked(vaddr_t address)
{
	__asm__ volatile("tlbie %0; eieio; tlbsync; sync" : : "r"(address) : "memory");
}

#endif
