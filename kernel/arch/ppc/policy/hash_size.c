/*
 * hash.size: how large the hash table is.
 *
 * ram: 1/256 of memory. least: the smallest that the architecture has, 64 KB, half of what the system of 1999 had in
 * its 32 MB; on a 970 256 KB.
 * The memory that the larger table would take stays unused.
 * Forms: hash32/table.c, hash64/table.c.
 */
#include <arch/hash.h>
#include <arch/mmu.h>
#include <errno.h>
#include <policy.h>

static u64 bytes_unused;

static int hash_size_apply(const struct policy_setting *to)
{
	u32 size;

	if (to->choice == 0)
		return 0;
	if (!backend->hash)
		return -ENODEV;
	size = hash_groups * HPTES_PER_GROUP * backend->hash->entry_size;
	backend->hash->shrink(backend->hash->least);
	bytes_unused = size - backend->hash->least;
	return 0;
}

POLICY(hash_size, "hash.size", CHOICES("ram", "least"), POLICY_BOOT, hash_size_apply, "bytes_unused", &bytes_unused);
