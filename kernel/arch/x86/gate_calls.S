/*
 * Short messages at the gate (gate.S) by a send and a receive, in place of the call that does both, to measure what
 * that call saves (policy ipc.path=fast-calls; Liedtke 1993, 5.2.1).
 *
 * A send writes the message's words to the receiver's struct regs and makes the receiver ready: the receiver enters the
 * ready queue, unless it still is there (ready.queue=lazy, which this form needs). The sender goes on. The receiver
 * accepts no further message: MESSAGE_TAKEN says that it has one and has not run since. When the sender receives, the
 * processor switches to that receiver at once. If C code makes the receiver run before, C code finds a ready task like
 * any other, which goes on at message_woken_receiving or in message_switch_noting(); both end MESSAGE_TAKEN.
 */
#include <arch/asm.h>

	.section .text.cause.entry, "ax"

#include "gate_path.h"

#define SAVED(register) (REGS_##register - FRAME_SIZE)  /* in struct regs, from the top of the stack */

/* Goes to the full call if there is a time limit, or memory to send. */
.macro only_words
	leal	1(%edx), %eax
	orl	%ecx, %eax
	jnz	7f
.endm

/*
 * Checks the program's data segments; then ecx = current's task, edx = the other task of current's pair. Until the
 * check only the stack is certain to be in a segment of the kernel. The place of the message's last word holds ds and
 * es for the comparison.
 */
.macro pair_checked
	movw	%ds, BLOCK(BLOCK_EBP)(%esp)
	movw	%es, BLOCK(BLOCK_EBP) + 2(%esp)
	cmpl	$(USER_DS << 16 | USER_DS), BLOCK(BLOCK_EBP)(%esp)
	jne	7f
	movl	BLOCK(BLOCK_TASK)(%esp), %ecx
	movl	BLOCK(BLOCK_PEER)(%esp), %edx
.endm

/* Where this path cannot serve the call: the ordinary entry does. At 6, ecx and edx get the call's values again. */
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
	/* The point of no return: nothing fails after it. */
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
	/* The receiver is in no ready queue: append it to the queue of the tasks that have slept. */
3:	movl	cpus + CPU_URGENT + LIST_PREV, %ebx
	movl	$cpus + CPU_URGENT, LIST_NEXT(%eax)
	movl	%ebx, LIST_PREV(%eax)
	movl	%eax, LIST_NEXT(%ebx)
	movl	%eax, cpus + CPU_URGENT + LIST_PREV
	movl	BLOCK(BLOCK_NUMBER)(%esp), %ebx
	jmp	2b
END(message_entry_calls)

/*
 * No sender waits for current while current is in a pair, because a thread that begins to wait ends all pairs
 * (wait_to_send()). If current's pair has ended, BLOCK_PEER holds current itself, which has not taken a message.
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

/* Where a task goes on that waited in message_receive and was woken by C code. esp = its struct regs. */
	.balign	16
FUNCTION(message_woken_receiving)
	movl	%esp, %eax
	call	message_go_on_receiving
	jmp	return_loaded
END(message_woken_receiving)
