/*
 * The PPC405's TLB misses (PPC405 manual, 7.4). Hardware has DEAR, or SRR0 for a fetch, and ESR[DST] for a store; it
 * chooses no entry. Software replaces the entries in turn, from below the pinned ones downwards, as Linux does.
 */
#include <arch/asm.h>
#include <arch/reg405.h>

#define MISS_DATA        0x1100
#define MISS_INSTRUCTION 0x1200

	.machine "405"

/* The tree's entry of \address in \to; goes on at \none if no page is there. \scratch: not r0. */
.macro find_entry to, address, scratch, none
	mfspr	\to, SPR_SPRG2
	rlwimi	\to, \address, 12, 20, 29
	lwz	\to, 0(\to)
	rlwinm.	\to, \to, 0, 0, 19
	beq	\none
	rlwimi	\to, \address, 22, 20, 29
	lwz	\to, 0(\to)
	andi.	\scratch, \to, PTE_VALID
	beq	\none
.endm

/*
 * Makes the second word of a TLB entry from the tree's entry \pte, which has a hash-table entry's format: moves W, I,
 * M, G, C and the upper bit of PP to their places. EX is the tree's bit if permission to fetch is withheld (policy
 * icache.flush=exec), or always set.
 */
.macro entry_to_low to, pte, withheld
	rlwinm	\to, \pte, 29, 28, 31           /* W, I, M, G */
	rlwimi	\to, \pte, 1, 23, 23            /* C to WR */
	rlwimi	\to, \pte, 3, 27, 27            /* PP to the zone */
	rlwimi	\to, \pte, 0, 0, 19
	.if	\withheld
	rlwimi	\to, \pte, 5, 22, 22
	.else
	ori	\to, \to, TLBLO_EXECUTE
	.endif
.endm

/* The entry to replace in \index. Uses CR0. */
.macro next_entry index, scratch
	lis	\scratch, PHYS(soft405_next)@ha
	lwz	\index, PHYS(soft405_next)@l(\scratch)
	addi	\index, \index, -1             /* not addic, which changes XER */
	cmpwi	\index, 0
	bge	1f
	lis	\index, PHYS(soft405_limit)@ha
	lwz	\index, PHYS(soft405_limit)@l(\index)
	addi	\index, \index, -1
1:	stw	\index, PHYS(soft405_next)@l(\scratch)
.endm

/* Writes an entry for every address space. Destroys \low. */
.macro write_kernel_entry address, low, scratch, index
	tlbwe	\low, \index, 1
	mfspr	\scratch, SPR_PID
	li	\low, 0
	mtspr	SPR_PID, \low
	tlbwe	\address, \index, 0
	mtspr	SPR_PID, \scratch
.endm

/*
 * Loads the entry of the page at \address, which it destroys: \low has the second word. Uses CR0 and CR1. A page of the
 * kernel is loaded by \kernel, if there is one.
 */
.macro load_entry address, low, scratch, index, kernel
	lis	\scratch, KERNEL_BASE_ASM >> 16
	cmplw	cr1, \address, \scratch
	lis	\scratch, PHYS(soft405_next)@ha
	lwz	\index, PHYS(soft405_next)@l(\scratch)
	rlwinm	\address, \address, 0, 0, 19
	addi	\index, \index, -1
	cmpwi	\index, 0
	ori	\address, \address, TLBHI_4K | TLBHI_VALID
	bge	1f
	lis	\index, PHYS(soft405_limit)@ha
	lwz	\index, PHYS(soft405_limit)@l(\index)
	addi	\index, \index, -1
1:	stw	\index, PHYS(soft405_next)@l(\scratch)
	bge	cr1, 2f
	tlbwe	\low, \index, 1
	tlbwe	\address, \index, 0
	b	3f
	.ifnb	\kernel
2:	ba	PHYS(\kernel)
	.else
	/* A page of the kernel is in every address space. */
2:	ori	\low, \low, TLBLO_EXECUTE
	write_kernel_entry \address, \low, \scratch, \index
	.endif
3:
.endm

/* Makes both words for the block of 16 MB of RAM that \address is in. */
.macro large_entry address, low
	rlwinm	\address, \address, 0, 0, 7
	addis	\low, \address, 0x10000 - (KERNEL_BASE_ASM >> 16)
	ori	\address, \address, TLBHI_16M | TLBHI_VALID
	ori	\low, \low, TLBLO_EXECUTE | TLBLO_WRITE
.endm

.macro free_registers
	lwz	r11, KEPT_CR(0)
	lwz	r9, KEPT_R9(0)
	lwz	r12, KEPT_R12(0)
	mfspr	r10, SPR_SPRG0
	mtcrf	0xff, r11
	mfspr	r11, SPR_SPRG1
.endm

.macro fast_image name, source, fault, withheld, kernel
image \name
	mtspr	SPR_SPRG0, r10
	mtspr	SPR_SPRG1, r11
	stw	r12, KEPT_R12(0)
	mfcr	r11
	stw	r9, KEPT_R9(0)
	mfspr	r10, \source
	stw	r11, KEPT_CR(0)
	find_entry r12, r10, r9, 9f
	entry_to_low r9, r12, \withheld
	load_entry r10, r9, r11, r12, \kernel
	free_registers
	rfi
9:	free_registers
	ba	PHYS(\fault)
