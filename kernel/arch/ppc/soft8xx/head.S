/*
 * The MPC8xx from the boot protocol to C. In place of BATs, entries of 8 MB in both TLBs map RAM and I/O until the
 * tables exist (policy pin then decides which stay). In: r0 = 0.
 */
#include <arch/asm.h>
#include <arch/reg8xx.h>

#define BLOCK_RPN (RPN_CHANGED | RPN_SUBPAGES | RPN_LARGE | RPN_SHARED | RPN_VALID)

	.section .text.start, "ax"

/* Loads an entry of the data TLB: r4 = EPN, r5 = TWC, r6 = RPN. */
.macro load_data
	mtspr	SPR_MD_EPN, r4
	mtspr	SPR_MD_TWC, r5
	mtspr	SPR_MD_RPN, r6
.endm

FUNCTION(start_8xx)
	mtspr	SPR_MI_CTR, r0
	lis	r4, CTR_TWAM >> 16
	mtspr	SPR_MD_CTR, r4
	tlbia
	isync
	load_word r4, AP_BY_PAGE
	mtspr	SPR_MI_AP, r4
	mtspr	SPR_MD_AP, r4
	mtspr	SPR_M_CASID, r0

	lis	r4, KERNEL_BASE_ASM >> 16
	ori	r4, r4, EPN_VALID
	li	r5, TWC_8M | TWC_VALID
	li	r6, BLOCK_RPN
	mtspr	SPR_MI_EPN, r4
	mtspr	SPR_MI_TWC, r5
	mtspr	SPR_MI_RPN, r6
	li	r7, BOOT_BLOCKS_8XX
	mtctr	r7
1:	load_data
	addis	r4, r4, 0x0080
	addis	r6, r6, 0x0080
	bdnz	1b

	/* I/O at 0xf0000000, and the interrupt acknowledge at 0xfffff000 (bat.c). */
	li	r5, TWC_8M | TWC_GUARDED | TWC_VALID
	lis	r4, 0xf000
	ori	r4, r4, EPN_VALID
	lis	r6, 0x8000
	ori	r6, r6, BLOCK_RPN | RPN_INHIBITED
	load_data
	lis	r4, 0xff80
	ori	r4, r4, EPN_VALID
	lis	r6, 0xbf80
	ori	r6, r6, BLOCK_RPN | RPN_INHIBITED
	load_data

	.irp	command, CST_UNLOCK_ALL, CST_INVALIDATE_ALL, CST_ENABLE
	lis	r4, \command >> 16
	mtspr	SPR_IC_CST, r4
	mtspr	SPR_DC_CST, r4
	isync
	.endr
	b	start_common
END(start_8xx)
