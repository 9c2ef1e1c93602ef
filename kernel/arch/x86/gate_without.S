/*
 * Short messages at the gate (gate.S) without one technique each, to measure what the technique saves of the shortest
 * path (policy ipc.path). Their code lies in another page than the tables that a message touches, which costs a TLB
 * miss that gate.S does not have (hot_gate.lds). So one form has all techniques and lies here, to be compared with.
 */
#include <arch/asm.h>

	.section .text.cause.entry, "ax"

#include "gate_path.h"

.macro message_form name, without
	.balign	1024
FUNCTION(\name)
	cmpl	$CALL_MESSAGE_CALL, %eax
	jne	1f
	message_checks $ANYONE, %ecx, CALL_MESSAGE_CALL, \without
	message_exchange call, \without
1:	cmpl	$CALL_MESSAGE_REPLY_WAIT, %eax
	jne	syscall_lean_checked
	message_checks %ecx, $ANYONE, CALL_MESSAGE_REPLY_WAIT, \without
	message_exchange reply, \without
END(\name)
.endm

	message_form message_entry_apart, nothing
	message_form message_entry_loading, segments
	message_form message_entry_queueing, queue
