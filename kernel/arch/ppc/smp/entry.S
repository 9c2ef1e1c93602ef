/*
 * Entry and exit with several processors: they take the kernel lock and let it go. start.c puts branches to this code
 * into entry.S, so that a machine with one processor runs none of it.
 */
#include <arch/asm.h>

#include "external_flush.h"

	.section .text.cause.entry, "ax"

/* From enter_full and enter, in place of `mtsrr0 r12`: the handler's address goes to CTR, which is saved. */
FUNCTION(enter_full_locked)
	mtctr	r12
	load_address r12, lock_and_handle
	mtsrr0	r12
	b	enter_full_handler + 4
END(enter_full_locked)

FUNCTION(enter_locked)
	mtctr	r12
	load_address r12, lock_and_handle
	mtsrr0	r12
	b	enter_handler + 4
END(enter_locked)

/* In: r3 = regs, r1 = frame, CTR = handler, LR = the exit's address. */
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

/* In place of return_full: does the program's work with the lock, then lets it go. */
FUNCTION(return_full_unlocking)
	addi	r3, r1, FRAME_REGS
	bl	kernel_leave
	b	return_full_end
END(return_full_unlocking)

/* In place of return_lean. If the task has work pending, saves all registers first. */
FUNCTION(return_lean_unlocking)
	lwz	r3, FRAME_MSR(r1)
	andi.	r3, r3, MSR_PR
	beq	1f
	lwz	r3, TASK_WORK(r2)
	cmpwi	r3, 0
	bne	complete_frame
1:	addi	r3, r1, FRAME_REGS
	bl	kernel_leave
	b	return_lean_end
END(return_lean_unlocking)

/*
 * What lean_table has for every call: takes the lock, and goes on by lean_table_locked. r0 and r3 to r8 are the
 * program's, r1 = frame, LR = the exit's address.
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
	load_address r9, lean_table_locked
	slwi	r10, r0, 2
	lwzx	r9, r9, r10
	lwz	r3, 12(r1)
	lwz	r4, 16(r1)
	mtlr	r12
	mtctr	r9
	lwz	r5, 20(r1)
	lwz	r6, 24(r1)
	lwz	r7, 28(r1)
	lwz	r8, 32(r1)
	addi	r1, r1, 48
	bctr
END(syscall_locked)

/* In place of syscall_whole's first instruction, for a number beyond the table, which came without the lock. */
FUNCTION(syscall_whole_locked)
	stmw	r13, GPR(13)(r1)
	lis	r9, kernel_lock_words@ha
	addi	r9, r9, kernel_lock_words@l
	lwz	r9, LOCK_HOLDER(r9)
	lwz	r10, TASK_CPU(r2)
	cmpw	r9, r10
	beq	syscall_whole + 4
	stwu	r1, -48(r1)
	stw	r0, 8(r1)
	stw	r3, 12(r1)
	bl	kernel_lock
	lwz	r0, 8(r1)
	lwz	r3, 12(r1)
	addi	r1, r1, 48
	b	syscall_whole + 4
END(syscall_whole_locked)

	/* As the exits of entry.S, in one page. */
	.balign	512
.macro syscall_exit_unlocking name, clear
FUNCTION(\name)
	lwz	r10, FRAME_CCR(r1)
	li	r11, -4096
	lwz	r9, TASK_WORK(r2)
	cmplw	r3, r11
	rlwinm	r10, r10, 0, 4, 2       /* clear CR0.SO */
	bgt	3f
2:	cmpwi	r9, 0
	bne	syscall_exit_work
	lis	r9, kernel_lock_words@ha
	addi	r9, r9, kernel_lock_words@l
	li	r0, 0
	stw	r0, LOCK_HOLDER(r9)
	sync
	lwz	r12, LOCK_SERVING(r9)
	addi	r12, r12, 1
	stw	r12, LOCK_SERVING(r9)
	lwz	r12, FRAME_LINK(r1)
	lwz	r11, FRAME_NIP(r1)
	lwz	r9, FRAME_MSR(r1)
	leave_syscall \clear
	rfi
3:	neg	r3, r3
	oris	r10, r10, CCR_SO >> 16
	b	2b
END(\name)
.endm

	syscall_exit_unlocking return_syscall_cleared_unlocking, 1
	syscall_exit_unlocking return_syscall_lean_unlocking, 0

	.section .text.cause.flush, "ax"
	external_flush external_flush_here, flush_unlocked, flush_wait

	.section .text.cause.switch, "ax"
/* In place of switch_to's first instruction: a task that may go on elsewhere leaves nothing in this processor's FPU. */
FUNCTION(switch_to_several)
	mflr	r0
	stwu	r1, -32(r1)
	stw	r0, 36(r1)
	stw	r3, 8(r1)
	stw	r4, 12(r1)
	bl	fpu_leave
	lwz	r0, 36(r1)
	lwz	r3, 8(r1)
	lwz	r4, 12(r1)
	mtlr	r0
	addi	r1, r1, 32
	b	switch_to + 4
END(switch_to_several)

	.text
/*
 * Vector 0x100 of a processor that begins: as the start code (head.S), with the registers that processor 0 has saved
 * (start.c), on the stack of its idle task.
 */
FUNCTION(start_another)
	li	r0, 0
	forget_translations
	enable_caches
	/* 512 MB of RAM, coherent, as head.S maps it. */
	lis	r4, 0xc000
	ori	r5, r4, 0x1ffe
	li	r6, 0x12
	mtspr	SPR_IBAT0U + 1, r6
	mtspr	SPR_IBAT0U, r5
	mtspr	SPR_DBAT0U + 1, r6
	mtspr	SPR_DBAT0U, r5
	addis	r5, r5, 0x1000
	addis	r6, r6, 0x1000
	mtspr	SPR_DBAT0U + 3, r6
	mtspr	SPR_DBAT0U + 2, r5
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
image image_start_another
	ba	PHYS(start_another)
end_image image_start_another

image image_external_flush
	ba	PHYS(external_flush_here)
end_image image_external_flush
