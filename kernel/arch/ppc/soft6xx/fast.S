/*
 * The 603's assembly reload (603e manual, 5.5.2): translation off, in the four swapped registers only. SRR1 has the
 * way to load and CR0. A missing translation becomes the DSI or ISI that other processors raise.
 *
 * bypass: directly from the tree, two loads. emulate: searches the hash table as the 604's hardware does, up to
 * sixteen loads; for a missing entry it enters the 604's handler (hash32/reload.S) as a DSI or ISI, which inserts it.
 *
 * Each has two variants: QEMU's 603 takes SRR1's upper half into the MSR at rfi, so one variant clears it.
 */
#include <arch/asm.h>

	.section .text.cause.reload, "ax"

/* Disables the shadow registers; the vector finds all registers as in the program. */
.macro leave_shadow srr1
	mfmsr	r0
	xoris	r0, r0, MSR_TGPR >> 16
	mtcrf	0x80, \srr1
	mtmsr	r0
	isync
.endm

FUNCTION(soft_fault_store)
	lis	r1, (DSISR_NO_PTE | DSISR_STORE) >> 16
	b	1f
END(soft_fault_store)
FUNCTION(soft_fault_load)
	lis	r1, DSISR_NO_PTE >> 16
1:	mfspr	r2, SPR_DMISS
	mfspr	r3, SPR_SRR1
	mtspr	SPR_DSISR, r1
	mtspr	SPR_DAR, r2
	clrlwi	r2, r3, 16
	mtspr	SPR_SRR1, r2
	leave_shadow r3
	ba	0x300
END(soft_fault_load)
FUNCTION(soft_fault_instruction)
	mfspr	r3, SPR_SRR1
	clrlwi	r2, r3, 16
	oris	r2, r2, DSISR_NO_PTE >> 16
	mtspr	SPR_SRR1, r2
	leave_shadow r3
	ba	0x400
END(soft_fault_instruction)

/* Loads r1 for the address in r3 and ends. */
.macro load_and_return load, qemu
	mtspr	SPR_RPA, r1
	mfspr	r0, SPR_SRR1
	mtcrf	0x80, r0
	\load	r3
	.if	\qemu
	clrlwi	r0, r0, 16
	mtspr	SPR_SRR1, r0
	.endif
	rfi
.endm

#define FETCH_WITHHELD 2

/*
 * Goes to `fault` unless the entry in r1 is valid and, for a store, writable. With FETCH_WITHHELD: unless it is valid,
 * and either the kernel fetches or PTE_FETCH lets programs fetch from the page.
 */
.macro check_rights store, fault
	.if	\store == FETCH_WITHHELD
	rlwinm	r2, r1, 3, 27, 27               /* whether a program accesses, at PTE_FETCH's place */
	andc	r2, r2, r1
	rlwinm	r0, r1, 28, 27, 27              /* PTE_VALID, as PTE_FETCH */
	andc.	r0, r0, r2
	beq	\fault
	.elseif	\store
	andi.	r0, r1, PTE_VALID | PTE_CHANGED
	cmplwi	r0, PTE_VALID | PTE_CHANGED
	bne	\fault
	.else
	andi.	r0, r1, PTE_VALID
	beq	\fault
	.endif
.endm

.macro bypass_image name, miss, load, store, fault, qemu
image \name
	mfspr	r3, \miss
	mfspr	r2, SPR_SPRG2
	rlwimi	r2, r3, 12, 20, 29
	lwz	r2, 0(r2)
	cmpwi	r2, 0
	rlwimi	r2, r3, 22, 20, 29
	beq	9f
	lwz	r1, 0(r2)
	check_rights \store, 9f
	load_and_return \load, \qemu
9:	ba	PHYS(\fault)
end_image \name
.endm

.macro emulate_image name, miss, compare, load, store, fault, qemu
image \name
	mfctr	r0
	mfspr	r2, SPR_HASH1
	mfspr	r3, \compare
	li	r1, HPTES_PER_GROUP
	mtctr	r1
	addi	r2, r2, -8
1:	lwzu	r1, 8(r2)
	cmplw	r1, r3
	bdnzf	eq, 1b
	beq	2f
	mfspr	r2, SPR_HASH2
	ori	r3, r3, HPTE_SECONDARY
	li	r1, HPTES_PER_GROUP
	mtctr	r1
	addi	r2, r2, -8
3:	lwzu	r1, 8(r2)
	cmplw	r1, r3
	bdnzf	eq, 3b
	bne	8f
2:	lwz	r1, 4(r2)
	mtctr	r0
	mfspr	r3, \miss
	check_rights \store, 9f
	load_and_return \load, \qemu
8:	mtctr	r0
9:	ba	PHYS(\fault)
end_image \name
.endm

	bypass_image image_miss_instruction_bypass, SPR_IMISS, tlbli, 0, soft_fault_instruction, 0
	bypass_image image_miss_load_bypass, SPR_DMISS, tlbld, 0, soft_fault_load, 0
	bypass_image image_miss_store_bypass, SPR_DMISS, tlbld, 1, soft_fault_store, 0
	bypass_image image_miss_instruction_bypass_withheld, SPR_IMISS, tlbli, FETCH_WITHHELD, soft_fault_instruction, 0
	bypass_image image_miss_instruction_bypass_qemu, SPR_IMISS, tlbli, 0, soft_fault_instruction, 1
	bypass_image image_miss_load_bypass_qemu, SPR_DMISS, tlbld, 0, soft_fault_load, 1
	bypass_image image_miss_store_bypass_qemu, SPR_DMISS, tlbld, 1, soft_fault_store, 1

	emulate_image image_miss_instruction_emulate, SPR_IMISS, SPR_ICMP, tlbli, 0, soft_fault_instruction, 0
	emulate_image image_miss_load_emulate, SPR_DMISS, SPR_DCMP, tlbld, 0, soft_fault_load, 0
	emulate_image image_miss_store_emulate, SPR_DMISS, SPR_DCMP, tlbld, 1, soft_fault_store, 0
	emulate_image image_miss_instruction_emulate_withheld, SPR_IMISS, SPR_ICMP, tlbli, FETCH_WITHHELD, \
		soft_fault_instruction, 0
	emulate_image image_miss_instruction_emulate_qemu, SPR_IMISS, SPR_ICMP, tlbli, 0, soft_fault_instruction, 1
	emulate_image image_miss_load_emulate_qemu, SPR_DMISS, SPR_DCMP, tlbld, 0, soft_fault_load, 1
	emulate_image image_miss_store_emulate_qemu, SPR_DMISS, SPR_DCMP, tlbld, 1, soft_fault_store, 1
