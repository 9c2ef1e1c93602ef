/*
 * kernel.map: what maps the kernel itself.
 *
 * pte: page-table entries, which compete with the programs' for TLB and hash table. bat: block address translation
 * registers hold RAM; I/O has page-table entries. bat+io: both.
 */
#include <arch.h>
#include <arch/mmu.h>
#include <policy.h>

static u64 bats;

static int apply(const struct policy_setting *to)
{
	bat_map_ram(to->choice >= 1 ? boot.memory_size : 0);
	bat_map_io(to->choice == 2);
	bats = to->choice;
	return 0;
}

POLICY(kernel_map, "kernel.map", CHOICES("pte", "bat", "bat+io"), POLICY_QUIESCED, apply, "blocks", &bats);
