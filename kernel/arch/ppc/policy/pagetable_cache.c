/*
 * pagetable.cache: whether page tables are accessed through the data cache.
 *
 * on: they are. off: C reaches the tree and the hash table by a cache-inhibited mapping, so that they evict nothing.
 * That includes every access of the C handlers (reload=c), of faults, flushes and the idle task's sweep. It cannot
 * include the hardware search of the 604 and 750, nor the assembly handlers, which run with translation off: both are
 * cacheable by architecture (docs/memory.md), and load lines that an inhibited access then evicts again. Only reload=c
 * on a 603 avoids this mixture, which a real processor forbids.
 * Forms: genarch/pagetable.c, bat.c.
 */
#include <arch.h>
#include <arch/hash.h>
#include <arch/mmu.h>
#include <errno.h>
#include <frame.h>
#include <pagetable.h>
#include <policy.h>

static int pagetable_cache_apply(const struct policy_setting *to)
{
	u32 base = to->choice ? KERNEL_UNCACHED : KERNEL_BASE;

	if (to->choice && !arch_maps_uncached())
		return -ENODEV;
	for (u32 i = 0; to->choice && i < frame_count; i++)
		if (frames[i].use == FRAME_PAGE_TABLE)
			arch_dcache_flush(frame_kva(&frames[i]), PAGE_SIZE);
	if (backend->hash && backend->hash->reach)
		backend->hash->reach(base);
	if (to->choice)
		arch_dcache_flush((u8 *)hash_table - KERNEL_UNCACHED + KERNEL_BASE,
				  hash_groups * HPTES_PER_GROUP * sizeof(struct hpte));
	pagetable_base = base;
	return 0;
}

POLICY(pagetable_cache, "pagetable.cache", CHOICES("on", "off"), POLICY_QUIESCED, pagetable_cache_apply,
       "tables_uncached", &pagetables_uncached);
