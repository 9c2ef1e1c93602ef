/*
 * The PPC405 from the boot protocol to C. In place of BATs, entries of 16 MB map RAM and I/O until the tables exist
 * (policy pin then decides which stay). In: r0 = 0.
 */
#include <arch/asm.h>
#include <arch/reg405.h>

	.machine "405"
	.section .text.start, "ax"

FUNCTION(start_405)
	mtspr	SPR_EVPR, r0
	mtspr	SPR_TCR, r0
	mtspr	SPR_PID, r0
	/* Programs can read them. */
	mtspr	SPR_SPRG4, r0
	mtspr	SPR_SPRG5, r0
	mtspr	SPR_SPRG6, r0
	mtspr	SPR_SPRG7, r0
	tlbia
	isync
	load_word r4, ZONES
	mtspr	SPR_ZPR, r4

	/* dccci empties the lines of one index: there are at most as many indices as lines in 8 KB. */
	iccci	0, r0
	li	r5, 256
	mtctr	r5
	li	r4, 0
1:	dccci	0, r4
	addi	r4, r4, 32
	bdnz	1b
	lis	r4, CACHED_405 >> 16
	mtspr	SPR_ICCR, r4
	mtspr	SPR_DCCR, r4
	isync

	/* I/O at 0xf0000000, and the interrupt acknowledge at 0xfffff000 (bat.c). */
	li	r7, TLB_ENTRIES_405 - 1
	lis	r4, 0xf000
	ori	r4, r4, TLBHI_16M | TLBHI_VALID
	lis	r6, 0x8000
	ori	r6, r6, TLBLO_WRITE | TLBLO_INHIBITED | TLBLO_GUARDED
	tlbwe	r6, r7, 1
	tlbwe	r4, r7, 0
	addi	r7, r7, -1
	lis	r4, 0xff00
	ori	r4, r4, TLBHI_16M | TLBHI_VALID
	lis	r6, 0xbf00
	ori	r6, r6, TLBLO_WRITE | TLBLO_INHIBITED | TLBLO_GUARDED
	tlbwe	r6, r7, 1
	tlbwe	r4, r7, 0

	lis	r4, KERNEL_BASE_ASM >> 16
	ori	r4, r4, TLBHI_16M | TLBHI_VALID
	li	r6, TLBLO_EXECUTE | TLBLO_WRITE
	li	r5, BOOT_BLOCKS_405
	mtctr	r5
1:	addi	r7, r7, -1
	tlbwe	r6, r7, 1
	tlbwe	r4, r7, 0
	addis	r4, r4, 0x0100
	addis	r6, r6, 0x0100
	bdnz	1b
	b	start_common
END(start_405)
