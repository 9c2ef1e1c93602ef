/*
 * reload.count: whether the assembly handlers count their insertions into the hash table.
 *
 * off: they do not. on: all insertions and those of each group are counted. /proc/mmu shows the share that had to
 * replace a valid entry, and the histogram by which VSIDs are tuned. It costs a reload about fifteen instructions.
 * Forms: hash32/count.c, hash64/note.c, include/arch/hash_insert.h.
 */
#include <arch/hash.h>
#include <arch/mmu.h>
#include <errno.h>
#include <policy.h>

static int reload_count_apply(const struct policy_setting *to)
{
	if (!backend->hash)
		return to->choice ? -ENODEV : 0;
	return backend->hash->count(to->choice == 1);
}

POLICY(reload_count, "reload.count", CHOICES("off", "on"), POLICY_ANY, reload_count_apply, "inserts", &hash_inserts);
