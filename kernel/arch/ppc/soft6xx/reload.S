/*
 * The 603's table-search exceptions (603e manual, 5.5.2): instruction miss, data load miss, data store miss or C = 0.
 * Registers r0 to r3 are the shadow registers (MSR[TGPR]) when a vector begins.
 *
 * The plain form disables the shadow registers, saves everything and lets C look (soft6xx/backend.c). C cannot load
 * the kernel's own pages, because it would miss on them again without end. This code loads those with translation off,
 * with the same saving before and the same restoring after.
 */
#include <arch/asm.h>

#define MISS_INSTRUCTION 0x1000
#define MISS_LOAD        0x1100
#define MISS_STORE       0x1200

	.section .text.cause.reload, "ax"

/* From the images below: r11 = frame (physical), r3 = address, r9 = SRR1, r10 = compare register, r12 = trap. */
FUNCTION(soft_enter)
	stw	r9, FRAME_DSISR(r11)
	clrlwi	r9, r9, 16
	stw	r9, FRAME_MSR(r11)
	stw	r3, FRAME_DAR(r11)
	stw	r10, FRAME_ORIG_GPR3(r11)
	mr	r10, r12
	lis	r12, KERNEL_BASE_ASM >> 16
	cmplw	r3, r12
	bge	3f
	load_address r12, exception_soft_miss
	b	enter
3:	stw	r10, FRAME_TRAP(r11)
	stmw	r13, GPR(13)(r11)
	save_ctr_xer
	mfspr	r5, SPR_SPRG2
	rlwimi	r5, r3, 12, 20, 29
	lwz	r5, 0(r5)
	cmpwi	r5, 0
	beq	9f
	rlwimi	r5, r3, 22, 20, 29
	lwz	r6, 0(r5)
	andi.	r0, r6, PTE_VALID
	beq	9f
	mtspr	SPR_RPA, r6
	mr	r1, r11
	cmpwi	r10, MISS_INSTRUCTION
	beq	1f
	tlbld	r3
	b	2f
1:	tlbli	r3
2:	lmw	r13, GPR(13)(r11)
	ba	PHYS(return_short)
9:	load_address r12, exception_soft_miss
	b	enter_full
END(soft_enter)

/*
 * void soft_load_data(u32 address (r3), u32 pte (r4), u32 srr1 (r5), u32 compare (r6)): loads the TLB unless another
 * miss came in between, which changes the compare register. It accesses no memory and is in one page, so none can come
 * while it runs.
 */
	.balign	64
FUNCTION(soft_load_data)
	mfspr	r0, SPR_DCMP
	cmplw	r0, r6
	bnelr
	mtsrr1	r5
	mtspr	SPR_RPA, r4
	tlbld	r3
	blr
END(soft_load_data)

	.balign	64
FUNCTION(soft_load_instruction)
	mfspr	r0, SPR_ICMP
	cmplw	r0, r6
	bnelr
	mtsrr1	r5
	mtspr	SPR_RPA, r4
	tlbli	r3
	blr
END(soft_load_instruction)

/*
 * Loads what C prepared for the last miss (soft_prepared[slot] of struct cpu: address, compare register, pte, nothing;
 * for data, the next slot for odd pages), if that miss is repeated. SRR1's upper half is cleared before every rfi:
 * QEMU's 603 would take it into the MSR.
 */
.macro soft_vector_c trap, miss, compare, load, slot, by_page
	lis	r2, PHYS(cpus + CPU_SOFT_PREPARED + 16 * \slot)@ha
	mfspr	r3, \miss
	.if	\by_page
	rlwinm	r1, r3, 24, 27, 27      /* 16 where the page number is odd */
	add	r2, r2, r1
	.endif
	lwz	r0, PHYS(cpus + CPU_SOFT_PREPARED + 16 * \slot)@l(r2)
	cmplw	r0, r3
	beq	7f
6:	mfspr	r3, SPR_SRR1
	mfmsr	r0
	xoris	r0, r0, MSR_TGPR >> 16
	mtcrf	0x80, r3
	mtmsr	r0
	isync
	save_volatile
	mfspr	r3, \miss
	mfspr	r10, \compare
	li	r12, \trap
	ba	PHYS(soft_enter)
7:	lwz	r0, PHYS(cpus + CPU_SOFT_PREPARED + 16 * \slot + 4)@l(r2)
	mfspr	r1, \compare
	cmplw	r0, r1
	bne	6b
	lwz	r1, PHYS(cpus + CPU_SOFT_PREPARED + 16 * \slot + 8)@l(r2)
	ba	PHYS(\load)
.endm

	.section .text.cause.reload, "ax"
.macro soft_load_prepared name, load
FUNCTION(\name)
	mtspr	SPR_RPA, r1
	mfspr	r0, SPR_SRR1
	\load	r3
	mtcrf	0x80, r0
	clrlwi	r0, r0, 16
	mtspr	SPR_SRR1, r0
	rfi
END(\name)
.endm
	soft_load_prepared soft_load_prepared_data, tlbld
	soft_load_prepared soft_load_prepared_instruction, tlbli

image image_miss_instruction_c
	soft_vector_c MISS_INSTRUCTION, SPR_IMISS, SPR_ICMP, soft_load_prepared_instruction, 0, 0
end_image image_miss_instruction_c

image image_miss_load_c
	soft_vector_c MISS_LOAD, SPR_DMISS, SPR_DCMP, soft_load_prepared_data, 1, 1
end_image image_miss_load_c

image image_miss_store_c
	soft_vector_c MISS_STORE, SPR_DMISS, SPR_DCMP, soft_load_prepared_data, 3, 1
end_image image_miss_store_c

/* Faults that a loaded entry causes (protection), and page faults from the reload handlers. */
image image_dsi_soft
	save_volatile
	enter_c_data exception_data_fault
end_image image_dsi_soft

image image_isi_soft
	save_volatile
	enter_c_fetch exception_instruction_fault
end_image image_isi_soft
