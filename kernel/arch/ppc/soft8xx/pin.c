/* Pinned entries of 8 MB in the MPC8xx's TLBs (MPC860 manual, 9.3: the last four of each, reserved by RSV4I). */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/reg8xx.h>
#include <arch/soft8xx.h>
#include <lib.h>

#include "../internal.h"

#define BLOCK      0x800000u
#define RESERVED   (TLB_ENTRIES_8XX - TLB_RESERVED)

struct entry {
	u32 epn, twc, rpn;
};

/* The reserved entries of the instruction TLB, then of the data TLB; 0: not valid. */
static struct entry pinned_entries[2 * RESERVED];

/* registers.S */
void soft8xx_pin(u32 table_pa, u32 mi_ctr, u32 md_ctr);

static void pin_block(struct entry *entry, vaddr_t virtual, paddr_t pa, u32 twc, u32 rpn)
{
	entry->epn = virtual | EPN_VALID;
	entry->twc = twc | TWC_VALID;
	entry->rpn = pa | rpn | RPN_CHANGED | RPN_SUBPAGES | RPN_LARGE | RPN_SHARED | RPN_VALID;
	pinned_loaded++;
}

void soft8xx_pin_kernel(u32 text, u32 data, bool io)
{
	struct entry *instruction = pinned_entries, *memory = &pinned_entries[text ? RESERVED : 0];
	u32 blocks = ALIGN_UP(boot.memory_size, BLOCK) / BLOCK;
	u32 msr = irq_save();

	memset(pinned_entries, 0, sizeof(pinned_entries));
	for (u32 i = 0; i < MIN(text, blocks); i++)
		pin_block(instruction++, KERNEL_BASE + i * BLOCK, i * BLOCK, TWC_8M, 0);
	for (u32 i = 0; i < MIN(data, blocks); i++)
		pin_block(memory++, KERNEL_BASE + i * BLOCK, i * BLOCK, TWC_8M, 0);
	if (io)
		pin_block(memory, IO_VIRTUAL, IO_PHYSICAL, TWC_512K | TWC_GUARDED, RPN_INHIBITED);
	soft8xx_pin(kva_pa(pinned_entries), text ? CTR_RSV4I : 0, CTR_TWAM | (data || io ? CTR_RSV4I : 0));
	irq_restore(msr);
}
