/*
 * Exception entry and exit. The plain form: everything is saved, and C decides what to do. The lean form (policy
 * `entry`) saves what C does not preserve, and goes from a system call's vector straight to the call.
 *
 * A vector's image runs with translation off, saves what it needs to reach the kernel stack by its physical
 * address, and comes here. Nothing is translated between the exception and the `rfi` that turns translation
 * on, and nothing but this page of code between the reading of SRR0 and the last `rfi`: so a kernel that is
 * itself mapped by page-table entries can miss anywhere else and is entered again.
 */
#include <arch/asm.h>

	.section .text.cause.entry, "ax"

/*
 * In: r11 = frame (physical), r10 = trap, r12 = the handler's address. r0 to r12, CR, LR, SRR0 and SRR1 are saved; r1 is
 * the frame's virtual address.
 */
FUNCTION(enter_full)
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
END(enter_full)

/*
 * What most vectors enter by. Policy `entry` patches the first instruction: a branch to enter_full, or nothing, and
 * then r13 to r31 stay in their registers, which C preserves.
 */
FUNCTION(enter)
	b	enter_full
	mfctr	r3
	stw	r10, FRAME_TRAP(r11)
	mfxer	r4
	stw	r3, FRAME_CTR(r11)
	mfspr	r5, SPR_SPRG3
	load_address r6, return_lean
	stw	r4, FRAME_XER(r11)
	lwz	r2, ARCH_TASK(r5)
	li	r10, MSR_KERNEL
	mtlr	r6
	addi	r3, r1, FRAME_REGS
	mtsrr0	r12
	mtsrr1	r10
	rfi
END(enter)

	/* The exits must lie in one page: 1024 bytes hold them. */
	.balign	1024
/* After the lean form of `enter`: r13 to r31 are still the interrupted code's, and join the frame only if somebody may look. */
FUNCTION(return_lean)
	lwz	r3, FRAME_MSR(r1)
	andi.	r3, r3, MSR_PR
	beq	1f
	lwz	r3, TASK_WORK(r2)
	cmpwi	r3, 0
	bne	complete_frame
1:	li	r0, MSR_ME | MSR_IR
	mtmsr	r0
	isync
	to_phys	r1, r1
	b	return_short
END(return_lean)

/*
 * After a system call that entered lean: r3 = result. Every load comes before SRR0 is set, and the code after that
 * lies in one page: nothing can miss in between. r4 to r12, CTR and XER are the call's to destroy. `clear`: r4 to r8 hold
 * what the kernel computed, which is nobody else's to see.
 */
.macro syscall_exit name, clear
FUNCTION(\name)
	lwz	r10, FRAME_CCR(r1)
	li	r11, -4096
	lwz	r9, TASK_WORK(r2)
	cmplw	r3, r11
	lwz	r12, FRAME_LINK(r1)
	lwz	r11, FRAME_NIP(r1)
	rlwinm	r10, r10, 0, 4, 2       /* CR0.SO off */
	bgt	3f
2:	cmpwi	r9, 0
	lwz	r9, FRAME_MSR(r1)
	bne	syscall_exit_work
	lwz	r2, GPR(2)(r1)
	.if	\clear
	li	r4, 0
	li	r5, 0
	.endif
	lwz	r1, GPR(1)(r1)
	mtlr	r12
	.if	\clear
	li	r6, 0
	li	r7, 0
	.endif
	mtcrf	0xff, r10
	.if	\clear
	li	r8, 0
	.endif
	mtsrr0	r11
	mtsrr1	r9
	rfi
3:	neg	r3, r3
	oris	r10, r10, CCR_SO >> 16
	b	2b
END(\name)
.endm

	syscall_exit return_syscall_cleared, 1
	syscall_exit return_syscall_lean, 0

syscall_exit_work:
	stw	r3, GPR(3)(r1)
	stw	r10, FRAME_CCR(r1)
	li	r9, 0xc00
	stw	r9, FRAME_TRAP(r1)
	bl	clear_destroyed
