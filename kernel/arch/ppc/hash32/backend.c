/* The backend of the 604 and 750: hardware searches the hash table, software fills it. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/hash_table_lock.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/reload.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>
#include <smp.h>

#include "../internal.h"

/*
 * The plain reload, with translation on and the registers saved. Misses of kernel addresses do not come here (reload.S
 * says why).
 */
CAUSE(reload) static bool hash32_reload(vaddr_t address, u32 access)
{
	u32 pte = reload_entry(address, access);

	/* An address in an aperture has the VSID of another address space. */
	if (pte)
		hash_placed(address, hash_insert(segment_vsid(address), address, pte));
	return pte;
}

/* Called by the plain form in hash32/reload.S. */
void exception_dsi(struct regs *regs);
void exception_isi(struct regs *regs);

CAUSE(reload) void exception_dsi(struct regs *regs)
{
	if (!(regs->dsisr & DSISR_NO_PTE) || !hash32_reload(regs->dar, regs->dsisr & DSISR_STORE ? MM_WRITE : MM_READ))
		exception_data_fault(regs);
}

/* The vector's image stored SRR1, which has the reason, in dsisr. */
CAUSE(reload) void exception_isi(struct regs *regs)
{
	if (!(regs->dsisr & DSISR_NO_PTE) || !hash32_reload(regs->nip, MM_EXECUTE))
		exception_instruction_fault(regs);
}

/* In place of hash_preloaded() if slots are noted in the tree (hash_note()), or where there are several processors. */
CAUSE(fault) static void preloaded_placed(struct mm *mm, vaddr_t address, u32 pte)
{
	if (mm != this_cpu()->mm || !(pte & PTE_VALID))
		return;
	hash_placed(address, hash_insert_preload(context_vsid(mm, address), address, pte));
}

static enum hash_preload preload_form;
static u32 preload_window;

static bool is_inserted(u32 vsid, vaddr_t address)
{
	return hash_find(vsid, address);
}

void hash_preload_rebind(void)
{
	bool plain = preload_form == HASH_PRELOAD_FAULT && !pagetable_notes && !SEVERAL;

	hash_preload_bind(preload_form, preload_window, plain ? hash_preloaded : preloaded_placed, is_inserted);
}

void hash_preload(enum hash_preload what, u32 pages)
{
	preload_window = pages;
	preload_form = what;
	hash_preload_rebind();
}

CAUSE(flush) static void hash32_page_flush(struct mm *mm, vaddr_t address)
{
	table_lock();
	/* The TLB is reloaded only from the table. */
	if (hash_remove(mm, context_vsid(mm, address), address))
		tlb_invalidate_locked(address);
	table_unlock();
}

/* The tree's entry of a kernel page may have a note, but nobody relies on it. */
CAUSE(flush) static void hash32_kernel_page_flush(vaddr_t address)
{
	table_lock();
	hash_remove_searching(NULL, segment_vsid(address), address);
	tlb_invalidate_locked(address);
	table_unlock();
}

static void hash32_flush_all(void)
{
	hash_clear();
	tlb_invalidate_all();
}

DECLARE_IMAGE(image_dsi_c);
DECLARE_IMAGE(image_isi_c);
DECLARE_IMAGE(image_dsi_asm);
DECLARE_IMAGE(image_isi_asm);
DECLARE_IMAGE(image_count_hash_data);
DECLARE_IMAGE(image_count_hash_instruction);

static const struct reload_set *hash32_images(enum reload_form form)
{
	static const struct reload_set in_c = { .images = {
		{ 0x300, &image_dsi_c, &image_count_hash_data },
		{ 0x400, &image_isi_c, &image_count_hash_instruction },
	} }, in_assembly = { .images = {
		{ 0x300, &image_dsi_asm, &image_count_hash_data },
		{ 0x400, &image_isi_asm, &image_count_hash_instruction },
	} };

	return form == RELOAD_C ? &in_c : &in_assembly;
}

const struct ppc_hash hash32 = {
	.least = HASH_LEAST,
	.entry_size = sizeof(struct hpte),
	.shrink = hash_shrink,
	.count = hash_count,
	.note = hash_note,
	.preload = hash_preload,
	.sweep = hash_sweep,
	.occupancy = hash_occupancy,
	.reach = hash_reach,
};

const struct ppc_backend hash32_backend = {
	.mmu = {
		.name = "hash32",
		.reload = "hardware search",
		.memory_most = BAT_MEMORY_MOST,
		.init = hash_init,
		.proc_init = hash_proc_init,
		.activate = segments_activate,
		.page_flush = hash32_page_flush,
		.kernel_page_flush = hash32_kernel_page_flush,
		.flush_all = hash32_flush_all,
		.check = hash_tlb_check,
		.check_page = hash_tlb_check_page,
		.make_fault = hash_tlb_make_fault,
	},
	.hash = &hash32,
	.bats = true,
	.segments = true,
	.kernel_context = segments_kernel_context,
	.load_context = segments_load_context,
	.reload = hash32_images,
};
