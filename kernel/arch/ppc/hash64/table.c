/*
 * The 970's hash table in C: search, insertion, removal. As hash32/table.c, but that an entry has 16 bytes, of which
 * other words are compared, and may be bolted. The kernel is code for 32 bits and reads an entry by words; store.S
 * writes it by doublewords.
 */
#include <arch.h>
#include <arch/hash.h>
#include <arch/hash64.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>

#include "../internal.h"
#include "hash64.h"

#define GROUP_BYTES (HPTES_PER_GROUP * HPTE64_SIZE)
#define LEAST_SHIFT 11          /* groups of the smallest table, for SDR1 */

struct hpte64 *hash64_table;

/* Tells the hardware and the handlers of the table. */
static void table_announce(void)
{
	u32 shift = 0, msr = irq_save();

	while (HASH64_LEAST << shift < hash_groups * GROUP_BYTES)
		shift++;
	hash64_load_table(kva_pa(hash64_table), (hash_groups - 1) * GROUP_BYTES, shift);
	irq_restore(msr);
}

void hash64_shrink(u32 size)
{
	hash64_clear();
	hash_groups = size / GROUP_BYTES;
	table_announce();
}

void hash64_clear(void)
{
	for (u32 i = 0; i < hash_groups * HPTES_PER_GROUP; i++)
		if (!(hash64_table[i].word0 & HPTE64_BOLTED))
			hash64_table[i].word0 = 0;
	__asm__ volatile("sync" : : : "memory");
}

static inline u32 hash_of(u32 vsid, vaddr_t address)
{
	return vsid ^ (address >> 12 & 0xffff);
}

static inline struct hpte64 *table_group(u32 hash)
{
	return &hash64_table[(hash & (hash_groups - 1)) * HPTES_PER_GROUP];
}

static inline u32 first_word(u32 vsid, vaddr_t address)
{
	return HPTE64_VALID | vsid << 12 | (address >> 16 & HPTE64_API);
}

static inline bool entry_is(const struct hpte64 *entry, u32 vsid, u32 word)
{
	return entry->word0 == word && entry->high == vsid >> 20;
}

/* Inlined, so that a search is charged to its caller's cost category. */
static inline struct hpte64 *table_search(u32 vsid, vaddr_t address)
{
	u32 hash = hash_of(vsid, address), word = first_word(vsid, address);
	struct hpte64 *entry = table_group(hash);

	for (int i = 0; i < HPTES_PER_GROUP; i++, entry++)
		if (entry_is(entry, vsid, word))
			return entry;
	entry = table_group(~hash);
	for (int i = 0; i < HPTES_PER_GROUP; i++, entry++)
		if (entry_is(entry, vsid, word | HPTE64_SECONDARY))
			return entry;
	return NULL;
}

u32 hash64_copies(u32 vsid, vaddr_t address)
{
	u32 hash = hash_of(vsid, address), word = first_word(vsid, address), copies = 0;

	for (int i = 0; i < HPTES_PER_GROUP; i++) {
		copies += entry_is(table_group(hash) + i, vsid, word);
		copies += entry_is(table_group(~hash) + i, vsid, word | HPTE64_SECONDARY);
	}
	return copies;
}

CAUSE(reload) const struct hpte64 *hash64_find(u32 vsid, vaddr_t address)
{
	return table_search(vsid, address);
}

static inline struct hpte64 *empty_slot(struct hpte64 *entry)
{
	for (int i = 0; i < HPTES_PER_GROUP; i++, entry++)
		if (!(entry->word0 & HPTE64_VALID))
			return entry;
	return NULL;
}

static inline void entry_clear(struct hpte64 *entry)
{
	entry->word0 = 0;
	__asm__ volatile("sync" : : : "memory");
}

/* The tree has PTE_FETCH where the table has M. M stays 0, because there is no other processor to be coherent with. */
static inline u32 word1_of(vaddr_t address, u32 pte)
{
	u32 word = pte & PTE_HARDWARE & ~(u32)PTE_FETCH;

	return fetch_withheld && address < KERNEL_BASE && !(pte & PTE_FETCH) ? word | HPTE64_NO_FETCH : word;
}

u32 hash64_word1(vaddr_t address, u32 pte)
{
	return word1_of(address, pte);
}

CAUSE(reload) static inline struct hpte64 *table_insert(u32 vsid, vaddr_t address, u32 pte, u64 *count)
{
	u32 hash = hash_of(vsid, address), word = first_word(vsid, address);
	struct hpte64 *entry = empty_slot(table_group(hash));

	if (!entry) {
		entry = empty_slot(table_group(~hash));
		if (entry) {
			word |= HPTE64_SECONDARY;
		} else {
			entry = table_group(hash) + hash_next_slot;
			hash_next_slot = (hash_next_slot + 1) % HPTES_PER_GROUP;
			hash_evictions++;
			if (entry->word0 & HPTE64_BOLTED)
				entry++;        /* it is the group's first, and its only one */
			entry_clear(entry);
		}
	}
	(*count)++;
	hash64_store(entry, vsid >> 20, word, word1_of(address, pte));
	return entry;
}

