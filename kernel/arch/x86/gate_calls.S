/*
 * Short messages at the gate (gate.S) by a send and a receive, in place of the call that does both, to measure what
 * that call saves (policy ipc.path=fast-calls; Liedtke 1993, 5.2.1).
 *
 * The sender goes on. Its words go to the receiver's struct regs, and the receiver becomes ready: it enters the ready
 * queue, unless it still is there (ready.queue=lazy, which this form needs). It accepts nobody's message from now on,
 * but MESSAGE_TAKEN says that it has one and has not run. When the sender waits, the processor switches to it at once.
 * C code that makes it run finds it like any other ready task, and lets it go on at message_woken_receiving or in
 * message_switch_noting(); both end the state.
 */
#include <arch/asm.h>

	.section .text.cause.entry, "ax"

#include "gate_path.h"

#define SAVED(register) (REGS_##register - FRAME_SIZE)  /* in struct regs, from the top of the stack */

/* Neither a time limit nor memory. */
.macro only_words
	leal	1(%edx), %eax
	orl	%ecx, %eax
	jnz	7f
.endm

/*
 * ecx = current's task, edx = the other of its pair. Only the stack's segment is the kernel's for certain before. The
 * last word's place holds ds and es.
 */
.macro pair_checked
	movw	%ds, BLOCK(BLOCK_EBP)(%esp)
	movw	%es, BLOCK(BLOCK_EBP) + 2(%esp)
	cmpl	$(USER_DS << 16 | USER_DS), BLOCK(BLOCK_EBP)(%esp)
	jne	7f
	movl	BLOCK(BLOCK_TASK)(%esp), %ecx
	movl	BLOCK(BLOCK_PEER)(%esp), %edx
.endm

/* The way of all other cases. */
.macro otherwise number
6:	xorl	%ecx, %ecx
	orl	$-1, %edx
7:	movl	$\number, %eax
	jmp	syscall_lean_checked
.endm

	.balign	1024
FUNCTION(message_entry_calls)
	cmpl	$CALL_MESSAGE_SEND, %eax
	jne	message_receive
	only_words
	cmpl	%ebx, BLOCK(BLOCK_NUMBER)(%esp)
	jne	7f
	pair_checked
	cmpl	%ecx, TASK_ACCEPTS(%edx)
	jne	5f
	/* The point of no return: the message is there from now on. */
4:	leal	TASK_RUN_LINK(%edx), %eax
	cmpl	%eax, LIST_NEXT(%eax)
	je	3f
2:	movl	TASK_STACK_TOP(%edx), %eax
	movl	%esi, SAVED(ESI)(%eax)
	movl	%edi, SAVED(EDI)(%eax)
	movl	%ebp, SAVED(EBP)(%eax)
	movl	TASK_PID(%ecx), %ecx
	movl	$0, SAVED(ECX)(%eax)            /* bytes of memory in the message */
	xorl	%eax, %eax                      /* TASK_RUNNING, RENDEZVOUS_NONE, and the result */
	movl	%ecx, TASK_RESULT(%edx)
	xorl	%ecx, %ecx
	movl	$TAKEN, TASK_ACCEPTS(%edx)
	movl	%eax, TASK_STATE(%edx)
	movl	%eax, TASK_RENDEZVOUS(%edx)
	movb	$1, TASK_DONE(%edx)
	orl	$-1, %edx
	iret
5:	cmpl	$ANYONE, TASK_ACCEPTS(%edx)
	je	4b
	otherwise CALL_MESSAGE_SEND
	/* It is in no queue: it goes to the end of that of tasks that have slept. */
3:	movl	cpus + CPU_URGENT + LIST_PREV, %ebx
	movl	$cpus + CPU_URGENT, LIST_NEXT(%eax)
	movl	%ebx, LIST_PREV(%eax)
	movl	%eax, LIST_NEXT(%ebx)
	movl	%eax, cpus + CPU_URGENT + LIST_PREV
	movl	BLOCK(BLOCK_NUMBER)(%esp), %ebx
	jmp	2b
END(message_entry_calls)

/*
 * Nobody has sent current a message while the other of its pair is known (wait_to_send()), and with another one its
 * place holds the task itself, which accepts nobody's.
 */
FUNCTION(message_receive)
	cmpl	$CALL_MESSAGE_RECEIVE, %eax
	jne	syscall_lean_checked
	only_words
	testl	%ebx, %ebx
	jz	1f
	cmpl	%ebx, BLOCK(BLOCK_NUMBER)(%esp)
	jne	7f
1:	pair_checked
	cmpl	$TAKEN, TASK_ACCEPTS(%edx)
	jne	6f
	cmpl	$0, TASK_WORK(%edx)
	jne	6f
	movw	%gs, TASK_GS(%ecx)
	movw	%fs, TASK_FS(%ecx)
	movl	TASK_SELECTORS(%ecx), %eax
	cmpl	%eax, TASK_SELECTORS(%edx)
	jne	6f
	movl	%esi, BLOCK(BLOCK_ESI)(%esp)
	movl	%edi, BLOCK(BLOCK_EDI)(%esp)
	movl	%ebp, BLOCK(BLOCK_EBP)(%esp)
	movl	%ebx, BLOCK(BLOCK_EBX)(%esp)
	/* The point of no return: current waits from now on, and the other runs. */
	incl	BLOCK(BLOCK_PASSED)(%esp)
	subl	$WAITING, %esp
	movl	$message_woken_receiving, SWITCH_FRAME - 4(%esp)
	movl	%esp, TASK_ESP(%ecx)
	movl	$ANYONE, %eax                   /* TASK_INTERRUPTIBLE, RENDEZVOUS_RECEIVING */
	movl	$0, TASK_ACCEPTS(%edx)
	movl	%eax, TASK_STATE(%ecx)
	movl	%eax, TASK_RENDEZVOUS(%ecx)
	testl	%ebx, %ebx
	jz	2f
	movl	%edx, %ebx
	movl	%edx, %eax
2:	movl	%eax, TASK_ACCEPTS(%ecx)
	movl	%ebx, TASK_PARTNER(%ecx)
	movl	TASK_MM(%edx), %eax
	movl	%eax, cpus + CPU_MM
	movl	TASK_STACK_TOP(%edx), %ecx
	movl	TASK_ROOT(%edx), %ebx
	movl	%ecx, cpus + CPU_ESP0
	movl	TASK_RESULT(%edx), %eax
	leal	-IRET_SIZE(%ecx), %esp
	movl	%ebx, %cr3
	movl	%edx, cpus + CPU_RUNNING
	movl	SAVED(ESI)(%ecx), %esi
	movl	SAVED(EDI)(%ecx), %edi
	movl	SAVED(EBP)(%ecx), %ebp
	movl	BLOCK(BLOCK_EBX)(%esp), %ebx
	xorl	%ecx, %ecx                      /* bytes of memory in the message */
	orl	$-1, %edx
	iret
	otherwise CALL_MESSAGE_RECEIVE
END(message_receive)

/* As message_woken (gate.S). */
	.balign	16
FUNCTION(message_woken_receiving)
	movl	%esp, %eax
	call	message_go_on_receiving
	jmp	return_loaded
END(message_woken_receiving)
