/* The hash table with several processors: its lock, and what a processor that begins loads. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/hash_table_lock.h>
#include <arch/image.h>
#include <arch/several.h>
#include <pagetable.h>
#include <smp.h>
#include <time.h>

DECLARE_IMAGE(image_external_flush_bus);

struct spinlock hash_lock = { .name = "hash", .last = true };
static struct spinlock one_lock = { .name = "one" };

static u32 sdr1_of_all;

/* Waits until no handler is in the tree that began before. */
static void wait_walkers(void)
{
	table_lock();
	table_unlock();
}

static void hash32_bind_several(void)
{
	lock_register(&hash_lock);
	pagetable_left = wait_walkers;
	__asm__ volatile("mfspr %0, %1" : "=r"(sdr1_of_all) : "i"(SPR_SDR1));
}

static void hash32_begin(void)
{
	sdr1_set(sdr1_of_all);
}

static void flush_page_of_all(vaddr_t address)
{
	table_lock();
	tlb_invalidate_locked(address);
	table_unlock();
}

/* For a panic: the other processors need the table to reach their stacks and print. */
static void lock_leave(void)
{
	arch_memory_barrier();
	if (hash_lock.taken == kva_pa(&current->arch))
		*(volatile u32 *)&hash_lock.taken = 0;
}

const struct ppc_several hash32_several = {
	.bind = hash32_bind_several,
	.begin = hash32_begin,
	.leave_lock = lock_leave,
	.tlb_flush_page = flush_page_of_all,
	.external_flush = &image_external_flush_bus,
};

/*
 * Wrong orders of the table's lock, for the checker to find. Before the first, the other processors have time to miss
 * and wait for it.
 */
static void take_after_hash(void)
{
	u64 until = time_now_ns() + 5 * NSEC_PER_MSEC;

	table_lock();
	kernel_unlock();
	while (time_now_ns() < until)
		arch_pause();
	spin_lock(&one_lock);
}

static void take_hash_twice(void)
{
	table_lock();
	table_lock();
}

static void take_kernel_after_hash(void)
{
	kernel_unlock();
	table_lock();
	kernel_lock();
}

bool arch_lock_fault(const char *name)
{
	if (strcmp(name, "lock-hash") == 0)
		take_after_hash();
	else if (strcmp(name, "lock-hash-twice") == 0)
		take_hash_twice();
	else if (strcmp(name, "lock-hash-kernel") == 0)
		take_kernel_after_hash();
	else
		return false;
	return true;
}
