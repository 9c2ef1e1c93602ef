/* The MPC8xx: software reloads both TLBs straight from the tree; an address space's number has four bits. */
#include <arch.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/reg8xx.h>
#include <arch/reload.h>
#include <arch/soft8xx.h>
#include <context.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>

#include "../internal.h"

/* registers.S */
void soft8xx_load_data(u32 epn, u32 twc, u32 rpn);
void soft8xx_load_instruction(u32 epn, u32 twc, u32 rpn);
void soft8xx_activate(u32 segment_base, u32 step);

void exception_soft8xx_miss(struct regs *regs);

DECLARE_IMAGE(image_emulation);

u32 soft8xx_rpn(u32 pte)
{
	return (pte & PTE_RPN) | (pte & PTE_PP) << 10 | RPN_SUBPAGES | (pte & PTE_CHANGED ? RPN_CHANGED : 0) |
	       (pte & PTE_UNCACHED ? RPN_INHIBITED : 0) | (pte & PTE_VALID ? RPN_VALID : 0);
}

/*
 * The plain form of a reload. Like the fast one it also loads what is not valid: the access comes again, and the TLB error
 * that it then makes knows whether it was a store.
 */
CAUSE(reload) void exception_soft8xx_miss(struct regs *regs)
{
	const struct root_entry *root = this_cpu()->mm ? this_cpu()->mm->root : kernel_root;
	u32 address = regs->dar;
	u32 epn = (address & PAGE_MASK) | EPN_VALID | (this_cpu()->mm ? this_cpu()->mm->context.number : 0);
	u32 twc = pagetable_slot(root, address)->word & ~PTE_RPN;
	u32 pte = pagetable_read(root, address);

	reloads_c++;
	if (regs->trap == 0x1100)
		soft8xx_load_instruction(epn, twc, soft8xx_rpn(pte));
	else
		soft8xx_load_data(epn, pte & PTE_GUARDED ? twc | TWC_GUARDED : twc, soft8xx_rpn(pte));
}

static void init(void)
{
	extern u32 segments_load_start[];

	context_limit = MIN(context_limit, (u32)ASIDS);
	image_install(0x1000, &image_emulation);
	code_divert(segments_load_start, (const u32 *)soft8xx_activate, 0);
}

/* Whatever the address space: tlbie compares addresses only. */
CAUSE(flush) static void page_flush(struct mm *mm, u32 vsid, u32 address)
{
	(void)mm;
	(void)vsid;
	tlb_invalidate_page(address);
}

/* What is pinned stays. */
static void flush_all(void)
{
	__asm__ volatile("tlbia; sync" : : : "memory");
}

/* The kernel's pages are in every address space. */
static void kernel_context(u32 segment_base, u32 step)
{
	(void)segment_base;
	(void)step;
}

const struct mmu_backend soft8xx_backend = {
	.name = "soft8xx",
	.software_reload = true,
	.memory_most = BOOT_BLOCKS_8XX * 0x800000u,
	.root_bits = TWC_VALID,
	.root_bits_kernel = TWC_VALID | TWC_GROUP_KERNEL,
	.init = init,
	.kernel_context = kernel_context,
	.page_flush = page_flush,
	.flush_all = flush_all,
	.check = soft8xx_check,
	.check_page = soft8xx_check_page,
};
