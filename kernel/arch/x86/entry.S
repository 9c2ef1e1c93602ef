/*
 * Exception entry and exit. The processor has pushed ss and esp (from a program), eflags, cs, eip and some error codes;
 * the rest of struct regs (arch/regs.h) is pushed here. Interrupts are off in the whole kernel, so every gate disables
 * them.
 *
 * The kernel's data segment is the programs' own: both reach everything, and pages protect the kernel. Policy
 * `segments` chooses between two forms of every entry and exit: they load ds and es, or check that these have that
 * segment already (Liedtke 1993, 5.5.3).
 */
#include <arch/asm.h>
#include <arch/entry_forms.h>

	.section .text.cause.entry, "ax"

.macro save_registers form
	pushl	%es
	pushl	%ds
	.ifc	\form, checked
	cmpl	$USER_DS, (%esp)
	jne	1f
	cmpl	$USER_DS, 4(%esp)
	je	2f
1:	pushl	%eax
	movl	$USER_DS, %eax
	movl	%eax, %ds
	movl	%eax, %es
	popl	%eax
2:
	.endif
	pushl	%eax
	pushl	%ebp
	pushl	%edi
	pushl	%esi
	pushl	%edx
	pushl	%ecx
	pushl	%ebx
	cld
	.ifc	\form, loaded
	movl	$USER_DS, %ebx
	movl	%ebx, %ds
	movl	%ebx, %es
	.endif
.endm

/*
 * Vectors 0 to 31, 16 bytes apart. Where the processor pushes no error code, 0 takes its place. Behind them those of
 * the 8259 pair, as far apart.
 */
.macro vectors form
	.balign	16
	.globl	exception_vectors_\form, interrupt_vectors_\form
exception_vectors_\form:
	.set	n, 0
	.rept	32
	.balign	16
	.if	n == 8 || (n >= 10 && n <= 14) || n == 17
	.else
	pushl	$0
	.endif
	pushl	$n
	.if	n == 14
	jmp	enter_page_fault_\form
	.else
	jmp	enter_other_\form
	.endif
	.set	n, n + 1
	.endr
	.balign	16
interrupt_vectors_\form:
	.rept	16
	.balign	16
	pushl	$0
	pushl	$n
	jmp	enter_interrupt_\form
	.set	n, n + 1
	.endr
.endm

.macro entry name, handler, form
	.balign	16
	.globl	\name\()_\form
\name\()_\form:
	save_registers \form
	movl	%esp, %eax
	handle	\handler
	jmp	return_\form
.endm

/* System calls: eax is kept in the place of an error code. */
.macro call_entry name, handler, form
	.balign	16
FUNCTION(\name\()_\form)
	pushl	%eax
	pushl	$0x80
	save_registers \form
	movl	%esp, %eax
	handle	\handler
	jmp	return_\form
END(\name\()_\form)
.endm

/*
 * The lean form (policy `entry`): from the table to the call's function. Three arguments move to
 * other registers. Three are pushed as copies, because a function may change its arguments on the stack and must not
 * change struct regs.
 */
.macro lean_entry form
	.balign	16
FUNCTION(syscall_lean_\form)
	pushl	%eax
	pushl	$0x80
	save_registers \form
	.ifc	\form, loaded
	movl	(%esp), %ebx
	.endif
	lock_for_call
	cmpl	$CALL_COUNT, %eax
	jae	1f
	pushl	%ebp
	pushl	%edi
	pushl	%esi
	movl	syscall_table(, %eax, 4), %esi
	movl	%edx, %edi
	movl	%ebx, %eax
	movl	%ecx, %edx
	movl	%edi, %ecx
	call	*%esi
	addl	$12, %esp
2:
	cmpl	$0x80, REGS_TRAP(%esp)
	jne	return_\form           /* the call has set all registers */
	movl	%eax, REGS_EAX(%esp)
	jmp	return_\form
1:	call	sys_unknown
	jmp	2b
END(syscall_lean_\form)
.endm

/* Exit: esp = struct regs. If a selector has become invalid, popping it faults (exceptions.c). */
.macro exit form
	.balign	16
FUNCTION(return_\form)
	finish
	popl	%ebx
	popl	%ecx
	popl	%edx
	popl	%esi
	popl	%edi
	popl	%ebp
	popl	%eax
	.ifc	\form, checked
	cmpl	$USER_DS, (%esp)
	jne	3f
	cmpl	$USER_DS, 4(%esp)
	jne	3f
	addl	$16, %esp
	.globl	return_iret_checked
return_iret_checked:
	iret
	.endif
3:
	.globl	return_ds_\form, return_es_\form
return_ds_\form:
	popl	%ds
return_es_\form:
	popl	%es
	addl	$8, %esp
	.globl	return_iret_\form\()_loading
return_iret_\form\()_loading:
	iret
	finish_work
END(return_\form)
.endm

.macro forms form
	vectors \form
	entry	enter_other, exception_other, \form
	entry	enter_interrupt, exception_interrupt, \form
	entry	enter_page_fault, exception_page_fault, \form
	call_entry syscall_traced, exception_syscall_traced, \form
	call_entry syscall_full, exception_syscall, \form
	lean_entry \form
	exit	\form
.endm

	forms	loaded
	forms	checked

/* void return_with(struct regs *regs): leaves the kernel with these registers, which lie at the top of the stack. */
FUNCTION(return_with)
	movl	%eax, %esp
	jmp	return_loaded
END(return_with)

/* The first instructions of a new task: calls the function ebx with argument esi, then enters user mode. */
FUNCTION(task_first_entry)
	movl	%esi, %eax
	call	*%ebx
	jmp	return_loaded
END(task_first_entry)
