/*
 * The 970's hash misses: DSI and ISI with "no entry found". An exception begins in 64-bit mode; rfid goes back to the
 * mode of the interrupted code, or to C in 32-bit mode.
 *
 * Assembly inserts the kernel's own pages in every form: C would miss on them again without end.
 */
#include <arch/asm.h>

	.machine push
	.machine "power4"

#include "insert.h"
#include "low.h"

	.section .text.cause.reload, "ax"

/* kind: data, with CR0 and CR1 = the first byte of DSISR, or instruction. form: nothing, or _withheld. */
.macro reload64 kind, form
FUNCTION(hash64_reload_\kind\form)
	low_save_look
	miss_address r3, \kind
	li	r4, PTE_VALID
	.ifc	\kind, data
	bf	DSISR_STORE_BIT, 1f
	li	r4, PTE_VALID | PTE_CHANGED
	.endif
1:	tree_look r4, 9f, 1
	low_save_insert
	hash64_insert_real hash64_counted_\kind\form, hash64_placed_\kind\form, \form
	low_restore
	.long	RFID
9:	low_undo_look
	b	hash64_\kind\()_fault
END(hash64_reload_\kind\form)
.endm

	reload64 data
	reload64 instruction
	reload64 data, _withheld
	reload64 instruction, _withheld

	.irp	form, data, instruction, data_withheld, instruction_withheld
	hash_count_insertion hash64_counted_\form, 1
	.endr
	hash_note_slot hash64_placed_, data, , 1
	hash_note_slot hash64_placed_, instruction, , 1
	hash_note_slot hash64_placed_, data, _withheld, 1
	hash_note_slot hash64_placed_, instruction, _withheld, 1

/* To C. r10 = CR; the other registers are as low_undo_vector leaves them. */
FUNCTION(hash64_data_fault)
	save_volatile_rest
	enter_c_data exception_data_fault64
END(hash64_data_fault)

FUNCTION(hash64_instruction_fault)
	save_volatile_rest
	enter_c_fetch exception_instruction_fault64
END(hash64_instruction_fault)

/* The plain form of a program's page: saves everything and lets C look (hash64/backend.c). */
FUNCTION(hash64_data_c)
	low_undo_vector
	save_volatile_rest
	enter_c_data exception_dsi64
END(hash64_data_c)

FUNCTION(hash64_instruction_c)
	low_undo_vector
	save_volatile_rest
	enter_c_fetch exception_isi64
END(hash64_instruction_c)

/* Half as long as other vectors' images: 0x380 and 0x480 are those of segments. */
.macro vector64 name, kind, in_c, reload
image \name
	low_save_vector
	.ifc	\kind, data
	mfspr	r3, SPR_DSISR
	mtcrf	0xc0, r3
	bf	DSISR_NO_PTE_BIT, 2f
	.else
	mfspr	r3, SPR_SRR1
	andis.	r3, r3, DSISR_NO_PTE >> 16
	beq	2f
	.endif
	.if	\in_c
	miss_address r3, \kind
	srwi	r3, r3, 30
	cmplwi	cr2, r3, KERNEL_BASE_ASM >> 30
	bne	cr2, 2f
	.endif
	ba	PHYS(\reload)
2:
	.if	\in_c
	ba	PHYS(hash64_\kind\()_c)
	.else
	low_undo_vector
	ba	PHYS(hash64_\kind\()_fault)
	.endif
end_image \name, 128
.endm

	vector64 image_dsi64_c, data, 1, hash64_reload_data
	vector64 image_dsi64_asm, data, 0, hash64_reload_data
	vector64 image_dsi64_withheld, data, 0, hash64_reload_data_withheld
	vector64 image_isi64_c, instruction, 1, hash64_reload_instruction
	vector64 image_isi64_asm, instruction, 0, hash64_reload_instruction
	vector64 image_isi64_withheld, instruction, 0, hash64_reload_instruction_withheld

/* Counts misses before the handlers' own images, as count.S does for other processors. */
.macro count64 name, reason, address, counts
image \name
	std	r10, SAVED(0)(0)
	std	r9, SAVED(1)(0)
	std	r8, SAVED(2)(0)
	std	r7, SAVED(3)(0)
	mfcr	r7
	mfspr	r10, \reason
	andis.	r10, r10, DSISR_NO_PTE >> 16
	beq	2f
	mfspr	r9, SPR_SRR1
	count_mode r9, r10, \counts
	count_kernel_address r9, r10, r8, \address
2:	mtcrf	0xff, r7
	ld	r10, SAVED(0)(0)
	ld	r9, SAVED(1)(0)
	ld	r8, SAVED(2)(0)
	ld	r7, SAVED(3)(0)
	ba	0
end_image \name, 128
.endm

	count64 image_count64_data, SPR_DSISR, SPR_DAR, misses_data
	count64 image_count64_instruction, SPR_SRR1, SPR_SRR0, misses_instruction

	/* For the vectors of segment exceptions, which have room for no more than a branch. */
image image_segment64
	low_save_vector
	low_undo_vector
	ba	PHYS(segment64_unexpected)
end_image image_segment64, 128

	.section .text.cause.reload, "ax"
FUNCTION(segment64_unexpected)
	save_volatile_rest
	mfspr	r10, SPR_DAR
	stw	r10, FRAME_DAR(r11)
	enter_c_whole 0x380, exception_unexpected
END(segment64_unexpected)

	.machine pop
