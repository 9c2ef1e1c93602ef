/*
 * Copies a code image to its vector. Translation is off meanwhile, so that no TLB miss runs a vector that is half
 * written.
 */
#include <arch/asm.h>

	.text
	.balign	128             /* within one page: no miss between mtsrr0 and rfi */
/* void image_copy(u32 to (r3), u32 from (r4), u32 size (r5)): physical addresses; whole words; interrupts are off. */
FUNCTION(image_copy)
	mfmsr	r6
	translation_off r7
	srwi	r0, r5, 2
	mtctr	r0
	li	r9, 0
2:	lwzx	r0, r4, r9
	stwx	r0, r3, r9
	dcbst	r3, r9
	addi	r9, r9, 4
	bdnz	2b
	sync
	srwi	r0, r5, 2
	mtctr	r0
	li	r9, 0
3:	icbi	r3, r9
	addi	r9, r9, 4
	bdnz	3b
	sync
	isync
	mtsrr0	r7
	mtsrr1	r6
	exception_return
END(image_copy)
