/* What entry, exit and switch do with several processors: they take the kernel lock and let it go. */
#ifndef ARCH_ENTRY_FORMS_H
#define ARCH_ENTRY_FORMS_H

/* r12 = the handler's address, which goes to CTR: that is saved already. */
.macro handler_to_srr0
	mtctr	r12
	load_address r12, lock_and_handle
	mtsrr0	r12
.endm

/* Every call takes the lock first (several/entry.S). In: r9 = the program's next instruction; out: r9. */
.macro lean_compare
.endm
.macro lean_target
	stw	r9, FRAME_NIP(r11)
	load_address r9, syscall_locked
.endm
.macro lean_beyond
.endm

/* At the end of the lean exit, and of that from a call, which keeps r3 to r8 and r10. */
.macro leave_kernel
	addi	r3, r1, FRAME_REGS
	bl	kernel_leave
.endm
.macro leave_kernel_short
	lis	r12, kernel_lock_words@ha
	addi	r12, r12, kernel_lock_words@l
	li	r0, 0
	stw	r0, LOCK_HOLDER(r12)
	sync
	lwz	r0, LOCK_SERVING(r12)
	addic	r0, r0, 1
	stw	r0, LOCK_SERVING(r12)
	lwz	r12, FRAME_LINK(r1)
.endm

/* The full exit: kernel_leave() does the work of a task that returns to its program. */
.macro finish_full done
	leave_kernel
.endm

/* Before a switch: a task that may go on elsewhere leaves nothing in this processor's FPU. Keeps r3 and r4. */
.macro leave_fpu
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
.endm

#endif
