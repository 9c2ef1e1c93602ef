/*
 * Short messages at the gate of system calls (message.c): the two calls that send words and then wait, from a program
 * to one that waits, without a frame, a C function or a queue. The words stay in their registers.
 *
 * The processor has pushed ss, esp, eflags, cs and eip; right above lies struct message_block. esi, edi and ebp are
 * the words, ebx is the partner's number, eax the call's. Whatever is not the simple case goes on at the ordinary
 * entry, before anything has changed. A program that enters the kernel has no work to do (task->work), and neither has
 * one that waits and was not woken.
 *
 * There is one processor, and no kernel lock: messages pass here only with switch.time=last (message.h). A processor
 * with a counter of cycles refuses this policy, and all machines with several processors have one (several_look()).
 *
 * C code finds a task that waits here asleep, below a struct regs that message_go_on() fills in: whoever makes it run
 * in another way lets it go on at message_woken.
 */
#include <arch/asm.h>

	.section .text.cause.entry, "ax"

#include "gate_path.h"

	.balign	16
FUNCTION(message_entry)
	cmpl	$CALL_MESSAGE_CALL, %eax
	jne	1f
	message_checks $ANYONE, %ecx, CALL_MESSAGE_CALL, nothing
	message_exchange call, nothing
1:	cmpl	$CALL_MESSAGE_REPLY_WAIT, %eax
	jne	syscall_lean_checked
	message_checks %ecx, $ANYONE, CALL_MESSAGE_REPLY_WAIT, nothing
	message_exchange reply, nothing
END(message_entry)

/* Where a task goes on that waits here and was woken by C code. esp = its struct regs. */
	.balign	16
FUNCTION(message_woken)
	movl	%esp, %eax
	call	message_go_on
	jmp	return_loaded
END(message_woken)
