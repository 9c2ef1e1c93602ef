/* The backend of the 603: software reloads the TLB, from a hash table for software or directly from the tree. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/reload.h>
#include <arch/soft6xx.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>

#include "../internal.h"
#include "reload.h"

/* reload.S */
void soft_load_data(vaddr_t address, u32 pte, u32 srr1, u32 compare);
void soft_load_instruction(vaddr_t address, u32 pte, u32 srr1, u32 compare);
void exception_soft_miss(struct regs *regs);
void exception_isi(struct regs *regs);
void exception_isi_withheld(struct regs *regs);

/*
 * The translations that the vectors load with translation off if the last miss that C handled is repeated. C's return
 * uses the TLB too and may evict what C loaded; without these, the program could miss for ever. There is one for
 * instructions, and for loads and stores two each by the last bit of the page number, so that both pages of an access
 * that crosses pages have one.
 */
void prepared_forget(void)
{
	for_each_cpu(cpu)
		for (u32 i = 0; i < SOFT_PREPARED; i++)
			cpu->arch.soft_prepared[i].compare = 0;
}

const struct soft_lookup *soft_lookup = &soft_lookup_emulate;

CAUSE(reload) static u32 tree_lookup(u32 vsid, vaddr_t address)
{
	(void)vsid;
	return this_cpu()->mm ? pagetable_read(this_cpu()->mm->root, address) : 0;
}

/* Searches both groups, as the 604's hardware does; then the tree, and inserts its entry into the table. */
CAUSE(reload) static u32 emulated_lookup(u32 vsid, vaddr_t address)
{
	const struct hpte *entry = hash_find(vsid, address);
	u32 pte;

	if (entry)
		return entry->word1;
	pte = tree_lookup(vsid, address);
	if (pte & PTE_VALID)
		hash_placed(address, hash_insert(vsid, address, pte));
	return pte & PTE_HARDWARE;
}

CAUSE(flush) static void emulated_flush(struct mm *mm, u32 vsid, vaddr_t address)
{
	hash_remove(mm, vsid, address);
}

CAUSE(flush) static void no_flush(struct mm *mm, u32 vsid, vaddr_t address)
{
	(void)mm;
	(void)vsid;
	(void)address;
}

const struct soft_lookup soft_lookup_emulate = { emulated_lookup, emulated_flush };
const struct soft_lookup soft_lookup_bypass = { tree_lookup, no_flush };

CAUSE(reload) void exception_soft_miss(struct regs *regs)
{
	vaddr_t address = regs->dar;
	u32 access = regs->trap == 0x1000 ? MM_EXECUTE : regs->trap == 0x1200 ? MM_WRITE : MM_READ;
	u32 need = access == MM_WRITE ? PTE_VALID | PTE_CHANGED : PTE_VALID;
	u32 pte = 0, slot;

	if (access == MM_EXECUTE && fetch_granted(regs))
		return;
	reloads_c++;
	if (this_cpu()->mm && address < KERNEL_BASE)
		pte = soft_lookup->find(segment_vsid(address), address);        /* in an aperture: not mm's VSID */
	if ((pte & need) != need) {
		exception_fault(regs, address, access);
		return;
	}
	slot = access == MM_EXECUTE ? 0 : (access == MM_READ ? 1 : 3) + (address >> PAGE_SHIFT) % 2;
	this_cpu()->arch.soft_prepared[slot].address = address;
	this_cpu()->arch.soft_prepared[slot].compare = regs->orig_gpr3;
	this_cpu()->arch.soft_prepared[slot].pte = pte;
	if (access == MM_EXECUTE)
		soft_load_instruction(address, pte, regs->dsisr, regs->orig_gpr3);
	else
		soft_load_data(address, pte, regs->dsisr, regs->orig_gpr3);
}

/* A fetch that the hash table does not serve: it lacks the page, or has it without the permission. */
CAUSE(reload) void exception_isi_withheld(struct regs *regs)
{
	if (!fetch_granted(regs))
		exception_isi(regs);
}

CAUSE(flush) void soft6xx_page_flush(struct mm *mm, vaddr_t address)
{
	prepared_forget();
	soft_lookup->flush(mm, context_vsid(mm, address), address);
	tlb_invalidate_page(address);
}

