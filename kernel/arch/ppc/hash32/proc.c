/* /proc/mmu/hash, histogram and misses: the contents of the hash table. */
#include <arch/hash.h>
#include <arch/mmu.h>
#include <arch/vsid.h>
#include <lib.h>
#include <procfs.h>
#include <text.h>

/* The most kernel entries that a read of the table has found. */
static u32 kernel_high_water;

void hash_occupy(struct hash_occupancy *o, u32 vsid, bool secondary)
{
	u32 segment;
	const struct root_entry *root = context_find(vsid, &segment);

	o->valid++;
	if (!root)
		o->zombies++;
	else if (root == kernel_root)
		o->kernel++;
	o->secondary += secondary;
}

void hash_occupancy(struct hash_occupancy *o)
{
	for (u32 g = 0; hash_table && g < hash_groups; g++) {
		unsigned used = 0;

		for (u32 i = 0; i < HPTES_PER_GROUP; i++) {
			const struct hpte *entry = &hash_table[g * HPTES_PER_GROUP + i];

			if (!(entry->word0 & HPTE_VALID))
				continue;
			used++;
			hash_occupy(o, (entry->word0 & HPTE_VSID) >> 7, entry->word0 & HPTE_SECONDARY);
		}
		o->groups[used]++;
	}
}

static void count_table(struct hash_occupancy *o)
{
	*o = (struct hash_occupancy){ 0 };
	backend->hash->occupancy(o);
	kernel_high_water = MAX(kernel_high_water, o->kernel);
}

static void show_hash(struct text *text)
{
	u64 inserts = hash_inserts + hash_preloads;
	struct hash_occupancy o;

	count_table(&o);
	text_printf(text, "groups %u\nentries %u\nvalid %u\nlive %u\nkernel %u\nzombies %u\nsecondary %u\n", hash_groups,
		    hash_groups * HPTES_PER_GROUP, o.valid, o.valid - o.zombies, o.kernel, o.zombies, o.secondary);
	text_printf(text, "kernel_high_water %u\nkernel_permille %u\noccupancy_permille %u\n", kernel_high_water,
		    o.valid ? o.kernel * 1000 / o.valid : 0,
		    hash_groups ? o.valid * 1000 / (hash_groups * HPTES_PER_GROUP) : 0);
	/* Without reload.count=on, insertions by assembly are not counted, and a share would mislead. */
	text_printf(text, "inserts %llu\n", inserts);
	if (hash_group_misses && inserts)
		text_printf(text, "evict_permille %u\n", (u32)(1000ull * hash_evictions / (u32)inserts));
	text_printf(text, "evictions %u\nflush_searches %llu\nflush_found %llu\n", hash_evictions, hash_searches_flush,
		    hash_found_flush);
}

/* Groups by number of valid entries: an even spread has few full and few empty ones. */
static void show_histogram(struct text *text)
{
	struct hash_occupancy o;

	count_table(&o);
	for (unsigned i = 0; i <= HPTES_PER_GROUP; i++)
		text_printf(text, "%u %u\n", i, o.groups[i]);
}

/* Groups by insertions (misses) since reload.count=on: "misses groups" for each number that occurs. */
static void show_misses(struct text *text)
{
	u32 most = 0;

	for (u32 g = 0; hash_group_misses && g < hash_groups; g++)
		most = MAX(most, hash_group_misses[g]);
	for (u32 n = 0; hash_group_misses && n <= most; n++) {
		u32 groups = 0;

		for (u32 g = 0; g < hash_groups; g++)
			groups += hash_group_misses[g] == n;
		if (groups)
			text_printf(text, "%u %u\n", n, groups);
	}
}

void hash_proc_init(void)
{
	if (backend->bats)
		bat_proc_init();
	segments_proc_init();
	proc_file("mmu/hash", show_hash, NULL);
	proc_file("mmu/histogram", show_histogram, NULL);
	proc_file("mmu/misses", show_misses, NULL);
}
