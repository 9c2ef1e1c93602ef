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
	u32 need = access == MM_WRITE ? PTE_VALID | PTE_CHANGED : PTE_VALID;
	u32 pte;

	if (!this_cpu()->mm || address >= KERNEL_BASE)
		return false;
	pte = pagetable_read(this_cpu()->mm->root, address);
	if ((pte & need) != need)
		return false;
	reloads_c++;
	/* In an aperture, another space's VSID. */
	hash_placed(address, hash_insert(segment_vsid(address), address, pte));
	return true;
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

CAUSE(fault) static void not_preloaded(struct mm *mm, vaddr_t address, u32 pte)
{
	(void)mm;
	(void)address;
	(void)pte;
}

/* In place of hash_preloaded() if slots are noted in the tree (hash_note()), or where there are several processors. */
CAUSE(fault) static void preloaded_placed(struct mm *mm, vaddr_t address, u32 pte)
{
	if (mm != this_cpu()->mm || !(pte & PTE_VALID))
		return;
	hash_placed(address, hash_insert_preload(context_vsid(mm, address), address, pte));
}

/*
 * The same, and inserts the other mapped pages of an aligned window of `preload_window` pages. A page must not be
 * inserted twice, so each is searched for first.
 */
static u32 preload_window;

CAUSE(fault) static void neighbours_preloaded(struct mm *mm, vaddr_t address, u32 pte)
{
	vaddr_t start = ALIGN_DOWN(address, preload_window << PAGE_SHIFT);
	u32 vsid;
	const struct pte *entry;

	if (mm != this_cpu()->mm || !(pte & PTE_VALID))
		return;
	preloaded_placed(mm, address, pte);
	vsid = context_vsid(mm, address);
	entry = pagetable_find(mm->root, start);        /* one table covers the window */
	for (u32 page = 0; page < preload_window; page++, entry++, start += PAGE_SIZE)
		if (pte_present(pte_get(entry)) && start != ALIGN_DOWN(address, PAGE_SIZE) && !hash_find(vsid, start))
			hash_placed(start, hash_insert_preload(vsid, start, pte_get(entry)));
}

static enum hash_preload preload_form;

void hash_preload_bind(void)
{
	page_installed_bind(preload_form == HASH_PRELOAD_OFF ? not_preloaded :
			    preload_form == HASH_PRELOAD_AROUND ? neighbours_preloaded :
			    pagetable_notes || SEVERAL ? preloaded_placed : hash_preloaded);
}

void hash_preload(enum hash_preload what, u32 pages)
{
	preload_window = pages;
	preload_form = what;
	hash_preload_bind();
}

CAUSE(flush) static void hash32_page_flush(struct mm *mm, vaddr_t address)
{
	table_lock();
	/* The TLB is reloaded only from the table. */
	if (hash_remove(mm, context_vsid(mm, address), address))
		tlb_invalidate_locked(address);
	table_unlock();
}

/* An entry of the tree may have a note, but nobody relies on that of a kernel page. */
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
