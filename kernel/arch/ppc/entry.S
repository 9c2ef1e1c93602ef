/*
 * Exception entry and exit. The plain form saves everything and lets C decide. The lean form (policy `entry`) saves
 * only registers that C does not preserve, and a system call goes from its vector directly to its function.
 *
 * A vector's image runs with translation off, saves the registers that it needs to reach the kernel stack by its
 * physical address, and comes here. No access is translated between the exception and the `rfi` that enables
 * translation. Between writing SRR0 and the `rfi` that uses it, only code of this page runs: a TLB miss there would
 * overwrite SRR0. Everywhere else the kernel may miss, also where page-table entries map it (policy kernel.map).
 */
#include <arch/asm.h>
#include <arch/entry_forms.h>

/* clrldi r3, r3, 32 and clrldi r10, r10, 32 */
#define CLEAR_UPPER_R3  0x78630020
#define CLEAR_UPPER_R10 0x794a0020

	.section .text.cause.entry, "ax"

/*
 * In: r11 = frame (physical), r10 = trap, r12 = the handler's address. r0 to r12, CR, LR, SRR0 and SRR1 are saved; r1
 * is the frame's virtual address. The handler gets regs in r3, and r4 and r5 as the vector left them.
 */
FUNCTION(enter_full)
	mfctr	r3
	stmw	r13, GPR(13)(r11)
	stw	r10, FRAME_TRAP(r11)
	mfxer	r6
	stw	r3, FRAME_CTR(r11)
	mfspr	r7, SPR_SPRG3
	li	r0, 0
	stw	r6, FRAME_XER(r11)
	stw	r0, FRAME_MQ(r11)
	stw	r0, FRAME_RESULT(r11)
	lwz	r2, ARCH_TASK(r7)
	load_address r6, return_full
	li	r10, MSR_KERNEL
	mtlr	r6
	addi	r3, r1, FRAME_REGS
	handler_to_srr0
	mtsrr1	r10
	exception_return
END(enter_full)

/*
 * The entry of most vectors. Policy `entry` patches the first instruction: to a branch to enter_full, or to a nop,
 * which leaves r13 to r31 in their registers, since C preserves them.
 */
FUNCTION(enter)
	b	enter_full
	mfspr	r7, SPR_SPRG3
	mfctr	r3
	lwz	r2, ARCH_TASK(r7)
	mfxer	r7
/* With r2 = task, r3 = CTR and r7 = XER already. Policy `entry` patches this first instruction too. */
	.globl	enter_with_task
enter_with_task:
	b	enter_full
	load_address r6, return_lean
	stw	r10, FRAME_TRAP(r11)
	stw	r3, FRAME_CTR(r11)
	stw	r7, FRAME_XER(r11)
	li	r10, MSR_KERNEL
	mtlr	r6
	addi	r3, r1, FRAME_REGS
	handler_to_srr0
	mtsrr1	r10
	exception_return
END(enter)

	/* The exits must be in one page: 1024 bytes contain them. */
	.balign	1024
exits:
/*
 * Exit after the lean form of `enter`: r13 to r31 still have the interrupted code's values, and are saved to the frame
 * only if signals or a switch may read it.
 */
FUNCTION(return_lean)
	lwz	r3, FRAME_MSR(r1)
	andi.	r3, r3, MSR_PR
	beq	1f
	lwz	r3, TASK_WORK(r2)
	cmpwi	r3, 0
	bne	complete_frame
1:	leave_kernel
.globl return_lean_last                 /* policy return.flush diverts these places, just before translation goes off */
return_lean_last:
	li	r0, MSR_ME | MSR_IR
	mtmsr	r0
	isync
	to_phys	r1, r1
	b	return_short
END(return_lean)

/*
 * Exit after a system call that entered lean: r3 = result. All loads come before SRR0 is set, and the code after that
 * is in one page, so nothing can miss in between. The call may destroy r0, r4 to r12, CTR and XER: none of them shows
 * the program a value of the kernel's or of another program's.
 */
.macro syscall_exit name, clear
FUNCTION(\name)
	lwz	r10, FRAME_CCR(r1)
	li	r11, -4096
	lwz	r9, TASK_WORK(r2)
	cmplw	r3, r11
	lwz	r12, FRAME_LINK(r1)
	lwz	r11, FRAME_NIP(r1)
	rlwinm	r10, r10, 0, 4, 2       /* clear CR0.SO */
	bgt	3f
2:	cmpwi	r9, 0
	lwz	r9, FRAME_MSR(r1)
	bne	syscall_exit_work
	leave_kernel_short
.globl \name\()_last
\name\()_last:
	leave_syscall \clear
77:	rfi
	form64	.long 0x48000000 + return_syscall64 - 77b       /* a branch */
3:	neg	r3, r3
	oris	r10, r10, CCR_SO >> 16
	b	2b
END(\name)
.endm

	syscall_exit return_syscall_cleared, 1
	syscall_exit return_syscall_lean, 0

	.globl	syscall_exit_work
syscall_exit_work:
	stw	r3, GPR(3)(r1)
	stw	r10, FRAME_CCR(r1)
	li	r9, 0xc00
	stw	r9, FRAME_TRAP(r1)
	bl	clear_destroyed
	.globl	complete_frame
complete_frame:
	bl	clear_unused
	stmw	r13, GPR(13)(r1)
	lis	r3, lean_frames_completed@ha
	lwz	r4, lean_frames_completed + 4@l(r3)
	addi	r4, r4, 1
	stw	r4, lean_frames_completed + 4@l(r3)
FUNCTION(return_full)
	finish_full return_full_last
.globl return_full_last
return_full_last:
	li	r0, MSR_ME | MSR_IR
	mtmsr	r0
	isync
	to_phys	r1, r1
	lmw	r13, GPR(13)(r1)
/* In: r1 = frame (physical); data translation off; r13 to r31 restored. */
.globl return_short
return_short:
	addi	r12, r1, FRAME_MQ
	li	r11, 0
	stwcx.	r11, 0, r12             /* ends the program's reservation (lwarx) */
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
	exception_return
	.if	. - exits > 1024
	.error	"the exits do not fit their page"
	.endif
END(return_full)

/* The first instructions of a new task: calls the function r14 with argument r15, then enters user mode. */
FUNCTION(task_first_entry)
	mr	r3, r15
	mtctr	r14
	bctrl
	b	return_full
END(task_first_entry)

/*
 * The entries of lean_table for calls that need more than the lean form. They start with the registers of a call's
 * function: the program's r0 and r3 to r8, and r1 = frame.
 *
 * For a call that needs the whole struct regs:
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

/*
 * For the calls that send and wait, while messages pass at the gate: there the program goes on by its frame alone
 * (gate.S). Then as syscall_words.
 */
FUNCTION(syscall_message)
	stmw	r13, GPR(13)(r1)
END(syscall_message)

/* For a call that returns more than r3, through the frame: */
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

/* Clears in the frame the registers that a call may destroy and that no exception fills. Uses r9. */
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

/*
 * The end of the exits from a system call on a 64-bit processor, in the page of these exits. The call's function may
 * have left anything in the upper half of r3, and the mask above has left CR in the upper half of r10.
 */
return_syscall64:
	.long	CLEAR_UPPER_R3, CLEAR_UPPER_R10, RFID
