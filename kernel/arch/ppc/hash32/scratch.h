/* What the assembly form of the reload saves, and the ways out of it. */
#ifndef HASH32_SCRATCH_H
#define HASH32_SCRATCH_H

/*
 * The assembly form: fills the table with translation off. It saves registers in the task's scratch words: two for the
 * vector, two more to look into the tree, which is all that a page fault needs, and five more to insert. SRR0 and SRR1
 * are not changed. From the vector on: r11 = the task's words, SPRG1 = the program's r11, r10 = CR.
 */
.macro save_for_vector
	mtspr	SPR_SPRG1, r11
	mfspr	r11, SPR_SPRG3
	stw	r10, ARCH_SCRATCH + 32(r11)
	stw	r3, ARCH_SCRATCH + 4(r11)
	mfcr	r10
.endm

/* Undoes save_for_vector, and puts r10 and r11 into SPRG0 and SPRG1, where save_volatile_rest expects them. */
.macro restore_from_vector
	lwz	r3, ARCH_SCRATCH + 32(r11)
	mtspr	SPR_SPRG0, r3
	lwz	r3, ARCH_SCRATCH + 4(r11)
.endm

.macro save_for_look
	stw	r4, ARCH_SCRATCH + 8(r11)
	stw	r6, ARCH_SCRATCH + 16(r11)
.endm

.macro restore_from_look
	restore_from_vector
	lwz	r4, ARCH_SCRATCH + 8(r11)
	lwz	r6, ARCH_SCRATCH + 16(r11)
.endm

.macro save_for_insert
	stw	r0, ARCH_SCRATCH(r11)
	stw	r5, ARCH_SCRATCH + 12(r11)
	stw	r7, ARCH_SCRATCH + 20(r11)
	stw	r8, ARCH_SCRATCH + 24(r11)
	stw	r9, ARCH_SCRATCH + 28(r11)
.endm

.macro restore_scratch
	lwz	r0, ARCH_SCRATCH(r11)
	lwz	r3, ARCH_SCRATCH + 4(r11)
	lwz	r4, ARCH_SCRATCH + 8(r11)
	lwz	r5, ARCH_SCRATCH + 12(r11)
	lwz	r6, ARCH_SCRATCH + 16(r11)
	lwz	r7, ARCH_SCRATCH + 20(r11)
	lwz	r8, ARCH_SCRATCH + 24(r11)
	lwz	r9, ARCH_SCRATCH + 28(r11)
	mtcrf	0xff, r10
	lwz	r10, ARCH_SCRATCH + 32(r11)
	mfspr	r11, SPR_SPRG1
.endm

/* To C: all registers but r10 and r11 are the program's; r10 = CR, r10 and r11 in SPRG0 and SPRG1. */
.macro data_fault
	save_volatile_rest
	enter_c_data exception_data_fault
.endm

.macro instruction_fault
	save_volatile_rest
	enter_c_fetch exception_instruction_fault
.endm

/*
 * The same after save_for_look, for a miss. In a program, the three registers that are free go from the scratch words
 * to the frame, and the handler gets DAR and DSISR in r4 and r5. In: r3 = DAR, r11 = the task's words.
 */
.macro data_miss_after_look
	mfspr	r4, SPR_SRR1
	lwz	r6, ARCH_FRAME(r11)
	mtcrf	0x08, r4
	bf	MSR_PR_BIT, 2f
	stw	r10, FRAME_CCR(r6)
	lwz	r10, ARCH_SCRATCH + 32(r11)
	stw	r4, FRAME_MSR(r6)
	mfspr	r4, SPR_SPRG1
	stw	r12, GPR(12)(r6)
	lwz	r12, ARCH_SCRATCH + 4(r11)
	stw	r10, GPR(10)(r6)
	lwz	r10, ARCH_SCRATCH + 8(r11)
	stw	r0, GPR(0)(r6)
	mflr	r0
	stw	r4, GPR(11)(r6)
	lwz	r4, ARCH_SCRATCH + 16(r11)
	stw	r9, GPR(9)(r6)
	mfspr	r9, SPR_SRR0
	stw	r1, GPR(1)(r6)
	stw	r1, 0(r6)
	stw	r5, GPR(5)(r6)
	mfspr	r5, SPR_DSISR
	stw	r2, GPR(2)(r6)
	lwz	r2, ARCH_TASK(r11)
	stw	r12, GPR(3)(r6)
	stw	r10, GPR(4)(r6)
	to_virt	r1, r6
	stw	r4, GPR(6)(r6)
	mr	r11, r6
	stw	r7, GPR(7)(r6)
	mfxer	r7
	stw	r3, FRAME_DAR(r6)
	mr	r4, r3
	stw	r8, GPR(8)(r6)
	mfctr	r3
	stw	r0, FRAME_LINK(r6)
	li	r10, 0x300
	stw	r9, FRAME_NIP(r6)
	load_address r12, exception_data_miss
	stw	r5, FRAME_DSISR(r6)
	b	enter_with_task
2:	restore_from_look
	data_fault
.endm

#endif
