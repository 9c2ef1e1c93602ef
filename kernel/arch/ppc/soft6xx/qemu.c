/*
 * The 603 of QEMU 7.2. An entry that its TLB has evicted still translates, from QEMU's own cache, and tlbie, which
 * finds only entries in the TLB, does not remove it. A changed segment register empties that cache, but only at the
 * next exception or rfi, not at an isync. (QEMU target/ppc: ppc6xx_tlb_invalidate_virt2, helper_store_sr,
 * gen_check_tlb_flush.) Hardware needs none of this.
 */
#include <arch.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/soft6xx.h>

#include "reload.h"

#define SR_KEY_SUPERVISOR 0x40000000u   /* Ks */
#define SEGMENT 0xb0000000u             /* any segment in which the kernel does not run */

static void empty_cache(void)
{
	u32 sr;

	__asm__ volatile("mfsrin %0, %1" : "=r"(sr) : "r"(SEGMENT));
	__asm__ volatile("mtsrin %0, %1; isync" : : "r"(sr ^ SR_KEY_SUPERVISOR), "r"(SEGMENT));
	__asm__ volatile("mtsrin %0, %1; isync" : : "r"(sr), "r"(SEGMENT) : "memory");
}

static void qemu_page_flush(struct mm *mm, vaddr_t address)
{
	soft6xx_page_flush(mm, address);
	empty_cache();
}

static void qemu_kernel_page_flush(vaddr_t address)
{
	soft6xx_kernel_page_flush(address);
	empty_cache();
}

static void qemu_flush_all(void)
{
	soft6xx_flush_all();
	empty_cache();
}

DECLARE_IMAGE(image_dsi_c);
DECLARE_IMAGE(image_isi_c);
DECLARE_IMAGE(image_dsi_soft);
DECLARE_IMAGE(image_isi_soft);
DECLARE_IMAGE(image_dsi_asm);
DECLARE_IMAGE(image_isi_asm);
DECLARE_IMAGE(image_miss_instruction_bypass_qemu);
DECLARE_IMAGE(image_miss_load_bypass_qemu);
DECLARE_IMAGE(image_miss_store_bypass_qemu);
DECLARE_IMAGE(image_miss_instruction_emulate_qemu);
DECLARE_IMAGE(image_miss_load_emulate_qemu);
DECLARE_IMAGE(image_miss_store_emulate_qemu);
DECLARE_IMAGE(image_count_soft_data);
DECLARE_IMAGE(image_count_soft_instruction);

/* After a miss, QEMU's rfi restores too much of SRR1. */
static const struct reload_set *qemu_images(enum reload_form form)
{
	static const struct reload_set bypass = SOFT6XX_NO_SEARCH(bypass_qemu, true);
	static const struct reload_set emulate = SOFT6XX_SEARCH(asm, emulate_qemu),
		inserts = SOFT6XX_SEARCH(c, emulate_qemu);

	if (form == RELOAD_C)
		return soft6xx_reload(RELOAD_C);
	if (soft_lookup == &soft_lookup_bypass)
		return &bypass;
	return form == RELOAD_C_INSERTS ? &inserts : &emulate;
}

const struct ppc_backend *soft6xx_on_qemu(void)
{
	extern u32 segments_load_end[], segment_load_end[];
	extern const u32 segments_load_rfi[];
	static struct ppc_backend qemu;

	code_divert(segments_load_end, segments_load_rfi, 0);
	code_divert(segment_load_end, segments_load_rfi, 0);
	qemu = soft6xx_backend;
	qemu.mmu.page_flush = qemu_page_flush;
	qemu.mmu.kernel_page_flush = qemu_kernel_page_flush;
	qemu.mmu.flush_all = qemu_flush_all;
	qemu.reload = qemu_images;
	qemu.withhold_fetch = NULL;     /* these images do not refuse */
	return &qemu;
}
