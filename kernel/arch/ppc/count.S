/*
 * Counting misses: images placed before the handlers' own at the vectors while /proc/tlbmiss counts
 * (image_install_before). They preserve all registers; their last word becomes the branch to the handler.
 */
#include <arch/asm.h>

/* Counts a miss of a kernel address, if \a is one. Uses CR0. */
.macro count_kernel a, b
	srwi	\a, \a, 30
	cmplwi	\a, KERNEL_BASE_ASM >> 30
	bne	1f
	count_at \a, \b, misses_of_kernel_pages + 4
1:
.endm

/* A miss of a 603: the image uses the shadow registers r1 and r2. The hardware has saved CR0 in SRR1. */
.macro soft_count name, miss, counts
image \name
	mfspr	r1, SPR_SRR1
	count_mode r1, r2, \counts
	mfspr	r1, \miss
	count_kernel r1, r2
	ba	0
end_image \name
.endm

	soft_count image_count_soft_instruction, SPR_IMISS, misses_instruction
	soft_count image_count_soft_data, SPR_DMISS, misses_data

/* 604, 750: a DSI or ISI is a hash-table miss if \reason says that no entry was found. */
.macro hash_count name, reason, address, counts
image \name
	mtspr	SPR_SPRG0, r10
	mtspr	SPR_SPRG1, r11
	mfcr	r10
	mfspr	r11, \reason
	andis.	r11, r11, DSISR_NO_PTE >> 16
	beq	2f
	mfspr	r11, SPR_SPRG3
	stw	r10, ARCH_SCRATCH(r11)
	stw	r9, ARCH_SCRATCH + 4(r11)
	mfspr	r9, SPR_SRR1
	count_mode r9, r10, \counts
	mfspr	r9, \address
	count_kernel r9, r10
	lwz	r10, ARCH_SCRATCH(r11)
	lwz	r9, ARCH_SCRATCH + 4(r11)
2:	mtcrf	0xff, r10
	mfspr	r10, SPR_SPRG0
	mfspr	r11, SPR_SPRG1
	ba	0
end_image \name
.endm

	hash_count image_count_hash_instruction, SPR_SRR1, SPR_SRR0, misses_instruction
	hash_count image_count_hash_data, SPR_DSISR, SPR_DAR, misses_data