/* The table is empty with htab=bypass. */
CAUSE(flush) void soft6xx_kernel_page_flush(vaddr_t address)
{
	prepared_forget();
	if (soft_lookup == &soft_lookup_emulate)
		hash_remove_searching(NULL, segment_vsid(address), address);
	tlb_invalidate_page(address);
}

void soft6xx_flush_all(void)
{
	prepared_forget();
	hash_clear();
	tlb_invalidate_all();
}

DECLARE_IMAGE(image_dsi_c);
DECLARE_IMAGE(image_isi_c);
DECLARE_IMAGE(image_dsi_soft);
DECLARE_IMAGE(image_isi_soft);
DECLARE_IMAGE(image_dsi_asm);
DECLARE_IMAGE(image_isi_asm);
DECLARE_IMAGE(image_miss_instruction_c);
DECLARE_IMAGE(image_miss_load_c);
DECLARE_IMAGE(image_miss_store_c);
DECLARE_IMAGE(image_miss_instruction_bypass);
DECLARE_IMAGE(image_miss_load_bypass);
DECLARE_IMAGE(image_miss_store_bypass);
DECLARE_IMAGE(image_miss_instruction_emulate);
DECLARE_IMAGE(image_miss_load_emulate);
DECLARE_IMAGE(image_miss_store_emulate);
DECLARE_IMAGE(image_miss_instruction_bypass_withheld);
DECLARE_IMAGE(image_miss_instruction_emulate_withheld);
DECLARE_IMAGE(image_isi_withheld);
DECLARE_IMAGE(image_count_soft_data);
DECLARE_IMAGE(image_count_soft_instruction);

const struct reload_set *soft6xx_reload(enum reload_form form)
{
	static const struct reload_set in_c = SOFT6XX_NO_SEARCH(c, false), bypass = SOFT6XX_NO_SEARCH(bypass, true);
	/* A miss of the emulated hash table is handled as on a 604. */
	static const struct reload_set emulate = SOFT6XX_SEARCH(asm, emulate), inserts = SOFT6XX_SEARCH(c, emulate);

	/* A fetch that is refused goes on in C. */
	static const struct reload_set bypass_withheld = { .straight = true,
		.images = { SOFT6XX_MISSES_BY(bypass_withheld, bypass), SOFT6XX_FAULTS(soft) } };
	static const struct reload_set emulate_withheld = { .images = {
		{ 0x300, &image_dsi_asm, NULL }, { 0x400, &image_isi_withheld, NULL },
		SOFT6XX_MISSES_BY(emulate_withheld, emulate) } };
	static const struct reload_set inserts_withheld = { .images = {
		{ 0x300, &image_dsi_c, NULL }, { 0x400, &image_isi_withheld, NULL },
		SOFT6XX_MISSES_BY(emulate_withheld, emulate) } };

	if (form == RELOAD_C)
		return &in_c;
	if (soft_lookup == &soft_lookup_bypass)
		return fetch_withheld ? &bypass_withheld : &bypass;     /* nothing is inserted */
	if (fetch_withheld)
		return form == RELOAD_C_INSERTS ? &inserts_withheld : &emulate_withheld;
	return form == RELOAD_C_INSERTS ? &inserts : &emulate;
}

const struct ppc_backend soft6xx_backend = {
	.mmu = {
		.name = "soft6xx",
		.reload = "software reload",
		.memory_most = BAT_MEMORY_MOST,
		.init = hash_init,
		.proc_init = hash_proc_init,
		.activate = segments_activate,
		.page_flush = soft6xx_page_flush,
		.kernel_page_flush = soft6xx_kernel_page_flush,
		.flush_all = soft6xx_flush_all,
		.check = hash_tlb_check,
		.check_page = hash_tlb_check_page,
		.make_fault = hash_tlb_make_fault,
	},
	.software_reload = true,
	.hash = &hash32,
	.bats = true,
	.segments = true,
	.kernel_context = segments_kernel_context,
	.load_context = segments_load_context,
	.reload = soft6xx_reload,
	.withhold_fetch = exceptions_bind_withheld,
	.on_qemu = soft6xx_on_qemu,
};
