/*
 * The hash table's lock, of code that runs with translation off; arch/hash_table_lock.h has it for C. Its word is SPRG3
 * of the holder, or 0.
 */
#ifndef ARCH_HASH_LOCK_H
#define ARCH_HASH_LOCK_H

/*
 * For a miss. C that holds the lock may miss a kernel page: the handler finds that its own processor has the lock, and
 * leaves it alone. Uses r5, r7, r8 and CR0, CR6, CR7; CR7 stays until the lock is given back.
 */
.macro hash_lock_take
	mfspr	r7, SPR_SPRG3
	load_address r8, PHYS(hash_lock)
1:	lwarx	r5, 0, r8
	cmplw	cr7, r5, r7
	beq	cr7, 5f
	cmpwi	cr6, r5, 0
	bne	cr6, 2f
	stwcx.	r7, 0, r8
	bne-	1b
	isync
	b	4f
2:	mftb	r7
3:	lwz	r5, 0(r8)
	cmpwi	cr6, r5, 0
	bne	cr6, 3b
	lwarx	r5, 0, r8
	cmpwi	cr6, r5, 0
	bne	cr6, 3b
	mfspr	r5, SPR_SPRG3
	stwcx.	r5, 0, r8
	bne-	3b
	isync
	mftb	r5
	hash_lock_waited r8, r7, r5, cr6, 4f
4:	lwz	r5, LOCK_TIMES(r8)
	addi	r5, r5, 1
	stw	r5, LOCK_TIMES(r8)
5:
.endm

/* Counts a wait. In: since, now. Goes to `done`, or falls through. */
.macro hash_lock_waited lock, since, now, cr, done
	subf	\now, \since, \now
	lwz	\since, LOCK_WAITED + 4(\lock)
	add	\since, \since, \now
	cmplw	\cr, \since, \now
	stw	\since, LOCK_WAITED + 4(\lock)
	lwz	\now, LOCK_CONTENDED(\lock)
	addi	\now, \now, 1
	stw	\now, LOCK_CONTENDED(\lock)
	bge	\cr, \done
	lwz	\now, LOCK_WAITED(\lock)
	addi	\now, \now, 1
	stw	\now, LOCK_WAITED(\lock)
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
 * where r8 is saved, and r9 during a wait.
 */
.macro hash_lock_take_bare
	stw	r8, CPU_FLUSH_SAVED + 12(r10)
	load_address r12, PHYS(hash_lock)
1:	lwarx	r8, 0, r12
	cmpwi	r8, 0
	bne-	2f
	mfspr	r8, SPR_SPRG3
	stwcx.	r8, 0, r12
	bne-	1b
	isync
	b	5f
2:	stw	r9, CPU_FLUSH_WAIT(r10)
	mftb	r9
3:	lwz	r8, 0(r12)
	cmpwi	r8, 0
	bne	3b
	lwarx	r8, 0, r12
	cmpwi	r8, 0
	bne	3b
	mfspr	r8, SPR_SPRG3
	stwcx.	r8, 0, r12
	bne-	3b
	isync
	mftb	r8
	hash_lock_waited r12, r9, r8, cr0, 4f
4:	lwz	r9, CPU_FLUSH_WAIT(r10)
5:	lwz	r8, LOCK_TIMES(r12)
	addi	r8, r8, 1
	stw	r8, LOCK_TIMES(r12)
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

/*
 * A miss saves all registers before it takes the lock. From the look into the tree to the insertion nobody else removes
 * an entry. A flush changes the tree first and takes the lock then: either it finds what was inserted here, or the look
 * here finds the change.
 */
.macro miss_begin
	save_for_look
	save_for_insert
	hash_lock_take
.endm
.macro miss_insert
.endm

.macro restore_from_insert
	lwz	r0, ARCH_SCRATCH(r11)
	lwz	r5, ARCH_SCRATCH + 12(r11)
	lwz	r7, ARCH_SCRATCH + 20(r11)
	lwz	r8, ARCH_SCRATCH + 24(r11)
	lwz	r9, ARCH_SCRATCH + 28(r11)
	restore_from_look
.endm

.macro data_miss_failed
	hash_lock_give
	restore_from_insert
	data_fault
.endm
.macro instruction_miss_failed
	hash_lock_give
	restore_from_insert
	instruction_fault
.endm

/*
 * In hash_insert_real: the page is coherent, and may be in the table already, because another processor missed it at
 * the same time.
 */
.macro hash_look_first found
	ori	r6, r6, PTE_COHERENT
	addi	r3, r5, -8
	.rept	HPTES_PER_GROUP
	lwzu	r0, 8(r3)
	cmplw	r0, r7
	beq	\found
	.endr
	xor	r8, r5, r4
	ori	r9, r7, HPTE_SECONDARY
	addi	r3, r8, -8
	.rept	HPTES_PER_GROUP
	lwzu	r0, 8(r3)
	cmplw	r0, r9
	beq	\found
	.endr
.endm

#endif
