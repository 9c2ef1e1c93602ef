/*
 * Segments of a 970 in bridge mode: mtsr writes the slot of the segment lookaside buffer that has the segment's number.
 * It leaves the translations alone that were made from the slot before, so that slbie comes first.
 */
#include <arch/asm.h>
#include <arch/reg970.h>

	.machine push
	.machine "power4"
	.section .text.cause.switch, "ax"

/* void segments64_load(u32 segment_base (r3), u32 step (r4)): as segments_load. */
FUNCTION(segments64_load)
	lis	r5, SR_KEY_USER >> 16
	li	r7, 0
	isync
	.irp	segment, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	rlwimi	r5, r3, 0, 8, 31
	slbie	r7
	add	r3, r3, r4
	mtsr	\segment, r5
	addis	r7, r7, 0x1000
	.endr
	isync
	blr
END(segments64_load)

/* void segment64_load(u32 address (r3), u32 value (r4)): as segment_load. */
FUNCTION(segment64_load)
	rlwinm	r5, r3, 0, 0, 3
	isync
	slbie	r5
	mtsrin	r4, r3
	isync
	blr
END(segment64_load)

	.text
	.balign	64              /* within one page */
/* void hash64_load_table(u32 table_pa (r3), u32 mask (r4), u32 size (r5)): with translation off. */
FUNCTION(hash64_load_table)
	mfmsr	r10
	translation_off r11, r8, .long RFID
	stw	r3, LOW_TABLE(0)
	stw	r4, LOW_MASK(0)
	clrldi	r3, r3, 32
	or	r3, r3, r5
	clrldi	r3, r3, 32
	ptesync
	mtspr	SPR_SDR1, r3
	isync
	mtsrr0	r11
	mtsrr1	r10
	.long	RFID
END(hash64_load_table)

	.balign	256             /* within one page: no miss between mtsrr0 and rfid */
/*
 * void hash64_load_kernel(bool large (r3), u32 segment_base (r4), u32 step (r5)): the kernel's own segments, with
 * translation off. large: pages of 16 MB map RAM.
 */
FUNCTION(hash64_load_kernel)
	mfmsr	r10
	translation_off r11, r8, .long RFID
	slwi	r6, r5, 3
	slwi	r7, r5, 2
	add	r6, r6, r7
	add	r4, r4, r6              /* segment 12 */
	lis	r6, SR_KEY_USER >> 16
	cmpwi	r3, 0
	.irp	slot, 12, 13, 14, 15
	lis	r9, \slot << 12
	clrldi	r9, r9, 32
	slbie	r9
	.if	\slot < 14
	beq	2f
	lis	r8, RAM_VSID >> 16
	ori	r8, r8, (RAM_VSID & 0xffff) + (\slot - 12) * 0x10
	sldi	r8, r8, 12
	ori	r8, r8, SLB_KEY_USER | SLB_LARGE
	oris	r9, r9, SLB_VALID >> 16
	ori	r9, r9, \slot
	slbmte	r8, r9
	b	3f
	.endif
2:	rlwimi	r6, r4, 0, 8, 31
	mtsr	\slot, r6
3:	add	r4, r4, r5
	.endr
	isync
	mtsrr0	r11
	mtsrr1	r10
	.long	RFID
END(hash64_load_kernel)

	.machine pop
