/*
 * kernel.map: what maps the kernel itself.
 *
 * pte: page-table entries, which compete with the programs' for TLB and hash table. bat: block address translation
 * registers hold RAM; I/O has page-table entries. bat+io: both. What the policy
 * does away with, misses of kernel pages, is counted while /proc/tlbmiss counts.
 */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/reload.h>
#include <errno.h>
#include <policy.h>

static int kernel_map_apply(const struct policy_setting *to)
{
	if (!backend->bats)
		return to->choice ? -ENODEV : 0;
	bat_map_ram(to->choice >= 1 ? boot.memory_size : 0);
	bat_map_io(to->choice == 2);
	return 0;
}

POLICY(kernel_map, "kernel.map", CHOICES("pte", "bat", "bat+io"), POLICY_QUIESCED, kernel_map_apply, "kernel_misses",
       &misses_of_kernel_pages);
