/*
 * The backend of the 970 in bridge mode: a kernel and programs of 32 bits on a 64-bit processor. Hardware searches the
 * hash table, software fills it. Segments are slots of the segment lookaside buffer, loaded by mtsr.
 */
#include <arch.h>
#include <arch/hash.h>
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

#include "../internal.h"
#include "hash64.h"

#define TLB_SETS_970 256u       /* 1024 entries in 4 ways (PowerPC 970 user's manual, 4.3) */

static bool ram_large = true;   /* pages of 16 MB map RAM, as at boot */

/* tlbiel: nobody else has a TLB. It removes whatever is in the set of the address, so that the VSID does not matter. */
static inline void tlb64_invalidate_page(vaddr_t address)
{
	__asm__ volatile(".machine push; .machine power4; tlbiel %0; ptesync; .machine pop" : : "r"(address) : "memory");
}

NOINLINE CAUSE(flush) static void tlb64_invalidate_all(void)
{
	for (vaddr_t ea = 0; ea < TLB_SETS_970 * PAGE_SIZE; ea += PAGE_SIZE)
		__asm__ volatile(".machine push; .machine power4; tlbiel %0; .machine pop" : : "r"(ea));
	__asm__ volatile(".machine push; .machine power4; ptesync; .machine pop" : : : "memory");
}

extern const struct place {
	vaddr_t start, end, back;
} copies64[], copies64_end[];

/*
 * Exceptions save 32 bits of a register, and a copy may be interrupted that has 64 in use. So the copy goes back to a
 * place where its registers hold only addresses and counts, and loads again what it had not stored yet.
 */
static inline void copy_go_back(struct regs *regs)
{
	if (regs_user(regs))
		return;
	for (const struct place *place = copies64; place < copies64_end; place++)
		if (regs->nip >= place->start && regs->nip < place->end)
			regs->nip = place->back;
}

/* The plain reload, with translation on and the registers saved. */
CAUSE(reload) static bool hash64_reload(vaddr_t address, u32 access)
{
	u32 pte = reload_entry(address, access);

	if (pte)
		hash64_insert(segment_vsid(address), address, pte, &hash_inserts);
	return pte;
}

CAUSE(fault) void exception_data_fault64(struct regs *regs)
{
	copy_go_back(regs);
	exception_data_fault(regs);
}

/* N is set: permission to fetch is withheld, or the memory is guarded. */
CAUSE(fault) void exception_instruction_fault64(struct regs *regs)
{
	if (regs->dsisr & ISI_GUARDED && fetch_withheld && regs_user(regs) && fetch_permit(current->mm, regs->nip))
		return;
	exception_instruction_fault(regs);
}

CAUSE(reload) void exception_dsi64(struct regs *regs)
{
	copy_go_back(regs);
	if (!(regs->dsisr & DSISR_NO_PTE) || !hash64_reload(regs->dar, regs->dsisr & DSISR_STORE ? MM_WRITE : MM_READ))
		exception_data_fault(regs);
}

CAUSE(reload) void exception_isi64(struct regs *regs)
{
	if (!(regs->dsisr & DSISR_NO_PTE) || !hash64_reload(regs->nip, MM_EXECUTE))
		exception_instruction_fault64(regs);
}

CAUSE(fault) static void page_preloaded(struct mm *mm, vaddr_t address, u32 pte)
{
	if (mm == this_cpu()->mm && pte & PTE_VALID)
		hash64_insert(context_vsid(mm, address), address, pte, &hash_preloads);
}

static bool is_inserted(u32 vsid, vaddr_t address)
{
	return hash64_find(vsid, address);
}

static void hash64_preload(enum hash_preload what, u32 pages)
{
	hash_preload_bind(what, pages, page_preloaded, is_inserted);
}

CAUSE(flush) static void hash64_page_flush(struct mm *mm, vaddr_t address)
{
	/* The TLB is reloaded only from the table. */
	if (hash64_remove(mm, context_vsid(mm, address), address))
		tlb64_invalidate_page(address);
}

