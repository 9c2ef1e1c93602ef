/* The handler of flush requests between processors, in assembly. */
#ifndef SMP_EXTERNAL_FLUSH_H
#define SMP_EXTERNAL_FLUSH_H
#include <arch/asm.h>

/*
 * Vector 0x500 with shootdown=short and lazy. Interrupts and translation are off. Registers are saved in struct cpu, so
 * there is no frame and no stack.
 *
 * The controller's registers must not be cached, so data translation is on for the accesses to them. A block maps them
 * always (bat_keep_openpic()): a miss would overwrite SRR0 and SRR1. The interrupt is ended first, so that a request
 * that follows the answer interrupts again.
 *
 * before and after are macros around the flush. They keep r10, and r11 and r9, which hold the first address and the
 * end. They may change r12, and r8 if they restore it.
 */
.macro external_flush name, before, after
FUNCTION(\name)
	mtspr	SPR_SPRG0, r10
	mtspr	SPR_SPRG1, r11
	mfspr	r10, SPR_SPRG3
	mfcr	r11
	lwz	r10, TASK_CPU - TASK_ARCH(r10)
	to_phys	r10, r10
	stw	r11, CPU_FLUSH_SAVED(r10)
	stw	r9, CPU_FLUSH_SAVED + 4(r10)
	stw	r12, CPU_FLUSH_SAVED + 8(r10)
	mfmsr	r11
	ori	r9, r11, MSR_DR
	lis	r12, OPENPIC_REGISTERS >> 16 & 0xffff
	ori	r12, r12, OPENPIC_REGISTERS & 0xffff
	mtmsr	r9
	isync
	lwbrx	r9, 0, r12
	cmpwi	r9, OPENPIC_VECTOR_FLUSH
	bne-	9f
	li	r9, 0
	stw	r9, OPENPIC_FINISH(r12)
	mtmsr	r11
	isync
	lwz	r9, CPU_IPIS_FLUSH(r10)
	load_address r12, PHYS(flush_words)
	addi	r9, r9, 1
	lwz	r11, FLUSH_UNANSWERED(r12)
	stw	r9, CPU_IPIS_FLUSH(r10)
	lwz	r9, CPU_FLUSH_BIT(r10)
	and.	r11, r11, r9
	beq-	8f                      /* answered without an interrupt */
	lwz	r11, FLUSH_START(r12)
	lwz	r9, FLUSH_END(r12)
	\before
2:	tlbie	r11
	addi	r11, r11, 0x1000
	cmplw	r11, r9
	blt	2b
	\after
	load_address r12, PHYS(flush_words)
	lwz	r9, CPU_FLUSH_BIT(r10)
3:	lwarx	r11, 0, r12
	andc	r11, r11, r9
	stwcx.	r11, 0, r12
	bne-	3b
8:	lwz	r11, CPU_FLUSH_SAVED(r10)
	lwz	r9, CPU_FLUSH_SAVED + 4(r10)
	lwz	r12, CPU_FLUSH_SAVED + 8(r10)
	mtcrf	0x80, r11
	mfspr	r10, SPR_SPRG0
	mfspr	r11, SPR_SPRG1
	rfi
	/* Not a flush: restores all registers, keeps the vector for openpic_handle(), and goes to C. */
9:	mtmsr	r11
	isync
	lwz	r12, CPU_FLUSH_SAVED + 8(r10)
	stw	r9, CPU_FLUSH_VECTOR(r10)
	lwz	r9, CPU_FLUSH_SAVED + 4(r10)
	lwz	r10, CPU_FLUSH_SAVED(r10)
	save_volatile_rest
	li	r10, 0x500
	load_address r12, exception_external_acknowledged
	b	enter_unlocked
END(\name)
.endm

/* For a tlbie that reaches no other processor: there is nothing to lock. */
.macro flush_unlocked
.endm
.macro flush_wait
	sync
.endm

#endif
