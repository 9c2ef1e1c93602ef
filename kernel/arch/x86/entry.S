/*
 * Exception entry and exit. The processor has pushed ss and esp (from a program), eflags, cs, eip and some error codes;
 * the rest of struct regs (arch/regs.h) is pushed here. Interrupts are off in the whole kernel, so every gate disables
 * them.
 */
#include <arch/asm.h>

	.section .text.cause.entry, "ax"

.macro save_registers
	pushl	%es
	pushl	%ds
	pushl	%eax
	pushl	%ebp
	pushl	%edi
	pushl	%esi
	pushl	%edx
	pushl	%ecx
	pushl	%ebx
	cld
	movl	$KERNEL_DS, %eax
	movl	%eax, %ds
	movl	%eax, %es
.endm

/* Vectors 0 to 31, 16 bytes apart. Where the processor pushes no error code, 0 takes its place. */
	.balign	16
	.globl	exception_vectors
exception_vectors:
	.set	n, 0
	.rept	32
	.balign	16
	.if	n == 8 || (n >= 10 && n <= 14) || n == 17
	.else
	pushl	$0
	.endif
	pushl	$n
	.if	n == 14
	jmp	enter_page_fault
	.else
	jmp	enter_other
	.endif
	.set	n, n + 1
	.endr

/* Those of the 8259 pair, 8 bytes apart. */
	.balign	16
	.globl	interrupt_vectors
interrupt_vectors:
	.set	n, 0x20
	.rept	16
	.balign	8
	pushl	$0
	pushl	$n
	jmp	enter_interrupt
	.set	n, n + 1
	.endr

.macro entry name, handler
	.balign	16
\name:
	save_registers
	pushl	%esp
	call	\handler
	addl	$4, %esp
	jmp	return_full
.endm

	entry	enter_other, exception_other
	entry	enter_interrupt, exception_interrupt
	entry	enter_page_fault, exception_page_fault

/* System calls: eax is kept in the place of an error code. */
.macro call_entry name, handler
	.balign	16
FUNCTION(\name)
	pushl	%eax
	pushl	$0x80
	save_registers
	pushl	%esp
	call	\handler
	addl	$4, %esp
	jmp	return_full
END(\name)
.endm

	call_entry syscall_traced, exception_syscall_traced
	call_entry syscall_full, exception_syscall

/* Exit: esp = struct regs. */
	.balign	16
FUNCTION(return_full)
	testb	$3, REGS_CS(%esp)
	jz	1f
	movl	%esp, %eax
	andl	$-KERNEL_STACK_SIZE, %eax
	movl	STACK_TASK(%eax), %eax
	cmpl	$0, TASK_WORK(%eax)
	jne	2f
1:	popl	%ebx
	popl	%ecx
	popl	%edx
	popl	%esi
	popl	%edi
	popl	%ebp
	popl	%eax
	/* A selector of the program's may be invalid meanwhile (exceptions.c). */
	.globl	return_ds, return_es, return_iret
return_ds:
	popl	%ds
return_es:
	popl	%es
	addl	$8, %esp
return_iret:
	iret
2:	pushl	%esp
	call	return_to_user
	addl	$4, %esp
	jmp	1b
END(return_full)

/* void return_with(struct regs *regs): leaves the kernel with these registers, which lie at the top of the stack. */
FUNCTION(return_with)
	movl	4(%esp), %esp
	jmp	return_full
END(return_with)

/* The first instructions of a new task: calls the function ebx with argument esi, then enters user mode. */
FUNCTION(task_first_entry)
	pushl	%esi
	call	*%ebx
	addl	$4, %esp
	jmp	return_full
END(task_first_entry)
