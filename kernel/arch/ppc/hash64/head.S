/*
 * A 970 from the boot protocol to C. It has no BATs: until the tables exist, pages of 16 MB map RAM and I/O. Their
 * entries are in a hash table at physical 0. Only groups between the vectors and the kernel are ever searched
 * (reg970.h); the image has zeros for these.
 */
#include <arch/asm.h>
#include <arch/reg970.h>

	.machine push
	.machine "power4"
	.section .text.start970, "ax"

/* In: r0 = 0. */
FUNCTION(start_970)
	/* Replaces the instructions for which this processor needs another form (asm.h). */
	load_address r4, PHYS(forms64)
	load_address r5, PHYS(forms64_end)
1:	lwz	r6, 0(r4)
	lwz	r7, 4(r4)
	clrlwi	r6, r6, 2
	stw	r7, 0(r6)
	dcbst	0, r6
	sync
	icbi	0, r6
	addi	r4, r4, 8
	cmplw	r4, r5
	blt	1b
	sync
	isync

	mfspr	r4, SPR_HID4
	li	r5, HID4_RM_CI_HIGH
	sldi	r5, r5, 32
	ori	r5, r5, HID4_LARGE_OFF
	andc	r4, r4, r5
	sync
	mtspr	SPR_HID4, r4
	isync
	/* dcbz clears a line of 128 bytes: a program learns that from AT_DCACHEBSIZE. */
	mfspr	r4, SPR_HID5
	li	r5, HID5_DCBZ32
	andc	r4, r4, r5
	sync
	mtspr	SPR_HID5, r4
	isync
	mtspr	SPR_HIOR, r0

	/* One entry in each group: dword 0 in r7 for segment 12, r8 for 13; dword 1 in r6. */
	li	r4, BOOT_GROUPS
	li	r5, RAM_LARGE_MOST
	mtctr	r5
	li	r6, PTE_VALID | PTE_CHANGED
	lis	r7, RAM_VSID >> 16
	ori	r7, r7, RAM_VSID & 0xffff
	sldi	r7, r7, 12
	ori	r7, r7, HPTE64_BOLTED | HPTE64_LARGE | HPTE64_VALID
	li	r8, 0
2:	rlwimi	r7, r8, 8, 20, 23               /* the page within its segment */
	rlwimi	r7, r8, 12, 15, 15              /* the segment */
	std	r6, 8(r4)
	std	r7, 0(r4)
	addi	r4, r4, HPTES_PER_GROUP * HPTE64_SIZE
	addis	r6, r6, 1 << (LARGE_SHIFT - 16)
	addi	r8, r8, 1
	bdnz	2b
	/* I/O, beside the first of them. */
	li	r6, 1
	sldi	r6, r6, 31                      /* its physical address */
	ori	r6, r6, PTE_VALID | PTE_CHANGED | PTE_UNCACHED | PTE_GUARDED
	lis	r7, IO_BOOT_VSID >> 16
	ori	r7, r7, IO_BOOT_VSID & 0xffff
	sldi	r7, r7, 12
	ori	r7, r7, HPTE64_LARGE | HPTE64_VALID
	std	r6, BOOT_GROUPS + HPTE64_SIZE + 8(0)
	std	r7, BOOT_GROUPS + HPTE64_SIZE(0)
	ptesync
	mtspr	SPR_SDR1, r0

	slbia
	slbmte	r0, r0                          /* slot 0, which slbia leaves */
	.irp	slot, 12, 13, 15
	.if	\slot == 15
	lis	r6, IO_BOOT_VSID >> 16
	ori	r6, r6, IO_BOOT_VSID & 0xffff
	.else
	lis	r6, RAM_VSID >> 16
	ori	r6, r6, (RAM_VSID & 0xffff) + (\slot - 12) * 0x10
	.endif
	sldi	r6, r6, 12
	ori	r6, r6, SLB_KEY_USER | SLB_LARGE
	lis	r4, (\slot << 12) | (SLB_VALID >> 16)
	ori	r4, r4, \slot
	clrldi	r4, r4, 32
	slbmte	r6, r4
	.endr
	li	r4, 0
	li	r5, 256
	mtctr	r5
3:	tlbiel	r4
	addi	r4, r4, 0x1000
	bdnz	3b
	ptesync
	isync
	b	start_common
END(start_970)

	.machine pop