complete_frame:
	bl	clear_unused
	stmw	r13, GPR(13)(r1)
	lis	r3, lean_frames_completed@ha
	lwz	r4, lean_frames_completed + 4@l(r3)
	addi	r4, r4, 1
	stw	r4, lean_frames_completed + 4@l(r3)
FUNCTION(return_full)
	lwz	r3, FRAME_MSR(r1)
	andi.	r3, r3, MSR_PR
	beq	1f
	lwz	r3, TASK_WORK(r2)
	cmpwi	r3, 0
	beq	1f
	addi	r3, r1, FRAME_REGS
	bl	return_to_user
1:	li	r0, MSR_ME | MSR_IR
	mtmsr	r0
	isync
	to_phys	r1, r1
	lmw	r13, GPR(13)(r1)
/* In: r1 = frame, physical; translation of data off; r13 to r31 restored. */
.globl return_short
return_short:
	addi	r12, r1, FRAME_MQ
	li	r11, 0
	stwcx.	r11, 0, r12             /* a reservation must not outlive the exception */
	lwz	r0, FRAME_CTR(r1)
	lwz	r3, FRAME_XER(r1)
	lwz	r4, FRAME_LINK(r1)
	lwz	r5, FRAME_CCR(r1)
	mtctr	r0
	mtxer	r3
	mtlr	r4
	mtcrf	0xff, r5
	lwz	r11, FRAME_NIP(r1)
	lwz	r12, FRAME_MSR(r1)
	lwz	r0, GPR(0)(r1)
	lwz	r2, GPR(2)(r1)
	lwz	r3, GPR(3)(r1)
	lwz	r4, GPR(4)(r1)
	lwz	r5, GPR(5)(r1)
	lwz	r6, GPR(6)(r1)
	lwz	r7, GPR(7)(r1)
	lwz	r8, GPR(8)(r1)
	lwz	r9, GPR(9)(r1)
	lwz	r10, GPR(10)(r1)
	mtsrr0	r11
	mtsrr1	r12
	lwz	r11, GPR(11)(r1)
	lwz	r12, GPR(12)(r1)
	lwz	r1, GPR(1)(r1)
	rfi
END(return_full)

/* A new task's first instructions: r14 = function, r15 = its argument; then user mode. */
FUNCTION(task_first_entry)
	mr	r3, r15
	mtctr	r14
	bctrl
	b	return_full
END(task_first_entry)

/*
 * What lean_table names for calls that the lean form does not serve alone. As a call's function is entered: the
 * program's r0 and r3 to r8, r1 = frame.
 *
 * For a call that wants the whole struct regs.
 */
FUNCTION(syscall_whole)
	stmw	r13, GPR(13)(r1)
	stw	r3, GPR(3)(r1)
	li	r9, 0xc00
	stw	r9, FRAME_TRAP(r1)
	bl	clear_destroyed
	load_address r9, return_full
	mtlr	r9
	addi	r3, r1, FRAME_REGS
	b	exception_syscall
END(syscall_whole)

/* For a call that returns more than r3, in the frame. */
FUNCTION(syscall_words)
	slwi	r9, r0, 2
	load_address r10, syscall_table
	lwzx	r9, r10, r9
	mtctr	r9
	bctrl
	lwz	r4, GPR(4)(r1)
	lwz	r5, GPR(5)(r1)
	lwz	r6, GPR(6)(r1)
	lwz	r7, GPR(7)(r1)
	lwz	r8, GPR(8)(r1)
	b	return_syscall_lean
END(syscall_words)

/* What a call may destroy, and what no exception fills, as whoever looks at a frame finds it. Uses r9. */
clear_destroyed:
	li	r9, 0
	stw	r9, GPR(9)(r1)
	stw	r9, GPR(10)(r1)
	stw	r9, GPR(11)(r1)
	stw	r9, GPR(12)(r1)
	stw	r9, FRAME_CTR(r1)
	stw	r9, FRAME_XER(r1)
clear_unused:
	li	r9, 0
	stw	r9, FRAME_MQ(r1)
	stw	r9, FRAME_RESULT(r1)
	blr