end_image \name
.endm

	fast_image image_miss405_data_asm, SPR_DEAR, soft405_data_fault, 0
	fast_image image_miss405_instruction_asm, SPR_SRR0, soft405_instruction_fault, 0
	fast_image image_miss405_data_withheld, SPR_DEAR, soft405_data_fault, 1
	fast_image image_miss405_instruction_withheld, SPR_SRR0, soft405_instruction_fault, 1
	fast_image image_miss405_data_asm_large, SPR_DEAR, soft405_data_fault, 0, soft405_load_kernel
	fast_image image_miss405_instruction_asm_large, SPR_SRR0, soft405_instruction_fault, 0, soft405_load_kernel
	fast_image image_miss405_data_withheld_large, SPR_DEAR, soft405_data_fault, 1, soft405_load_kernel
	fast_image image_miss405_instruction_withheld_large, SPR_SRR0, soft405_instruction_fault, 1, soft405_load_kernel

	.section .text.cause.reload, "ax"

/* kernel.map=large. From the images: r10, r9 = the words of a 4 KB entry, r12 = its number. */
FUNCTION(soft405_load_kernel)
	lis	r11, PHYS(soft405_large_end)@ha
	lwz	r11, PHYS(soft405_large_end)@l(r11)
	ori	r9, r9, TLBLO_EXECUTE
	cmplw	r10, r11
	bge	1f
	large_entry r10, r9
1:	write_kernel_entry r10, r9, r11, r12
	free_registers
	rfi
END(soft405_load_kernel)

/* A page that the tree does not have. */
FUNCTION(soft405_data_fault)
	save_volatile
	mfspr	r10, SPR_DEAR
	mfspr	r12, SPR_ESR
	stw	r10, FRAME_DAR(r11)
	rlwinm	r12, r12, 2, 6, 6               /* ESR[DST] to DSISR's store */
	oris	r12, r12, DSISR_NO_PTE >> 16
	stw	r12, FRAME_DSISR(r11)
	enter_c	0x300, exception_data_fault
END(soft405_data_fault)

FUNCTION(soft405_instruction_fault)
	save_volatile
	lis	r12, DSISR_NO_PTE >> 16
	stw	r12, FRAME_DSISR(r11)
	enter_c	0x400, exception_instruction_fault
END(soft405_instruction_fault)

/*
 * The plain form saves everything and lets C look (soft405/backend.c). C cannot load the kernel's own pages, because
 * it would miss on them again without end. This code loads those, with the same saving before and the same restoring
 * after. In: r11 = frame (physical), r3 = address, r12 = trap.
 */
FUNCTION(soft405_enter)
	mfspr	r5, SPR_ESR
	stw	r3, FRAME_DAR(r11)
	mr	r10, r12
	rlwinm	r5, r5, 2, 6, 6
	lis	r12, KERNEL_BASE_ASM >> 16
	oris	r5, r5, DSISR_NO_PTE >> 16
	cmplw	r3, r12
	stw	r5, FRAME_DSISR(r11)
	bge	4f
	load_address r12, exception_soft405_miss
	b	enter
4:	save_ctr_xer
	find_entry r6, r3, r5, 9f
	entry_to_low r7, r6, 0
	load_entry r3, r7, r5, r6
	mr	r1, r11
	b	return_short
9:	load_address r12, exception_soft405_miss
	b	enter
END(soft405_enter)

/* kernel.map=large: as soft405_enter, with blocks of RAM. */
FUNCTION(soft405_enter_large)
	lis	r5, KERNEL_BASE_ASM >> 16
	lis	r6, PHYS(soft405_large_end)@ha
	lwz	r6, PHYS(soft405_large_end)@l(r6)
	cmplw	r3, r5
	cmplw	cr1, r3, r6
	blt	soft405_enter
	bge	cr1, soft405_enter
	save_ctr_xer
	next_entry r6, r5
	large_entry r3, r7
	write_kernel_entry r3, r7, r5, r6
	mr	r1, r11
	b	return_short
END(soft405_enter_large)

.macro vector_c name, trap, address, enter=soft405_enter
image \name
	save_volatile
	mfspr	r3, \address
	li	r12, \trap
	ba	PHYS(\enter)
end_image \name
.endm

	vector_c image_miss405_data_c, MISS_DATA, SPR_DEAR
	vector_c image_miss405_instruction_c, MISS_INSTRUCTION, SPR_SRR0
	vector_c image_miss405_data_c_large, MISS_DATA, SPR_DEAR, soft405_enter_large
	vector_c image_miss405_instruction_c_large, MISS_INSTRUCTION, SPR_SRR0, soft405_enter_large

/*
 * Runs before a handler's image and counts its miss: in user or kernel mode (MSR[PR]), and of a kernel address. count.S
 * does so for other processors. It uses no compare, because it does not save the condition register.
 */
.macro count405 name, address, counts
image \name
	mtspr	SPR_SPRG0, r10
	mtspr	SPR_SPRG1, r11
	stw	r12, KEPT_R12(0)
	mfspr	r10, SPR_SRR1
	count_mode r10, r11, \counts
	count_kernel_address r10, r11, r12, \address
	mfspr	r10, SPR_SPRG0
	mfspr	r11, SPR_SPRG1
	lwz	r12, KEPT_R12(0)
	ba	0
end_image \name
.endm

	count405 image_count405_data, SPR_DEAR, misses_data
	count405 image_count405_instruction, SPR_SRR0, misses_instruction
