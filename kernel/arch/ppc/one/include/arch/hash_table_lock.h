/* One processor: nobody else fills the hash table (several/include/arch/hash_table_lock.h has the same names). */
#ifndef ARCH_HASH_TABLE_LOCK_H
#define ARCH_HASH_TABLE_LOCK_H
#include <arch/mmu.h>
#include <types.h>

#define PTE_OF_ALL 0u

static inline void table_lock(void) { }
static inline void table_unlock(void) { }
static inline void tlb_invalidate_locked(vaddr_t address) { tlb_invalidate_page(address); }

#endif
