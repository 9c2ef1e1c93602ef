/*
 * Short messages at the gate (gate.S) whose eight bytes lie in memory, to measure what registers save (policy
 * ipc.path=fast-memory; Liedtke 1993, 5.3.6). The words in registers pass too, as in every message.
 *
 * The bytes are copied once, through the window onto the other address space (aperture.c), before anything else has
 * changed: whatever faults there goes the ordinary way, in which the page is faulted in. Before that come the accesses
 * to the program's own memory. Other tasks may run in a fault there, so that nothing has been looked at yet.
 *
 * A thread that waits has the place for its message in its rendezvous.buffers, like one that waits in C. There it has,
 * too, what message_go_on() finds in place of what it would send: the address that its call has in ecx.
 */
#include <arch/asm.h>

	.section .text.cause.entry, "ax"

#include "gate_path.h"

/*
 * The checks and the copy. ecx = current's task, edx = the partner's, as in message_checks (gate_path.h). ebp = the
 * address of the program's struct ipc_buffers, ebx = the address of its place for a message.
 */
.macro memory_checks first, second, number
	cmpl	$-1, %edx               /* a time limit */
	jne	8f
	movw	%ds, BLOCK(BLOCK_EBP)(%esp)
	movw	%es, BLOCK(BLOCK_EBP) + 2(%esp)
	cmpl	$(USER_DS << 16 | USER_DS), BLOCK(BLOCK_EBP)(%esp)
	jne	8f
	movl	%ebp, BLOCK(BLOCK_EBP)(%esp)
	movl	%ebx, BLOCK(BLOCK_EBX)(%esp)
	movl	%esi, BLOCK(BLOCK_ESI)(%esp)
	movl	%edi, BLOCK(BLOCK_EDI)(%esp)
	movl	%ecx, %ebp
	testl	%ecx, %ecx              /* the call names no buffers */
	jz	7f
	cmpl	$USER_END_ASM - BUFFERS_SIZE, %ecx
	ja	7f
own_\number:
	movl	BUFFERS_SEND(%ebp), %eax
	movl	BUFFERS_RECEIVE(%ebp), %ebx
	cmpl	$MESSAGE_BYTES, BUFFERS_SEND_SIZE(%ebp)
	jne	7f
	cmpl	$MESSAGE_BYTES, BUFFERS_RECEIVE_SIZE(%ebp)
	jne	7f
	cmpl	$USER_END_ASM - MESSAGE_BYTES, %eax
	ja	7f
	cmpl	$USER_END_ASM - MESSAGE_BYTES, %ebx
	ja	7f
	movl	(%eax), %esi
	movl	4(%eax), %edi
own_end_\number:
	movl	BLOCK(BLOCK_EBX)(%esp), %eax
	cmpl	%eax, BLOCK(BLOCK_NUMBER)(%esp)
	jne	7f
	movl	BLOCK(BLOCK_TASK)(%esp), %ecx
	movl	BLOCK(BLOCK_PEER)(%esp), %edx
	movw	%gs, TASK_GS(%ecx)
	movw	%fs, TASK_FS(%ecx)
	movl	TASK_SELECTORS(%ecx), %eax
	cmpl	%eax, TASK_SELECTORS(%edx)
	jne	7f
	cmpl	\first, TASK_ACCEPTS(%edx)
	jne	5f
4:	cmpl	$MESSAGE_BYTES, TASK_BUFFERS + BUFFERS_RECEIVE_SIZE(%edx)
	jne	7f
	cmpl	$0, TASK_COPIER(%edx)
	jne	7f
	cmpb	$0, cpus + CPU_WINDOW_USED      /* the TLB may have what it showed before */
	jne	7f
	/* The page table of the place, and the place in the window, which must not end within the message. */
	movl	TASK_BUFFERS + BUFFERS_RECEIVE(%edx), %eax
	movl	TASK_MM(%edx), %edx
	movl	%eax, %ecx
	movl	MM_ROOT(%edx), %edx
	shrl	$WINDOW_SHIFT, %ecx
	andl	$WINDOW_MOST, %eax
	movl	(%edx, %ecx, 4), %ecx
	cmpl	$WINDOW_MOST + 1 - MESSAGE_BYTES, %eax
	ja	7f
	movl	cpus + CPU_MM, %edx
	andl	$~FOR_PROGRAMS, %ecx
	movl	MM_ROOT(%edx), %edx
	movl	%ecx, WINDOW_SLOT(%edx)
other_\number:
	movl	%esi, WINDOW_ASM(%eax)
	movl	%edi, WINDOW_ASM + 4(%eax)
other_end_\number:
	movl	$0, WINDOW_SLOT(%edx)
	movl	BLOCK(BLOCK_TASK)(%esp), %ecx
	movl	BLOCK(BLOCK_PEER)(%esp), %edx
	movl	BLOCK(BLOCK_ESI)(%esp), %esi
	movl	BLOCK(BLOCK_EDI)(%esp), %edi
	movl	%ebp, TASK_BUFFERS + BUFFERS_SEND(%ecx)
	movl	%ebx, TASK_BUFFERS + BUFFERS_RECEIVE(%ecx)
	xorl	%ebx, %ebx
	movl	$MESSAGE_BYTES, TASK_BUFFERS + BUFFERS_RECEIVE_SIZE(%ecx)
	movl	BLOCK(BLOCK_EBP)(%esp), %ebp
	movl	%ebx, TASK_BUFFERS + BUFFERS_SEND_SIZE(%edx)
	movl	%ebx, TASK_BUFFERS + BUFFERS_RECEIVE_SIZE(%edx)
	.pushsection .text.cause.entry, 1
5:	cmpl	\second, TASK_ACCEPTS(%edx)
	je	4b
	jmp	7f
other_fault_\number:
	movl	$0, WINDOW_SLOT(%edx)
	movb	$1, cpus + CPU_WINDOW_USED
7:	movl	%ebp, %ecx
	movl	BLOCK(BLOCK_EBP)(%esp), %ebp
	movl	BLOCK(BLOCK_EBX)(%esp), %ebx
	movl	BLOCK(BLOCK_ESI)(%esp), %esi
	movl	BLOCK(BLOCK_EDI)(%esp), %edi
	orl	$-1, %edx
8:	movl	$\number, %eax
	jmp	syscall_lean_checked
	.popsection
	recovery own_\number, own_end_\number, 7b
	recovery other_\number, other_end_\number, other_fault_\number
.endm

	.balign	1024
FUNCTION(message_entry_memory)
	cmpl	$CALL_MESSAGE_CALL, %eax
	jne	1f
	memory_checks $ANYONE, %ecx, CALL_MESSAGE_CALL
	message_exchange call, registers
1:	cmpl	$CALL_MESSAGE_REPLY_WAIT, %eax
	jne	syscall_lean_checked
	memory_checks %ecx, $ANYONE, CALL_MESSAGE_REPLY_WAIT
	message_exchange reply, registers
END(message_entry_memory)
