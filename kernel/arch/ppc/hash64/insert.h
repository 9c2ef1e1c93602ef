/* Insertion into the 970's hash table by code that runs with translation off, in 64-bit mode. */
#ifndef HASH64_INSERT_H
#define HASH64_INSERT_H
#include <arch/hash_insert.h>
#include <arch/reg970.h>

/*
 * Inserts an entry. In: r3 = address, r6 = entry. Uses r0, r3 to r9. As hash_insert_real of hash32/insert.h, but that
 * the slot of a bolted entry is passed over: it is the first of its group, and there is one in a group at most.
 *
 * form: _withheld if a fetch from a program's page needs PTE_FETCH (policy icache.flush=exec).
 */
.macro hash64_insert_real counted, placed, form
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
	.ifc	\form, _withheld
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

#endif
