/* The context switch. */
#include <arch/asm.h>

	.section .text.cause.switch, "ax"

/* void switch_stack(u32 *from, u32 to): saves the registers and the stack pointer, and goes on with another stack. */
	.balign	16
FUNCTION(switch_stack)
	pushl	%ebp
	pushl	%ebx
	pushl	%esi
	pushl	%edi
	movl	%esp, (%eax)
	movl	%edx, %esp
	popl	%edi
	popl	%esi
	popl	%ebx
	popl	%ebp
	ret
END(switch_stack)

/*
 * void switch_stack_away(struct task *previous, u32 to): previous has ended, and its stack goes as soon as the other is
 * in use.
 */
FUNCTION(switch_stack_away)
	movl	%edx, %esp
	call	task_release_stack
	popl	%edi
	popl	%esi
	popl	%ebx
	popl	%ebp
	ret
END(switch_stack_away)
