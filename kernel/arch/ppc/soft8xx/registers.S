/*
 * Changing the MPC8xx's MMU registers for C. They are written with translation off (MPC860 manual, 9.8.1): a miss in
 * between would overwrite them.
 */
#include <arch/asm.h>
#include <arch/reg8xx.h>

/* r11 = MSR, r12 = the address to go back to. */
.macro translation_back
	mtsrr0	r12
	mtsrr1	r11
	rfi
.endm

	.section .text.cause.reload, "ax"

	.balign	128             /* all of it in one page, so that no TLB miss comes between mtsrr0 and rfi */
/* void soft8xx_load_data(u32 epn (r3), u32 twc (r4), u32 rpn (r5)): interrupts are off. */
FUNCTION(soft8xx_load_data)
	mfmsr	r11
	translation_off r12, r10, rfi
	mtspr	SPR_MD_EPN, r3
	mtspr	SPR_MD_TWC, r4
	mtspr	SPR_MD_RPN, r5
	translation_back
END(soft8xx_load_data)

	.balign	128
FUNCTION(soft8xx_load_instruction)
	mfmsr	r11
	translation_off r12, r10, rfi
	mtspr	SPR_MI_EPN, r3
	mtspr	SPR_MI_TWC, r4
	mtspr	SPR_MI_RPN, r5
	translation_back
END(soft8xx_load_instruction)

	.text

/*
 * Loads the four reserved entries of a TLB from the table at r3, which it advances; \control has Mx_CTR without the
 * index.
 */
.macro pin_side ctr, epn, twc, rpn, control
	mtspr	\ctr, \control
	andis.	r0, \control, CTR_RSV4I >> 16
	beq	2f
	li	r6, TLB_RESERVED << CTR_INDEX_SHIFT
	li	r0, TLB_ENTRIES_8XX - TLB_RESERVED
	mtctr	r0
1:	or	r0, r6, \control
	mtspr	\ctr, r0
	lwz	r7, 0(r3)
	lwz	r8, 4(r3)
	lwz	r9, 8(r3)
	mtspr	\epn, r7
	mtspr	\twc, r8
	mtspr	\rpn, r9
	addi	r3, r3, 12
	addi	r6, r6, 1 << CTR_INDEX_SHIFT
	bdnz	1b
	ori	r0, \control, (TLB_RESERVED - 1) << CTR_INDEX_SHIFT
	mtspr	\ctr, r0
2:
.endm

	.balign	256
/*
 * void soft8xx_pin(u32 table (r3), u32 mi_ctr (r4), u32 md_ctr (r5)): empties both TLBs, also of pinned entries. If a
 * control word reserves entries, loads them from the table (physical): EPN, TWC, RPN of each, first the four of the
 * instruction TLB.
 */
FUNCTION(soft8xx_pin)
	mfmsr	r11
	translation_off r12, r10, rfi
	li	r0, 0
	mtspr	SPR_MI_CTR, r0
	lis	r0, CTR_TWAM >> 16
	mtspr	SPR_MD_CTR, r0
	tlbia
	isync
	pin_side SPR_MI_CTR, SPR_MI_EPN, SPR_MI_TWC, SPR_MI_RPN, r4
	pin_side SPR_MD_CTR, SPR_MD_EPN, SPR_MD_TWC, SPR_MD_RPN, r5
	isync
	translation_back
END(soft8xx_pin)

/* Reads the entry with the index in r3: a write of Mx_CAM copies it to the three registers that can be read. */
.macro read_side ctr, cam
	mfspr	r6, \ctr
	rlwimi	r3, r6, 0, 0, 18
	mtspr	\ctr, r3
	mtspr	\cam, r3
	mfspr	r7, \cam
	mfspr	r8, \cam + 1
	mfspr	r9, \cam + 2
	mtspr	\ctr, r6
.endm

	.balign	128
/*
 * void soft8xx_read(u32 index (r3: in place), u32 instruction (r4), u32 out (r5)): stores CAM, RAM0, RAM1 to physical
 * memory.
 */
FUNCTION(soft8xx_read)
	mfmsr	r11
	translation_off r12, r10, rfi
	cmpwi	r4, 0
	bne	1f
	read_side SPR_MD_CTR, SPR_MD_CAM
	b	2f
1:	read_side SPR_MI_CTR, SPR_MI_CAM
2:	stw	r7, 0(r5)
	stw	r8, 4(r5)
	stw	r9, 8(r5)
	translation_back
END(soft8xx_read)
