/* The hash table in C (604 manual, 5.5): search, insertion, removal. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/hash_table_lock.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>
#include <pagetable.h>
#include <smp.h>

#define GROUP_BYTES (HPTES_PER_GROUP * sizeof(struct hpte))

struct hpte *hash_table;
u32 hash_groups;
u64 hash_searches_flush, hash_found_flush;
u32 hash_evictions, hash_next_slot;
u64 hash_inserts;
u32 *hash_group_misses;

void *hash_allocate(u32 least, u32 ram_per_byte, u32 group_bytes)
{
	u32 size = least;
	unsigned order = 0;
	struct frame *frame;

	while (size < 0x2000000 && size < boot.memory_size / ram_per_byte)
		size *= 2;
	while (PAGE_SIZE << order < size)
		order++;
	frame = frame_alloc_order(FRAME_RESERVED, order);
	if (!frame)
		fatal(EXIT_MEMORY, "hash table: no room for %u KB", size / 1024);
	hash_groups = size / group_bytes;
	return memset(frame_kva(frame), 0, size);
}

/* 128 KB for 32 MB, as in the 1999 system (16384 entries, two a frame); the architecture's minimum is 64 KB. */
void hash_init(void)
{
	u32 masks;

	if (hash_table)
		return;
	hash_table = hash_allocate(HASH_LEAST, 256, GROUP_BYTES);
	masks = hash_groups * GROUP_BYTES / 0x10000 - 1;
	/* HTABORG, and HTABMASK: the hash bits beyond the ten of a 64 KB table. */
	__asm__ volatile("sync; mtspr %0, %1; isync" : : "i"(SPR_SDR1), "r"(kva_pa(hash_table) | masks) : "memory");
}

void hash_shrink(u32 size)
{
	u32 sdr1;

	hash_clear();
	__asm__ volatile("mfspr %0, %1" : "=r"(sdr1) : "i"(SPR_SDR1));
	hash_groups = size / GROUP_BYTES;
	sdr1_set((sdr1 & 0xffff0000) | (size / 0x10000 - 1));
}

void hash_clear(void)
{
	table_lock();
	if (hash_table)
		memset(hash_table, 0, hash_groups * GROUP_BYTES);
	table_unlock();
}

void hash_reach(u32 base)
{
	u32 sdr1;

	if (!hash_table)
		return;
	__asm__ volatile("mfspr %0, %1" : "=r"(sdr1) : "i"(SPR_SDR1));
	hash_table = (struct hpte *)(base + (sdr1 & 0xffff0000));
}

static inline u32 hash_of(u32 vsid, vaddr_t address)
{
	return (vsid & 0x7ffff) ^ (address >> 12 & 0xffff);
}

static inline struct hpte *table_group(u32 hash)
{
	return &hash_table[(hash & (hash_groups - 1)) * HPTES_PER_GROUP];
}

static inline u32 first_word(u32 vsid, vaddr_t address)
{
	return HPTE_VALID | vsid << 7 | (address >> 22 & HPTE_API);
}

/* Inlined, so that a search is charged to its caller's cost category. */
static inline struct hpte *table_search(u32 vsid, vaddr_t address)
{
	u32 hash = hash_of(vsid, address), word = first_word(vsid, address);
	struct hpte *entry = table_group(hash);

	for (int i = 0; i < HPTES_PER_GROUP; i++, entry++)
		if (entry->word0 == word)
			return entry;
	entry = table_group(~hash);
	for (int i = 0; i < HPTES_PER_GROUP; i++, entry++)
		if (entry->word0 == (word | HPTE_SECONDARY))
			return entry;
	return NULL;
}

u32 hash_copies(u32 vsid, vaddr_t address)
{
	u32 hash = hash_of(vsid, address), word = first_word(vsid, address), copies = 0;

	for (int i = 0; i < HPTES_PER_GROUP; i++) {
		copies += table_group(hash)[i].word0 == word;
		copies += table_group(~hash)[i].word0 == (word | HPTE_SECONDARY);
	}
	return copies;
}

CAUSE(reload) const struct hpte *hash_find(u32 vsid, vaddr_t address)
{
	return table_search(vsid, address);
}

static inline struct hpte *empty_slot(struct hpte *entry)
{
#pragma GCC unroll 8
	for (int i = 0; i < HPTES_PER_GROUP; i++, entry++)
		if (!(entry->word0 & HPTE_VALID))
			return entry;
	return NULL;
}

