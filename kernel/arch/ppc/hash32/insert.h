/* Insertion into the hash table by code that runs with translation off. */
#ifndef HASH32_INSERT_H
#define HASH32_INSERT_H
#include <arch/hash_insert.h>
#include <arch/hash_lock.h>

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

#endif
