/* Insertion into the hash table by code that runs with translation off. */
#ifndef HASH32_INSERT_H
#define HASH32_INSERT_H
#include <arch/hash_lock.h>

/*
 * Reads the tree's entry for an address. Translation is off. In: r3 = address, `need` = bits that the entry must have,
 * which it destroys. Out: r6 = entry. Goes to `fail` if the tree lacks the page or the permission.
 */
.macro tree_look need, fail
	mfspr	r6, SPR_SPRG2
	rlwimi	r6, r3, 12, 20, 29      /* root entry */
	lwz	r6, 0(r6)
	cmpwi	r6, 0
	beq	\fail
	rlwimi	r6, r3, 22, 20, 29      /* page entry */
	lwz	r6, 0(r6)
	andc.	\need, \need, r6
	bne	\fail
.endm

/*
 * Inserts an entry into the hash table. Translation is off. In: r3 = address, r6 = entry. Uses r0, r3 to r9.
 *
 * hash_count() patches the last instruction, at `counted`, to a branch to hash_count_insertion's code; hash_note()
 * patches the instruction at `placed`, to a branch to hash_note_slot's code.
 */
.macro hash_insert_real counted, placed
	mfsrin	r7, r3
	rlwinm	r8, r3, 20, 16, 31      /* page index */
	rlwinm	r9, r7, 0, 13, 31       /* VSID, low 19 bits */
	xor	r8, r8, r9              /* hash */
	slwi	r8, r8, 6
	rlwinm	r7, r7, 7, 1, 24        /* word 0: VSID, */
	rlwimi	r7, r3, 10, 26, 31      /* API, */
	oris	r7, r7, 0x8000          /* V */
	mfspr	r9, SPR_SDR1
	rlwinm	r4, r9, 16, 7, 15       /* HTABMASK */
	ori	r4, r4, 0xffc0
	and	r8, r8, r4
	rlwimi	r8, r9, 0, 0, 6         /* HTABORG over the masked hash */
	andc	r9, r9, r4
	rlwinm	r9, r9, 0, 0, 15
	or	r5, r8, r9              /* primary group */
	rlwinm	r6, r6, 0, 23, 19       /* without the software bits */
	rlwinm	r6, r6, 0, 30, 28
	hash_look_first 7f
	/* Use an empty slot of the primary group, */
	addi	r3, r5, -8
	.rept	HPTES_PER_GROUP
	lwzu	r0, 8(r3)
	cmpwi	r0, 0
	bge	8f
	.endr
	/* or of the secondary one, */
	xor	r8, r5, r4
	ori	r7, r7, HPTE_SECONDARY
	addi	r3, r8, -8
	.rept	HPTES_PER_GROUP
	lwzu	r0, 8(r3)
	cmpwi	r0, 0
	bge	8f
	.endr
	/* else the next one in turn of the primary. */
	xori	r7, r7, HPTE_SECONDARY
	lis	r9, PHYS(hash_next_slot)@ha
	lwz	r8, PHYS(hash_next_slot)@l(r9)
	rlwinm	r0, r8, 3, 26, 28
	add	r3, r5, r0
	addi	r8, r8, 1
	clrlwi	r8, r8, 29
	stw	r8, PHYS(hash_next_slot)@l(r9)
	count_at r9, r8, hash_evictions
	li	r0, 0
	stw	r0, 0(r3)
	sync
8:	stw	r6, 4(r3)
	.globl	\placed
\placed:
	eieio
	stw	r7, 0(r3)
	.globl	\counted
\counted:
	sync
7:
.endm

/*
 * Counts an insertion, in total and by group, and continues behind `counted`. r4 and r5 are as hash_insert_real left
 * them.
 */
.macro hash_count_insertion counted
	.globl	\counted\()_on
\counted\()_on:
	sync
	and	r5, r5, r4
	srwi	r5, r5, 4               /* group * 4 */
	lis	r9, PHYS(hash_group_misses)@ha
	lwz	r9, PHYS(hash_group_misses)@l(r9)
	to_phys	r9, r9
	lwzx	r8, r9, r5
	addi	r8, r8, 1
	stwx	r8, r9, r5
	count_at r9, r8, hash_inserts + 4
	b	\counted + 4
.endm

/*
 * Notes in the tree's entry that the hash table has it, and the slot: r3 = the slot's address. `source` is the
 * register with the missing address. Continues behind `placed`; uses r0, r8 and r9.
 */
.macro hash_note_slot placed, source
	.globl	\placed\()_on
\placed\()_on:
	mfspr	r9, SPR_SPRG2
	mfspr	r8, \source
	rlwimi	r9, r8, 12, 20, 29
	lwz	r9, 0(r9)
	rlwimi	r9, r8, 22, 20, 29
	lwz	r0, 0(r9)
	rlwimi	r0, r3, 6, 20, 22
	ori	r0, r0, PTE_HASHED
	stw	r0, 0(r9)
	eieio
	b	\placed + 4
.endm

#endif
