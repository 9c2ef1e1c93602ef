/*
 * What entry and exit do with one processor: there is no lock to take and to let go (several/include/arch/entry_forms.h
 * has the same names).
 */
#ifndef ARCH_ENTRY_FORMS_H
#define ARCH_ENTRY_FORMS_H

.macro handle handler
	call	\handler
.endm

/* The lean entry, before it looks at the call's number. */
.macro lock_for_call
.endm

/* The exit: does the work of a task that returns to its program. */
.macro finish
	testb	$3, REGS_CS(%esp)
	jz	1f
	movl	%esp, %eax
	andl	$-KERNEL_STACK_SIZE, %eax
	movl	STACK_TASK(%eax), %eax
	cmpl	$0, TASK_WORK(%eax)
	jne	4f
1:
.endm
.macro finish_work
4:	movl	%esp, %eax
	call	return_to_user
	jmp	1b
.endm

#endif
