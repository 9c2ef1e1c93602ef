/*
 * The hash table's lock, of code that runs with translation off; table.c has it for C. Its word is SPRG3 of the holder,
 * or 0.
 */
#ifndef HASH32_LOCK_H
#define HASH32_LOCK_H

/*
 * For a miss. C that holds the lock may miss a kernel page: the handler finds that its own processor has the lock, and
 * leaves it alone. Uses r5, r7, r8 and CR0, CR6, CR7; CR7 stays until the lock is given back.
 */
.macro hash_lock_take
	mfspr	r7, SPR_SPRG3
	load_address r8, PHYS(hash_lock)
1:	lwarx	r5, 0, r8
	cmplw	cr7, r5, r7
	beq	cr7, 3f
	cmpwi	cr6, r5, 0
	bne	cr6, 2f
	stwcx.	r7, 0, r8
	bne-	1b
	isync
	b	3f
2:	lwz	r5, 0(r8)
	cmpwi	cr6, r5, 0
	bne	cr6, 2b
	b	1b
3:
.endm

/* Uses r7 and r8. */
.macro hash_lock_give
	beq	cr7, 4f
	load_address r8, PHYS(hash_lock)
	li	r7, 0
	sync
	stw	r7, 0(r8)
4:
.endm

/*
 * For a flush request, whose handler has only r8 and r12 free, and CR0. It is an interrupt, so its own processor does
 * not hold the lock. r12 holds the lock's address until the lock is given back. r10 points to struct cpu,
 * where r8 is saved.
 */
.macro hash_lock_take_bare
	stw	r8, CPU_FLUSH_SAVED + 12(r10)
	load_address r12, PHYS(hash_lock)
1:	lwz	r8, 0(r12)
	cmpwi	r8, 0
	bne-	1b
	lwarx	r8, 0, r12
	cmpwi	r8, 0
	bne-	1b
	mfspr	r8, SPR_SPRG3
	stwcx.	r8, 0, r12
	bne-	1b
	isync
.endm

/*
 * Waits until all processors have made the tlbie, then gives the lock back: only one tlbie may be on the bus at a time.
 */
.macro hash_lock_give_bus
	eieio
	tlbsync
	sync
	li	r8, 0
	stw	r8, 0(r12)
	lwz	r8, CPU_FLUSH_SAVED + 12(r10)
.endm

#endif
