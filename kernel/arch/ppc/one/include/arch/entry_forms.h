/*
 * What entry, exit and switch do with one processor: there is no lock to take and to let go
 * (several/include/arch/entry_forms.h has the same names).
 */
#ifndef ARCH_ENTRY_FORMS_H
#define ARCH_ENTRY_FORMS_H

/* r12 = the handler's address. */
.macro handler_to_srr0
	mtsrr0	r12
.endm

/* The target of a call: in r0 its number, in r9 the program's next instruction; out: r9. Uses r12. */
.macro lean_compare
	cmplwi	r0, LEAN_CALLS
	slwi	r12, r0, 2
.endm
.macro lean_target
	addis	r12, r12, PHYS(lean_table)@ha
	bge	1f
	stw	r9, FRAME_NIP(r11)
	lwz	r9, PHYS(lean_table)@l(r12)
2:
.endm
.macro lean_beyond
1:	stw	r9, FRAME_NIP(r11)
	load_address r9, syscall_whole
	b	2b
.endm

/* At the end of the lean exit, and of that from a call. */
.macro leave_kernel
.endm
.macro leave_kernel_short
.endm

/* The full exit: does the work of a task that returns to its program. */
.macro finish_full done
	lwz	r3, FRAME_MSR(r1)
	andi.	r3, r3, MSR_PR
	beq	\done
	lwz	r3, TASK_WORK(r2)
	cmpwi	r3, 0
	beq	\done
	addi	r3, r1, FRAME_REGS
	bl	return_to_user
.endm

/* Before a switch: r3 = the task that goes, r4 = the next one. */
.macro leave_fpu
.endm

#endif