CAUSE(reload) static inline struct hpte *table_insert(u32 vsid, vaddr_t address, u32 pte, u64 *count)
{
	u32 hash = hash_of(vsid, address), word = first_word(vsid, address);
	struct hpte *entry = empty_slot(table_group(hash));

	if (!entry) {
		entry = empty_slot(table_group(~hash));
		if (entry) {
			word |= HPTE_SECONDARY;
		} else {
			entry = table_group(hash) + hash_next_slot;
			hash_next_slot = (hash_next_slot + 1) % HPTES_PER_GROUP;
			hash_evictions++;
			entry->word0 = 0;
			__asm__ volatile("sync" : : : "memory");
		}
	}
	(*count)++;
	entry->word1 = pte;
	/* This processor's searches see both words after the sync. Other processors' searches see word 1 first. */
	if (SEVERAL)
		__asm__ volatile("eieio" : : : "memory");
	else
		__asm__ volatile("" : : : "memory");
	entry->word0 = word;
	__asm__ volatile("sync" : : : "memory");
	return entry;
}

/*
 * Under the table's lock. NULL: another processor has inserted the page since the caller looked into the tree, or the
 * tree has changed.
 */
CAUSE(reload) static inline struct hpte *table_insert_locked(u32 vsid, vaddr_t address, u32 pte, u64 *count)
{
	const struct root_entry *root = address < KERNEL_BASE && this_cpu()->mm ? this_cpu()->mm->root : kernel_root;
	struct hpte *entry = NULL;

	table_lock();
	if (!SEVERAL || (pte_copy(pagetable_read(root, address)) == pte_copy(pte) && !table_search(vsid, address)))
		entry = table_insert(vsid, address, (pte & PTE_HARDWARE) | PTE_OF_ALL, count);
	table_unlock();
	return entry;
}

CAUSE(reload) struct hpte *hash_insert(u32 vsid, vaddr_t address, u32 pte)
{
	return table_insert_locked(vsid, address, pte, &hash_inserts);
}

u64 hash_preloads;

CAUSE(reload) struct hpte *hash_insert_preload(u32 vsid, vaddr_t address, u32 pte)
{
	return table_insert_locked(vsid, address, pte, &hash_preloads);
}

CAUSE(reload) void hash_preloaded(struct mm *mm, vaddr_t address, u32 pte)
{
	if (mm == this_cpu()->mm && pte & PTE_VALID)
		table_insert(segment_vsid(address), address, pte & PTE_HARDWARE, &hash_preloads);
}

CAUSE(flush) bool hash_remove_searching(struct mm *mm, u32 vsid, vaddr_t address)
{
	struct hpte *entry = table_search(vsid, address);

	(void)mm;
	hash_searches_flush++;
	if (entry) {
		hash_found_flush++;
		entry->word0 = 0;
		__asm__ volatile("sync" : : : "memory");
	}
	return true;
}

CAUSE(flush) void hash_clear_slot(u32 vsid, vaddr_t address, u32 slot)
{
	u32 hash = hash_of(vsid, address), word = first_word(vsid, address);
	struct hpte *entry = table_group(hash) + slot;

	if (entry->word0 != word) {
		entry = table_group(~hash) + slot;
		if (entry->word0 != (word | HPTE_SECONDARY))
			return;
	}
	entry->word0 = 0;
	__asm__ volatile("sync" : : : "memory");
}

u32 hash_address(const struct hpte *entry, u32 word0)
{
	u32 index = (u32)(entry - hash_table) / HPTES_PER_GROUP;
	u32 vsid = (word0 & HPTE_VSID) >> 7;

	if (word0 & HPTE_SECONDARY)
		index = ~index;
	/* The group's number gives the low ten bits of the page index, the API gives the high six. */
	return (word0 & HPTE_API) << 22 | ((index ^ vsid) & 0x3ff) << 12;
}

CAUSE(flush) u32 hash_sweep(u32 first, u32 count, bool (*goes)(u32 number))
{
	struct hpte *entry = &hash_table[first], *end = entry + count;
	u32 cleared = 0;

	for (; entry < end; entry++) {
		u32 number = context_number((entry->word0 & HPTE_VSID) >> 7);

		if (entry->word0 & HPTE_VALID && number != CONTEXT_KERNEL && goes(number)) {
			entry->word0 = 0;
			cleared++;
		}
	}
	return cleared;
}
