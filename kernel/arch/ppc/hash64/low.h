/*
 * What the 970's handlers save, with translation off: all 64 bits of a register, because a copy of the kernel's may be
 * interrupted that uses them (copy.S). The save area is in low memory, which an instruction reaches without a base
 * register; there is one processor.
 */
#ifndef HASH64_LOW_H
#define HASH64_LOW_H
#include <arch/reg970.h>

#define SAVED(n) (LOW_SAVE + 8 * (n))

/* For a vector: r3 and r10 are free, and r10 = CR. */
.macro low_save_vector
	std	r10, SAVED(0)(0)
	std	r3, SAVED(1)(0)
	mfcr	r10
.endm

/* For a look into the tree. */
.macro low_save_look
	std	r4, SAVED(2)(0)
	std	r6, SAVED(3)(0)
.endm

/* For an insertion. */
.macro low_save_insert
	std	r0, SAVED(4)(0)
	std	r5, SAVED(5)(0)
	std	r7, SAVED(6)(0)
	std	r8, SAVED(7)(0)
	std	r9, SAVED(8)(0)
.endm

.macro low_restore
	ld	r0, SAVED(4)(0)
	ld	r3, SAVED(1)(0)
	ld	r4, SAVED(2)(0)
	ld	r5, SAVED(5)(0)
	ld	r6, SAVED(3)(0)
	ld	r7, SAVED(6)(0)
	ld	r8, SAVED(7)(0)
	ld	r9, SAVED(8)(0)
	mtcrf	0xff, r10
	ld	r10, SAVED(0)(0)
.endm

/* Undoes low_save_vector, and leaves r10 and r11 where save_volatile_rest expects them. */
.macro low_undo_vector
	mtspr	SPR_SPRG1, r11
	ld	r3, SAVED(0)(0)
	mtspr	SPR_SPRG0, r3
	ld	r3, SAVED(1)(0)
.endm

.macro low_undo_look
	ld	r4, SAVED(2)(0)
	ld	r6, SAVED(3)(0)
	low_undo_vector
.endm

#endif
