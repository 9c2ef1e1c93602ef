/*
 * The 604 and 750's hash misses (DSI and ISI with "no entry found").
 *
 * The plain form saves everything and lets C fill the hash table with translation on (hash32/backend.c). C cannot do
 * so for the kernel's own pages, because it would miss on them again without end. This code inserts those by physical
 * addresses, with the same saving before and the same restoring after.
 */
#include <arch/asm.h>

#include "insert.h"
#include "scratch.h"

	.section .text.cause.reload, "ax"

/* From the images below: r11 = frame (physical), r3 = a kernel address, r10 = trap. */
FUNCTION(hash_reload_kernel)
	stw	r10, FRAME_TRAP(r11)
	stmw	r13, GPR(13)(r11)
	save_ctr_xer
	hash_lock_take
	li	r4, PTE_VALID
	tree_look r4, 9f
	hash_insert_real hash_counted_kernel, hash_placed_kernel
	hash_lock_give
	mr	r1, r11
	lmw	r13, GPR(13)(r11)
	ba	PHYS(return_short)
9:	hash_lock_give
	lwz	r10, FRAME_TRAP(r11)
	cmpwi	r10, 0x300
	bne	1f
	load_address r12, exception_dsi
	b	enter_full
1:	load_address r12, exception_isi
	b	enter_full
END(hash_reload_kernel)

image image_dsi_c
	save_volatile
	mfspr	r3, SPR_DAR
	mfspr	r12, SPR_DSISR
	stw	r3, FRAME_DAR(r11)
	stw	r12, FRAME_DSISR(r11)
	andis.	r12, r12, DSISR_NO_PTE >> 16
	beq	2f
	lis	r12, KERNEL_BASE_ASM >> 16
	cmplw	r3, r12
	li	r10, 0x300
	blt	2f
	ba	PHYS(hash_reload_kernel)
2:	enter_c	0x300, exception_dsi
end_image image_dsi_c

.macro isi_image name, handler
image \name
	save_volatile
	mr	r3, r12                 /* SRR0 */
	stw	r9, FRAME_DSISR(r11)
	clrlwi	r12, r9, 16
	stw	r12, FRAME_MSR(r11)
	andis.	r12, r9, DSISR_NO_PTE >> 16
	beq	2f
	lis	r12, KERNEL_BASE_ASM >> 16
	cmplw	r3, r12
	li	r10, 0x400
	blt	2f
	ba	PHYS(hash_reload_kernel)
2:	enter_c	0x400, \handler
end_image \name
.endm

	isi_image image_isi_c, exception_isi
	isi_image image_isi_withheld, exception_isi_withheld

	.section .text.cause.reload, "ax"
/* CR0 and CR1 = the first byte of DSISR. */
FUNCTION(hash_reload_data)
	miss_begin
	mfspr	r3, SPR_DAR
	li	r4, PTE_VALID
	bf	DSISR_STORE_BIT, 1f
	li	r4, PTE_VALID | PTE_CHANGED
1:	tree_look r4, 9f
	miss_insert
	hash_insert_real hash_counted_data, hash_placed_data
	hash_lock_give
	restore_scratch
	rfi
9:	data_miss_failed
END(hash_reload_data)

FUNCTION(hash_reload_instruction)
	miss_begin
	mfspr	r3, SPR_SRR0
	li	r4, PTE_VALID
	tree_look r4, 9f
	miss_insert
	hash_insert_real hash_counted_instruction, hash_placed_instruction
	hash_lock_give
	restore_scratch
	rfi
9:	instruction_miss_failed
END(hash_reload_instruction)

	hash_count_insertion hash_counted_kernel
	hash_count_insertion hash_counted_data
	hash_count_insertion hash_counted_instruction
	/* Kernel pages are seldom flushed one by one, and then searched for, so they need no note. */
	hash_note_slot hash_placed_, data
	hash_note_slot hash_placed_, instruction

image image_dsi_asm
	save_for_vector
	mfspr	r3, SPR_DSISR
	mtcrf	0xc0, r3
	bf	DSISR_NO_PTE_BIT, 2f
	ba	PHYS(hash_reload_data)
2:	restore_from_vector
	data_fault
end_image image_dsi_asm

image image_isi_asm
	save_for_vector
	mfspr	r3, SPR_SRR1
	andis.	r3, r3, DSISR_NO_PTE >> 16
	beq	2f
	ba	PHYS(hash_reload_instruction)
2:	restore_from_vector
	instruction_fault
end_image image_isi_asm
