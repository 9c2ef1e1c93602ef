/* Insertion into the 970's hash table by code that runs with translation off, in 64-bit mode. */
#ifndef HASH64_INSERT_H
#define HASH64_INSERT_H
#include <arch/reg970.h>

/* The tree's page table of the address in r3, or goes on at `fail`; r6 points to the root entry, then to the table. */
.macro tree64_table fail
	mfspr	r6, SPR_SPRG2
	rlwimi	r6, r3, 12, 20, 29              /* root entry */
	clrldi	r6, r6, 32                      /* C wrote SPRG2: its upper half may have anything */
	lwz	r6, 0(r6)
	cmpwi	r6, 0
	beq	\fail
	rlwimi	r6, r3, 22, 20, 29              /* page entry */
.endm

/* As tree_look of hash32/insert.h. In: r3 = address, `need` = bits. Out: r6 = entry. */
.macro tree64_look need, fail
	tree64_table \fail
	lwz	r6, 0(r6)
	andc.	\need, \need, r6
	bne	\fail
.endm

/*
 * Inserts an entry. In: r3 = address, r6 = entry. Uses r0, r3 to r9. As hash_insert_real of hash32/insert.h, but that
 * the slot of a bolted entry is passed over: it is the first of its group, and there is one in a group at most.
 *
 * withheld: a fetch from a program's page needs PTE_FETCH (policy icache.flush=exec).
 */
.macro hash64_insert_real counted, placed, withheld=0
	srwi	r7, r3, 28
	slbmfev	r7, r7                          /* the VSID, from the SLB's slot of this number */
	rlwinm	r8, r3, 20, 16, 31              /* page index */
	srdi	r9, r7, 12
	xor	r8, r8, r9                      /* hash */
	lwz	r4, LOW_MASK(0)
	lwz	r9, LOW_TABLE(0)
	rldicr	r7, r7, 0, 51                   /* dword 0: VSID, */
	rlwimi	r7, r3, 16, 20, 24              /* API, */
	ori	r7, r7, HPTE64_VALID            /* V */
	slwi	r8, r8, 7
	and	r8, r8, r4
	add	r5, r8, r9                      /* primary group */
	li	r0, PTE_NOTE
	andc	r6, r6, r0
	.if	\withheld
	rlwinm	r0, r6, 30, 29, 29              /* PTE_FETCH to the place of N */
	rlwinm	r6, r6, 0, 28, 26
	clrldi	r6, r6, 32
	xori	r0, r0, HPTE64_NO_FETCH
	lis	r9, KERNEL_BASE_ASM >> 16
	cmplw	r3, r9
	bge	6f
	or	r6, r6, r0
6:	lwz	r9, LOW_TABLE(0)
	.endif
	/* Use an empty slot of the primary group, */
	addi	r3, r5, 4 - HPTE64_SIZE
	.rept	HPTES_PER_GROUP
	lwzu	r0, HPTE64_SIZE(r3)
	andi.	r0, r0, HPTE64_VALID
	beq	8f
	.endr
	/* or of the secondary one, */
	xor	r8, r8, r4
	add	r8, r8, r9
	ori	r7, r7, HPTE64_SECONDARY
	addi	r3, r8, 4 - HPTE64_SIZE
	.rept	HPTES_PER_GROUP
	lwzu	r0, HPTE64_SIZE(r3)
	andi.	r0, r0, HPTE64_VALID
	beq	8f
	.endr
	/* else the next one in turn of the primary. */
	xori	r7, r7, HPTE64_SECONDARY
	lis	r9, PHYS(hash_next_slot)@ha
	lwz	r8, PHYS(hash_next_slot)@l(r9)
	rlwinm	r0, r8, 4, 25, 27
	add	r3, r5, r0
	addi	r8, r8, 1
	clrlwi	r8, r8, 29
	stw	r8, PHYS(hash_next_slot)@l(r9)
	count_at r9, r8, hash_evictions
	addi	r3, r3, 4
	lwz	r0, 0(r3)
	andi.	r0, r0, HPTE64_BOLTED
	beq	6f
	addi	r3, r3, HPTE64_SIZE
6:	li	r0, 0
	stw	r0, 0(r3)
	ptesync
8:	std	r6, 4(r3)
	.globl	\placed
\placed:
	eieio
	std	r7, -4(r3)
	.globl	\counted
\counted:
	ptesync
.endm

/* As hash_count_insertion of hash32/insert.h. */
.macro hash64_count_insertion counted
	.globl	\counted\()_on
\counted\()_on:
	ptesync
	lwz	r9, LOW_TABLE(0)
	subf	r5, r9, r5
	srwi	r5, r5, 5                       /* group * 4 */
	lis	r9, PHYS(hash_group_misses)@ha
	lwz	r9, PHYS(hash_group_misses)@l(r9)
	clrlwi	r9, r9, 2
	lwzx	r8, r9, r5
	addi	r8, r8, 1
	stwx	r8, r9, r5
	count_at r9, r8, hash_inserts + 4
	b	\counted + 4
.endm

/* As hash_note_slot of hash32/insert.h: r3 = the address of the slot's second word. Uses r0, r6, r8 and r9. */
.macro hash64_note_slot placed, source
	.globl	\placed\()_on
\placed\()_on:
	mfspr	r9, SPR_SPRG2
	mfspr	r8, \source
	rlwimi	r9, r8, 12, 20, 29
	clrldi	r9, r9, 32
	lwz	r9, 0(r9)
	rlwimi	r9, r8, 22, 20, 29
	lwz	r0, 0(r9)
	rlwimi	r0, r3, 5, 20, 22
	ori	r0, r0, PTE_HASHED
	stw	r0, 0(r9)
	eieio
	b	\placed + 4
.endm

#endif
