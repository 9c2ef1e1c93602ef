/*
 * The MPC8xx's TLB misses (MPC860 manual, 8.7 and 9.8). Hardware stores the address in Mx_EPN, and replaces the entry
 * that its counter selects when Mx_RPN is written. M_TWB has the address of the first level's entry, MD_TWC the
 * second's, so that a reload is two loads and no test: an unmapped page becomes an invalid entry, whose use is a TLB
 * error.
 */
#include <arch/asm.h>
#include <arch/reg8xx.h>

#define MISS_INSTRUCTION 0x1100
#define MISS_DATA        0x1200

/*
 * Makes the value of Mx_RPN from the tree's entry \pte, which has a hash-table entry's format: moves PP, C, I and R to
 * their places. In: \to = the first level's entry; its group says whether the page is the kernel's, which all address
 * spaces share (SH).
 */
.macro entry_to_rpn to, pte
	rlwinm	\to, \to, 29, 29, 29    /* group to SH */
	rlwimi	\to, \pte, 24, 31, 31   /* R to V */
	rlwimi	\to, \pte, 28, 30, 30   /* I to CI */
	rlwimi	\to, \pte, 1, 23, 23    /* C */
	rlwimi	\to, \pte, 10, 20, 21   /* PP */
	rlwimi	\to, \pte, 0, 0, 19
	ori	\to, \to, RPN_SUBPAGES
.endm

.macro load_data a, b
	mfspr	\a, SPR_M_TWB
	lwz	\b, 0(\a)
	mtspr	SPR_MD_TWC, \b
	mfspr	\a, SPR_MD_TWC
	lwz	\a, 0(\a)
	rlwimi	\b, \a, 1, 27, 27       /* G */
	mtspr	SPR_MD_TWC, \b
	entry_to_rpn \b, \a
	mtspr	SPR_MD_RPN, \b
.endm

/*
 * The walk uses the data TLB's registers, which need the address first. With a register `c`, the entry of a program's
 * page is valid only with PTE_FETCH.
 */
.macro load_instruction a, b, c
	mfspr	\a, SPR_SRR0
	mtspr	SPR_MD_EPN, \a
	mfspr	\a, SPR_M_TWB
	lwz	\b, 0(\a)
	mtspr	SPR_MI_TWC, \b
	mtspr	SPR_MD_TWC, \b
	mfspr	\a, SPR_MD_TWC
	lwz	\a, 0(\a)
	.ifnb	\c
	rlwinm	\c, \a, 3, 27, 27      /* whether a program accesses, at PTE_FETCH's place */
	andc	\c, \c, \a
	rlwinm	\c, \c, 4, 23, 23      /* refused, as PTE_VALID */
	andc	\a, \a, \c
	.endif
	entry_to_rpn \b, \a
	mtspr	SPR_MI_RPN, \b
.endm

image image_miss8_instruction_withheld
	mtspr	SPR_M_TW, r10
	mtspr	SPR_SPRG0, r11
	mtspr	SPR_SPRG1, r12
	load_instruction r10, r11, r12
	mfspr	r10, SPR_M_TW
	mfspr	r11, SPR_SPRG0
	mfspr	r12, SPR_SPRG1
	rfi
end_image image_miss8_instruction_withheld

.macro fast_image name, load
image \name
	mtspr	SPR_M_TW, r10
	mtspr	SPR_SPRG0, r11
	\load	r10, r11
	mfspr	r10, SPR_M_TW
	mfspr	r11, SPR_SPRG0
	rfi
end_image \name
.endm

	fast_image image_miss8_instruction_asm, load_instruction
	fast_image image_miss8_data_asm, load_data

	.section .text.cause.reload, "ax"

/*
 * The plain form saves everything and lets C look (soft8xx/backend.c). C cannot load the kernel's own pages, because
 * it would miss on them again without end. This code loads those, with the same saving before and the same restoring
 * after. In: r11 = frame (physical), r3 = address, r12 = trap.
 */
FUNCTION(soft8xx_enter)
	stw	r3, FRAME_DAR(r11)
	mr	r10, r12
	lis	r12, KERNEL_BASE_ASM >> 16
	cmplw	r3, r12
	bge	3f
	load_address r12, exception_soft8xx_miss
	b	enter
3:	save_ctr_xer
	mr	r1, r11
	cmpwi	r10, MISS_INSTRUCTION
	beq	1f
	load_data r5, r6
	b	return_short
1:	load_instruction r5, r6
	b	return_short
END(soft8xx_enter)

.macro vector_c name, trap, address
image \name
	save_volatile
	mfspr	r3, \address
	li	r12, \trap
	ba	PHYS(soft8xx_enter)
end_image \name
.endm

	vector_c image_miss8_instruction_c, MISS_INSTRUCTION, SPR_SRR0
	vector_c image_miss8_data_c, MISS_DATA, SPR_MD_EPN

/*
 * TLB errors: a page that is unmapped, or that forbids the access. Invalidate an invalid entry, or it keeps matching.
 * A valid one may be pinned, and stays.
 */
image image_error8_data
	save_volatile
	mfspr	r10, SPR_DAR
	mfspr	r12, SPR_DSISR
	andis.	r0, r12, ERROR_NOT_VALID >> 16
	beq	1f
	tlbie	r10
1:	stw	r10, FRAME_DAR(r11)
	stw	r12, FRAME_DSISR(r11)
	enter_c	0x300, exception_data_fault
end_image image_error8_data

image image_error8_instruction
	save_volatile
	mfspr	r10, SPR_SRR0
	andis.	r0, r9, ERROR_NOT_VALID >> 16
	beq	1f
	tlbie	r10
1:	enter_c_fetch exception_instruction_fault
end_image image_error8_instruction

/* Instructions that the processor leaves to software: all of floating point. */
image image_emulation
	save_volatile
	enter_c_whole 0x1000, exception_emulation
end_image image_emulation

/*
 * Runs before a handler's image and counts its miss: in user or kernel mode (MSR[PR]), and of a kernel address. count.S
 * does so for other processors. It uses no compare, because it cannot save the condition register.
 */
.macro count8 name, address, counts
image \name
	mtspr	SPR_M_TW, r10
	mtspr	SPR_SPRG0, r11
	mtspr	SPR_SPRG1, r12
	mfspr	r10, SPR_SRR1
	count_mode r10, r11, \counts
	count_kernel_address r10, r11, r12, \address
	mfspr	r10, SPR_M_TW
	mfspr	r11, SPR_SPRG0
	mfspr	r12, SPR_SPRG1
	ba	0
end_image \name
.endm

	count8 image_count8_instruction, SPR_SRR0, misses_instruction
	count8 image_count8_data, SPR_MD_EPN, misses_data
