/* What insertion into a hash table by assembly shares. wide: on a 970, in 64-bit mode. Translation is off. */
#ifndef ARCH_HASH_INSERT_H
#define ARCH_HASH_INSERT_H
#include <arch/reg970.h>

/* The address of a miss. kind: data or instruction. */
.macro miss_address register, kind
	.ifc	\kind, data
	mfspr	\register, SPR_DAR
	.else
	mfspr	\register, SPR_SRR0
	.endif
.endm

/*
 * Reads the tree's entry for an address. In: r3 = address, `need` = bits that the entry must have, which it destroys.
 * Out: r6 = entry. Goes to `fail` if the tree lacks the page or the permission.
 */
.macro tree_look need, fail, wide=0
	mfspr	r6, SPR_SPRG2
	rlwimi	r6, r3, 12, 20, 29      /* root entry */
	.if	\wide
	clrldi	r6, r6, 32              /* C wrote SPRG2: its upper half may have anything */
	.endif
	lwz	r6, 0(r6)
	cmpwi	r6, 0
	beq	\fail
	rlwimi	r6, r3, 22, 20, 29      /* page entry */
	lwz	r6, 0(r6)
	andc.	\need, \need, r6
	bne	\fail
.endm

/*
 * Counts an insertion, in total and by group, and continues behind `counted`. r4 and r5 are as hash_insert_real or
 * hash64_insert_real left them.
 */
.macro hash_count_insertion counted, wide=0
	.globl	\counted\()_on
\counted\()_on:
	.if	\wide
	ptesync
	lwz	r9, LOW_TABLE(0)
	subf	r5, r9, r5
	srwi	r5, r5, 5               /* group * 4 */
	.else
	sync
	and	r5, r5, r4
	srwi	r5, r5, 4               /* group * 4 */
	.endif
	lis	r9, PHYS(hash_group_misses)@ha
	lwz	r9, PHYS(hash_group_misses)@l(r9)
	.if	\wide
	clrlwi	r9, r9, 2
	.else
	to_phys	r9, r9
	.endif
	lwzx	r8, r9, r5
	addi	r8, r8, 1
	stwx	r8, r9, r5
	count_at r9, r8, hash_inserts + 4
	b	\counted + 4
.endm

/*
 * Notes in the tree's entry that the hash table has it, and the number of its slot, from r3 = the slot's address.
 * Continues behind the label that `placed`, `kind` and `form` make; uses r0, r8 and r9.
 */
.macro hash_note_slot placed, kind, form, wide=0
	.globl	\placed\kind\form\()_on
\placed\kind\form\()_on:
	mfspr	r9, SPR_SPRG2
	miss_address r8, \kind
	rlwimi	r9, r8, 12, 20, 29
	.if	\wide
	clrldi	r9, r9, 32
	.endif
	lwz	r9, 0(r9)
	rlwimi	r9, r8, 22, 20, 29
	lwz	r0, 0(r9)
	rlwimi	r0, r3, 6 - \wide, 20, 22      /* an entry has 8 bytes, a wide one 16 */
	ori	r0, r0, PTE_HASHED
	stw	r0, 0(r9)
	eieio
	b	\placed\kind\form + 4
.endm

#endif
