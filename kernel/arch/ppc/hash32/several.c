/* The hash table with several processors: what is bound at boot, and what a processor that begins loads. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <pagetable.h>
#include <smp.h>

#include "several.h"

/* reload.S, reload_several.S */
extern u32 hash_reload_data[], hash_reload_instruction[], hash_reload_kernel[];
extern const u32 hash_reload_data_several[], hash_reload_instruction_several[], hash_reload_kernel_several[];

DECLARE_IMAGE(image_external_flush_bus);

static u32 sdr1_of_all;

static void hash32_bind_several(void)
{
	code_divert(hash_reload_data, hash_reload_data_several, 0);
	code_divert(hash_reload_instruction, hash_reload_instruction_several, 0);
	code_divert(hash_reload_kernel, hash_reload_kernel_several, 0);
	arch_replace((const void *)hash_insert, (const void *)hash_insert_several);
	arch_replace((const void *)hash_insert_preload, (const void *)hash_insert_preload_several);
	arch_replace((const void *)hash_clear, (const void *)hash_clear_several);
	lock_register(&hash_lock);
	mmu->page_flush = hash_flush_several;
	mmu->kernel_page_flush = hash_flush_kernel_several;
	pagetable_left = hash_wait_walkers;
	__asm__ volatile("mfspr %0, %1" : "=r"(sdr1_of_all) : "i"(SPR_SDR1));
}

static void hash32_begin(void)
{
	sdr1_set(sdr1_of_all);
}

const struct ppc_several hash32_several = {
	.bind = hash32_bind_several,
	.begin = hash32_begin,
	.leave_lock = hash_lock_leave,
	.tlb_flush_page = hash_tlb_flush_page,
	.external_flush = &image_external_flush_bus,
};