CAUSE(reload) void hash64_insert(u32 vsid, vaddr_t address, u32 pte, u64 *count)
{
	hash64_placed(address, table_insert(vsid, address, pte, count));
}

CAUSE(flush) bool hash64_remove_searching(struct mm *mm, u32 vsid, vaddr_t address)
{
	struct hpte64 *entry = table_search(vsid, address);

	(void)mm;
	hash_searches_flush++;
	if (entry) {
		hash_found_flush++;
		entry_clear(entry);
	}
	return true;
}

CAUSE(flush) void hash64_clear_slot(u32 vsid, vaddr_t address, u32 slot)
{
	u32 hash = hash_of(vsid, address), word = first_word(vsid, address);
	struct hpte64 *entry = table_group(hash) + slot;

	if (!entry_is(entry, vsid, word)) {
		entry = table_group(~hash) + slot;
		if (!entry_is(entry, vsid, word | HPTE64_SECONDARY))
			return;
	}
	entry_clear(entry);
}

CAUSE(flush) u32 hash64_sweep(u32 first, u32 count, bool (*goes)(u32 number))
{
	u32 cleared = 0;

	for (struct hpte64 *entry = &hash64_table[first]; count; entry++, count--) {
		u32 number = context_number(hash64_vsid(entry->high, entry->word0));

		if ((entry->word0 & (HPTE64_VALID | HPTE64_BOLTED)) == HPTE64_VALID && number != CONTEXT_KERNEL &&
		    goes(number)) {
			entry->word0 = 0;
			cleared++;
		}
	}
	return cleared;
}

void hash64_occupancy(struct hash_occupancy *o)
{
	for (u32 g = 0; g < hash_groups; g++) {
		unsigned used = 0;

		for (u32 i = 0; i < HPTES_PER_GROUP; i++) {
			const struct hpte64 *entry = &hash64_table[g * HPTES_PER_GROUP + i];

			if (!(entry->word0 & HPTE64_VALID))
				continue;
			used++;
			if (entry->word0 & HPTE64_BOLTED) {
				o->valid++;
				o->kernel++;
			} else {
				hash_occupy(o, hash64_vsid(entry->high, entry->word0), entry->word0 & HPTE64_SECONDARY);
			}
		}
		o->groups[used]++;
	}
}

u32 hash64_address(const struct hpte64 *entry, u32 word0, u32 vsid)
{
	u32 index = (u32)(entry - hash64_table) / HPTES_PER_GROUP;

	if (word0 & HPTE64_SECONDARY)
		index = ~index;
	/* The group's number gives the low eleven bits of the page index, the API the high five. */
	return (word0 & HPTE64_API) << 16 | ((index ^ vsid) & 0x7ff) << 12;
}

/* Sets or clears an entry of 16 MB, in the first slot of its group. */
static void bolt_one(u32 vsid, u32 page, u32 word1, bool on)
{
	struct hpte64 *entry = table_group(vsid ^ page);
	u32 word = vsid << 12 | page << 8 | HPTE64_BOLTED | HPTE64_LARGE | HPTE64_VALID;

	if (on || entry->word0 == word)
		entry_clear(entry);
	if (on)
		hash64_store(entry, vsid >> 20, word, word1);
}

void hash64_bolt(bool on)
{
	for (u32 page = 0; page < RAM_LARGE_MOST && page << LARGE_SHIFT < boot.memory_size; page++)
		bolt_one(RAM_VSID + (page & 16), page % 16, page << LARGE_SHIFT | PTE_VALID | PTE_CHANGED | PP_KERNEL,
			 on);
}

/* I/O as the boot mapped it, until segment 15 gets the kernel's VSID. */
static void boot_io_keep(void)
{
	hash64_store(table_group(IO_BOOT_VSID) + 1, IO_BOOT_VSID >> 20,
		  (u32)IO_BOOT_VSID << 12 | HPTE64_LARGE | HPTE64_VALID,
		  IO_PHYSICAL | PTE_VALID | PTE_CHANGED | PTE_UNCACHED | PTE_GUARDED);
}

/* Two entries a frame, as on the other processors. */
void hash64_init(void)
{
	_Static_assert(HASH64_LEAST / GROUP_BYTES == 1u << LEAST_SHIFT, "SDR1 counts from the smallest table");
	hash64_table = hash_allocate(HASH64_LEAST, 128, GROUP_BYTES);
	hash64_bolt(true);
	boot_io_keep();
	table_announce();
}
