/*
 * kernel.map: what maps the kernel itself.
 *
 * pte: page-table entries, which compete with those of programs for TLB and hash table. bat: block address translation
 * registers map RAM; page-table entries map I/O. bat+io: BATs map both. large: on a 405, a miss on RAM loads an entry
 * of 16 MB, as in Linux since 2003 (arch/powerpc/mm/nohash/40x.c, mmu_mapin_ram); on a 970, entries of the hash table
 * that are never replaced map RAM by pages of 16 MB. The misses of kernel pages, which the policy avoids, are counted
 * while /proc/tlbmiss counts.
 * Forms: bat.c, hash64/backend.c, soft405/backend.c, soft405/reload.S.
 */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/reload.h>
#include <errno.h>
#include <policy.h>

static int kernel_map_apply(const struct policy_setting *to)
{
	bool large = to->choice == 3;

	if (large ? !backend->map_large : to->choice && !backend->bats)
		return -ENODEV;
	if (backend->map_large)
		backend->map_large(large);
	if (backend->bats) {
		bat_map_ram(to->choice >= 1 ? boot.memory_size : 0);
		bat_map_io(to->choice == 2);
	}
	return 0;
}

POLICY(kernel_map, "kernel.map", CHOICES("pte", "bat", "bat+io", "large"), POLICY_QUIESCED, kernel_map_apply,
       "kernel_misses", &misses_of_kernel_pages);
