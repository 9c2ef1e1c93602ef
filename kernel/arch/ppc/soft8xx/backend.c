/*
 * The backend of the MPC8xx: software reloads both TLBs directly from the tree; an address space has a number of four
 * bits.
 */
#include <arch.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/reg8xx.h>
#include <arch/reload.h>
#include <arch/soft8xx.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>
#include <procfs.h>

#include "../internal.h"

/* registers.S */
void soft8xx_load_data(u32 epn, u32 twc, u32 rpn);
void soft8xx_load_instruction(u32 epn, u32 twc, u32 rpn);

void exception_soft8xx_miss(struct regs *regs);

DECLARE_IMAGE(image_emulation);

/* The value of Mx_RPN for an entry of the tree, without the first level's bits. */
static u32 soft8xx_rpn(u32 pte)
{
	return (pte & PTE_RPN) | (pte & PTE_PP) << 10 | RPN_SUBPAGES | (pte & PTE_CHANGED ? RPN_CHANGED : 0) |
	       (pte & PTE_UNCACHED ? RPN_INHIBITED : 0) | (pte & PTE_VALID ? RPN_VALID : 0);
}

/*
 * The plain form of a reload. Like the fast one it also loads an invalid entry: the access is repeated, and its TLB
 * error tells whether it is a store.
 */
CAUSE(reload) void exception_soft8xx_miss(struct regs *regs)
{
	const struct root_entry *root = this_cpu()->mm ? this_cpu()->mm->root : kernel_root;
	vaddr_t address = regs->dar;
	u32 epn = (address & PAGE_MASK) | EPN_VALID | (this_cpu()->mm ? this_cpu()->mm->context.number : 0);
	u32 twc = pagetable_slot(root, address)->word & ~PTE_RPN;
	u32 pte = pagetable_read(root, address);

	reloads_c++;
	if (regs->trap == 0x1100 && fetch_withheld && !pte_fetchable(pte))
		pte &= ~(u32)PTE_VALID;
	if (regs->trap == 0x1100)
		soft8xx_load_instruction(epn, twc, soft8xx_rpn(pte));
	else
		soft8xx_load_data(epn, pte & PTE_GUARDED ? twc | TWC_GUARDED : twc, soft8xx_rpn(pte));
}

static void soft8xx_init(void)
{
	context_limit = MIN(context_limit, (u32)ASIDS);
	image_install(0x1000, &image_emulation);
}

/* tlbie compares addresses only, so this flushes the page in every address space. */
CAUSE(flush) static void soft8xx_page_flush(struct mm *mm, vaddr_t address)
{
	(void)mm;
	tlb_invalidate_page(address);
}

CAUSE(flush) static void soft8xx_kernel_page_flush(vaddr_t address)
{
	tlb_invalidate_page(address);
}

/* Keeps pinned entries. */
static void soft8xx_flush_all(void)
{
	__asm__ volatile("tlbia; sync" : : : "memory");
}

static inline void load_asid(const struct mm *mm)
{
	context_root(mm);
	__asm__ volatile("mtspr %0, %2; mtspr %1, %3; isync" : : "i"(SPR_M_TWB), "i"(SPR_M_CASID),
			 "r"(kva_pa(mm ? mm->root : kernel_root)),
			 "r"(mm ? mm->context.number : CONTEXT_KERNEL) : "memory");
}

static void load_context(const struct mm *mm)
{
	load_asid(mm);
}

CAUSE(switch) static void soft8xx_activate(struct mm *mm)
{
	context_enter(mm);
	load_asid(mm);
}

/* Kernel pages match in every address space, so there is nothing to load. */
static void kernel_context(void)
{
}

DECLARE_IMAGE(image_miss8_instruction_c);
DECLARE_IMAGE(image_miss8_data_c);
DECLARE_IMAGE(image_miss8_instruction_asm);
DECLARE_IMAGE(image_miss8_data_asm);
DECLARE_IMAGE(image_miss8_instruction_withheld);
DECLARE_IMAGE(image_error8_instruction);
DECLARE_IMAGE(image_error8_data);
DECLARE_IMAGE(image_count8_instruction);
DECLARE_IMAGE(image_count8_data);

static const struct reload_set *soft8xx_images(enum reload_form form)
{
	static const struct reload_set in_c = { .images = {
		{ 0x1100, &image_miss8_instruction_c, &image_count8_instruction },
		{ 0x1200, &image_miss8_data_c, &image_count8_data },
		{ 0x1300, &image_error8_instruction, NULL },
		{ 0x1400, &image_error8_data, NULL },
	} }, in_assembly = { .images = {
		{ 0x1100, &image_miss8_instruction_asm, &image_count8_instruction },
		{ 0x1200, &image_miss8_data_asm, &image_count8_data },
		{ 0x1300, &image_error8_instruction, NULL },
		{ 0x1400, &image_error8_data, NULL },
	} }, withheld = { .images = {
		{ 0x1100, &image_miss8_instruction_withheld, &image_count8_instruction },
		{ 0x1200, &image_miss8_data_asm, &image_count8_data },
		{ 0x1300, &image_error8_instruction, NULL },
		{ 0x1400, &image_error8_data, NULL },
	} };

	return form == RELOAD_C ? &in_c : fetch_withheld ? &withheld : &in_assembly;
}

static void tlb_proc_init(void)
{
	proc_file("mmu/tlb", soft8xx_show, soft8xx_empty);
}

const struct ppc_backend soft8xx_backend = {
	.mmu = {
		.name = "soft8xx",
		.reload = "software reload",
		.memory_most = BOOT_BLOCKS_8XX * 0x800000u,
		.root_bits = TWC_VALID,
		.root_bits_kernel = TWC_VALID | TWC_GROUP_KERNEL,
		.init = soft8xx_init,
		.proc_init = tlb_proc_init,
		.activate = soft8xx_activate,
		.page_flush = soft8xx_page_flush,
		.kernel_page_flush = soft8xx_kernel_page_flush,
		.flush_all = soft8xx_flush_all,
		.check = soft8xx_check,
		.check_page = soft8xx_check_page,
		.make_fault = tlb_make_fault,
	},
	.software_reload = true,
	.kernel_context = kernel_context,
	.load_context = load_context,
	.reload = soft8xx_images,
	.pin_kernel = soft8xx_pin_kernel,
	.withhold_fetch = exceptions_bind_withheld,
};