CAUSE(flush) static void hash64_kernel_page_flush(vaddr_t address)
{
	hash64_remove_searching(NULL, segment_vsid(address), address);
	tlb64_invalidate_page(address);
}

static void hash64_flush_all(void)
{
	hash64_clear();
	tlb64_invalidate_all();
}

static void kernel_context(void)
{
	u32 msr = irq_save();

	hash64_load_kernel(ram_large, context_segment_base(CONTEXT_KERNEL), vsid_form.step);
	irq_restore(msr);
}

/* Maps RAM by bolted entries of 16 MB, or by pages of 4 KB. */
static void map_ram(bool large)
{
	if (large)
		hash64_bolt(true);
	ram_large = large;
	kernel_context();
	if (!large)
		hash64_bolt(false);
	tlb64_invalidate_all();
}

DECLARE_IMAGE(image_segment64);
DECLARE_IMAGE(image_dsi64_c);
DECLARE_IMAGE(image_isi64_c);
DECLARE_IMAGE(image_dsi64_asm);
DECLARE_IMAGE(image_isi64_asm);
DECLARE_IMAGE(image_dsi64_withheld);
DECLARE_IMAGE(image_isi64_withheld);
DECLARE_IMAGE(image_count64_data);
DECLARE_IMAGE(image_count64_instruction);

static const struct reload_set *hash64_images(enum reload_form form)
{
	static const struct reload_set in_c = { .images = {
		{ 0x300, &image_dsi64_c, &image_count64_data },
		{ 0x400, &image_isi64_c, &image_count64_instruction },
	} }, in_assembly = { .images = {
		{ 0x300, &image_dsi64_asm, &image_count64_data },
		{ 0x400, &image_isi64_asm, &image_count64_instruction },
	} }, withheld = { .images = {
		{ 0x300, &image_dsi64_withheld, &image_count64_data },
		{ 0x400, &image_isi64_withheld, &image_count64_instruction },
	} };

	return form == RELOAD_C ? &in_c : fetch_withheld ? &withheld : &in_assembly;
}

/* The images and the entries that are made from now on follow. */
static void withhold_fetch(void)
{
}

static void backend_init(void)
{
	image_install(0x380, &image_segment64);
	image_install(0x480, &image_segment64);
	arch_replace((const void *)tlb_invalidate_all, (const void *)tlb64_invalidate_all);
	arch_replace((const void *)segments_load, (const void *)segments64_load);
	arch_replace((const void *)segment_load, (const void *)segment64_load);
	hash64_init();
	/* The first access to I/O after kernel_context() misses. */
	reload_bind(RELOAD_C);
}

static const struct ppc_hash hash64_operations = {
	.least = HASH64_LEAST,
	.entry_size = HPTE64_SIZE,
	.shrink = hash64_shrink,
	.count = hash64_count,
	.note = hash64_note,
	.preload = hash64_preload,
	.sweep = hash64_sweep,
	.occupancy = hash64_occupancy,
};

const struct ppc_backend hash64_backend = {
	.mmu = {
		.name = "hash64",
		.reload = "hardware search",
		.memory_most = BAT_MEMORY_MOST,
		.init = backend_init,
		.proc_init = hash_proc_init,
		.activate = segments_activate,
		.page_flush = hash64_page_flush,
		.kernel_page_flush = hash64_kernel_page_flush,
		.flush_all = hash64_flush_all,
		.check = hash64_check,
		.check_page = hash64_check_page,
		.make_fault = hash64_make_fault,
	},
	.hash = &hash64_operations,
	.wide = true,
	.segments = true,
	.kernel_context = kernel_context,
	.load_context = segments_load_context,
	.reload = hash64_images,
	.withhold_fetch = withhold_fetch,
	.map_large = map_ram,
};
