/* The vectors of the local APIC, and the short handlers of flush requests. */
#include <arch/asm.h>

#include "apic.h"

	.section .text.cause.entry, "ax"

/* The vectors of the local APIC, 16 bytes apart: timer, each kind of interrupt between processors, spurious. */
.macro apic_vectors form
	.balign	16
	.globl	apic_vectors_\form
apic_vectors_\form:
	.irp	vector, VECTOR_TIMER, VECTOR_IPI, VECTOR_IPI + 1, VECTOR_IPI + 2, VECTOR_IPI + 3, VECTOR_SPURIOUS
	.balign	16
	pushl	$0
	pushl	$\vector
	jmp	enter_interrupt_\form
	.endr
.endm

	apic_vectors loaded
	apic_vectors checked

	.section .text.cause.flush, "ax"

/*
 * The short handlers of flush requests: no frame, and no C. The interrupt is ended first, so that one that follows the
 * answer comes after this one. What a request asks for is looked up again: the interrupt may be one of an earlier
 * request, which this processor has answered while it waited with interrupts off.
 */
.macro flush_begin kind
	pushl	%eax
	pushl	%ecx
	pushl	%ds
	movl	$USER_DS, %eax
	movl	%eax, %ds
	movl	%esp, %eax
	andl	$-KERNEL_STACK_SIZE, %eax
	movl	STACK_TASK(%eax), %eax
	movl	TASK_CPU(%eax), %ecx
	xorl	%eax, %eax
	xchgl	%eax, CPU_FLUSHES_SENT + 4 * \kind(%ecx)
	movl	$0, APIC_VIRTUAL + APIC_END
	incl	CPU_IPIS_FLUSH(%ecx)
	movl	CPU_FLUSH_BIT(%ecx), %ecx
	testl	%ecx, flush_words + FLUSH_UNANSWERED
	jz	flush_end
	movl	flush_words + FLUSH_START, %eax
.endm

	.balign	16
FUNCTION(flush_all)
	flush_begin FLUSH_ALL
	testl	%eax, %eax
	jnz	flush_pages
flush_everything:
	movl	%cr3, %eax
	movl	%eax, %cr3
flush_answer:
	notl	%ecx
	lock; andl %ecx, flush_words + FLUSH_UNANSWERED
flush_end:
	popl	%ds
flush_restored:
	popl	%ecx
	popl	%eax
	iret
	/* The program has changed the descriptor since it loaded ds. */
flush_ds_gone:
	addl	$4, %esp
	xorl	%eax, %eax
	movl	%eax, %ds
	jmp	flush_restored
END(flush_all)
	recovery flush_end, flush_restored, flush_ds_gone

	.balign	16
FUNCTION(flush_range)
	flush_begin FLUSH_RANGE
	testl	%eax, %eax
	jz	flush_everything
flush_pages:
	invlpg	(%eax)
	addl	$0x1000, %eax
	cmpl	flush_words + FLUSH_END, %eax
	jb	flush_pages
	jmp	flush_answer
END(flush_range)

	.balign	16
FUNCTION(flush_page)
	flush_begin FLUSH_PAGE
	invlpg	(%eax)
	addl	$0x1000, %eax
	cmpl	flush_words + FLUSH_END, %eax
	je	flush_answer
	/* The message asks for something other than a flush. */
	subl	$0x1000, %eax
	jz	flush_everything
	jmp	flush_pages
END(flush_page)
