/* What entry and exit do with several processors beside what arch/entry_forms.h has, and how another one begins. */
#include <arch/asm.h>

#include "external_flush.h"

	.section .text.cause.entry, "ax"

/* In: r3 = regs, r1 = frame, CTR = handler, LR = the exit's address. */
	.globl	lock_and_handle
lock_and_handle:
	mfctr	r12
	mflr	r0
	stwu	r1, -32(r1)
	stw	r0, 36(r1)
	stw	r12, 8(r1)
	stw	r3, 12(r1)
	bl	kernel_enter
	lwz	r0, 36(r1)
	lwz	r12, 8(r1)
	lwz	r3, 12(r1)
	addi	r1, r1, 32
	mtlr	r0
	mtctr	r12
	bctr

/* As enter_full, without the lock: for interrupts. */
FUNCTION(enter_unlocked)
	mfctr	r3
	stmw	r13, GPR(13)(r11)
	stw	r10, FRAME_TRAP(r11)
	mfxer	r4
	stw	r3, FRAME_CTR(r11)
	mfspr	r5, SPR_SPRG3
	li	r0, 0
	stw	r4, FRAME_XER(r11)
	stw	r0, FRAME_MQ(r11)
	stw	r0, FRAME_RESULT(r11)
	lwz	r2, ARCH_TASK(r5)
	load_address r4, return_full
	li	r10, MSR_KERNEL
	mtlr	r4
	addi	r3, r1, FRAME_REGS
	mtsrr0	r12
	mtsrr1	r10
	rfi
END(enter_unlocked)

/*
 * Where every call begins: takes the lock, and goes on by lean_table. r0 and r3 to r8 are the program's, r1 = frame,
 * LR = the exit's address.
 */
FUNCTION(syscall_locked)
	mflr	r12
	stwu	r1, -48(r1)
	stw	r12, 52(r1)
	stw	r0, 8(r1)
	stw	r3, 12(r1)
	stw	r4, 16(r1)
	stw	r5, 20(r1)
	stw	r6, 24(r1)
	stw	r7, 28(r1)
	stw	r8, 32(r1)
	bl	kernel_lock
	lwz	r0, 8(r1)
	lwz	r12, 52(r1)
	load_address r9, lean_table
	slwi	r10, r0, 2
	cmplwi	r0, LEAN_CALLS
	bge	2f
	lwzx	r9, r9, r10
1:	lwz	r3, 12(r1)
	lwz	r4, 16(r1)
	mtlr	r12
	mtctr	r9
	lwz	r5, 20(r1)
	lwz	r6, 24(r1)
	lwz	r7, 28(r1)
	lwz	r8, 32(r1)
	addi	r1, r1, 48
	bctr
2:	load_address r9, syscall_whole
	b	1b
END(syscall_locked)

	.section .text.cause.flush, "ax"
	external_flush external_flush_here, flush_unlocked, flush_wait

	.text
/*
 * Vector 0x100 of a processor that begins: as the start code (head.S), with the registers that processor 0 has saved
 * (start.c), on the stack of its idle task.
 */
FUNCTION(start_another)
	li	r0, 0
	forget_translations
	enable_caches
	map_ram_by_bats 0x12            /* as head.S, and coherent */
	isync
	load_address r2, PHYS(start_idle)
	lwz	r2, 0(r2)
	to_phys	r4, r2
	addi	r4, r4, TASK_ARCH
	mtspr	SPR_SPRG3, r4
	lwz	r1, ARCH_STACK_TOP(r4)
	to_phys	r5, r1
	li	r0, 0
	stw	r0, -FRAME_SIZE(r5)
	addi	r1, r1, -FRAME_SIZE
	load_address r5, start_another_c
	li	r4, MSR_KERNEL
	mtsrr0	r5
	mtsrr1	r4
	rfi
END(start_another)

	.section .images, "ax"
/* Vector 0x500: its handler takes the kernel lock only for a device. */
image image_external_unlocked
	save_volatile
	li	r10, 0x500
	load_address r12, exception_external_unlocked
	ba	PHYS(enter_unlocked)
end_image image_external_unlocked

image image_start_another
	ba	PHYS(start_another)
end_image image_start_another

image image_external_flush
	ba	PHYS(external_flush_here)
end_image image_external_flush
