/* Loading a program's segment registers, at a switch of address space or for an aperture. */
#include <arch/asm.h>

	.section .text.cause.switch, "ax"

/*
 * void segments_load(u32 segment_base (r3), u32 step (r4)): loads registers 0 to 11 for the address space whose
 * segment 0 has this VSID; 12 to 15 are the kernel's. VSIDs are taken modulo 2^24.
 */
	.balign	32
FUNCTION(segments_load)
	lis	r5, SR_KEY_USER >> 16
	lis	r6, SR_KEY_USER >> 16
	rlwimi	r5, r3, 0, 8, 31
	add	r3, r3, r4
	/* The value of each register is made while the register before it is set. */
	.irp	segment, 0, 2, 4, 6, 8, 10
	rlwimi	r6, r3, 0, 8, 31
	add	r3, r3, r4
	mtsr	\segment, r5
	rlwimi	r5, r3, 0, 8, 31
	add	r3, r3, r4
	mtsr	\segment + 1, r6
	.endr
	isync
.globl segments_load_end                /* QEMU's 603 needs more than an isync: soft6xx/qemu.c patches this */
segments_load_end:
	blr
END(segments_load)

/* void segment_load(u32 address (r3), u32 value (r4)): the register of one segment. */
FUNCTION(segment_load)
	mtsrin	r4, r3
	isync
.globl segment_load_end                 /* as segments_load_end */
segment_load_end:
	blr
END(segment_load)

	.text
	.balign	32              /* within one page: no miss between mtsrr0 and rfi */
/* Replaces the blr: returns by rfi. */
FUNCTION(segments_load_rfi)
	mfmsr	r5
	mflr	r6
	mtsrr0	r6
	mtsrr1	r5
	rfi
END(segments_load_rfi)
