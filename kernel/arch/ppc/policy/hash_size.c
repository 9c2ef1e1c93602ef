/*
 * hash.size: how large the hash table is.
 *
 * ram: 1/256 of memory (hash32/table.c). least: 64 KB, the smallest that the architecture has, and half of what the
 * system of 1999 had in its 32 MB. The memory that the larger table would take stays unused.
 */
#include <arch/hash.h>
#include <arch/mmu.h>
#include <errno.h>
#include <policy.h>

static u64 bytes_unused;

static int hash_size_apply(const struct policy_setting *to)
{
	u32 size = hash_groups * HPTES_PER_GROUP * sizeof(struct hpte);

	if (to->choice == 0)
		return 0;
	if (!backend->hash)
		return -ENODEV;
	hash_shrink(HASH_LEAST);
	bytes_unused = size - HASH_LEAST;
	return 0;
}

POLICY(hash_size, "hash.size", CHOICES("ram", "least"), POLICY_BOOT, hash_size_apply, "bytes_unused", &bytes_unused);
