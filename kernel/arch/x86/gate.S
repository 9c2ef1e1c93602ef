/*
 * Short messages at the gate of system calls (message.c): the two calls that send words and then wait, from a program
 * to one that waits, without a frame, a C function or a queue. The words stay in their registers.
 *
 * The processor has pushed ss, esp, eflags, cs and eip; right above lies struct message_block. esi, edi and ebp are the
 * words, ebx is the partner's number, eax the call's. Whatever is not the simple case goes on at the ordinary entry,
 * before anything has changed. A program that enters the kernel has no work to do (task->work), and neither has one
 * that waits and was not woken.
 *
 * There is one processor, and no kernel lock: no message passes here without switch.time=last (message.h), which a
 * processor with a counter of cycles refuses, and where there are several, all have one (several_look()).
 *
 * C code finds a task that waits here asleep, below a struct regs that message_go_on() fills in: whoever makes it run
 * in another way lets it go on at message_woken.
 */
#include <arch/asm.h>

	.section .text.cause.entry, "ax"

#define BLOCK(member) (IRET_SIZE + (member))
/* From what the processor has pushed down to the rest of struct regs and what switch_stack leaves. */
#define WAITING (FRAME_SIZE - IRET_SIZE + SWITCH_FRAME)

/*
 * Checks. ecx = current's task, edx = the partner's, which waits in this way for a message: `first` is from whom it
 * likely does, `second` from whom else it may. Only the stack's segment is the kernel's for certain: what is not on the
 * stack has to wait for the check of ds.
 */
.macro message_checks first, second, number
	leal	1(%edx), %eax           /* a time limit, */
	orl	%ecx, %eax              /* or memory */
	jnz	7f
	cmpl	%ebx, BLOCK(BLOCK_NUMBER)(%esp)
	jne	7f
	/* Nobody reads these while the task runs. The last word's place holds ds and es first. */
	movw	%ds, BLOCK(BLOCK_EBP)(%esp)
	movw	%es, BLOCK(BLOCK_EBP) + 2(%esp)
	cmpl	$(USER_DS << 16 | USER_DS), BLOCK(BLOCK_EBP)(%esp)
	jne	7f
	movl	%ebx, BLOCK(BLOCK_EBX)(%esp)
	movl	%esi, BLOCK(BLOCK_ESI)(%esp)
	movl	BLOCK(BLOCK_TASK)(%esp), %ecx
	movl	BLOCK(BLOCK_PEER)(%esp), %edx
	/* Nearly all programs have the same segments for threads; their descriptors are the same (message.c). */
	movw	%gs, TASK_GS(%ecx)
	movw	%fs, TASK_FS(%ecx)
	movl	%edi, BLOCK(BLOCK_EDI)(%esp)
	movl	TASK_SELECTORS(%ecx), %eax
	cmpl	%eax, TASK_SELECTORS(%edx)
	jne	6f
	cmpl	\first, TASK_ACCEPTS(%edx)
	jne	5f
4:	movl	%ebp, BLOCK(BLOCK_EBP)(%esp)
	.pushsection .text.cause.entry, 1
5:	cmpl	\second, TASK_ACCEPTS(%edx)
	je	4b
6:	xorl	%ecx, %ecx
	orl	$-1, %edx
7:	movl	$\number, %eax
	jmp	syscall_lean_checked
	.popsection
.endm

/* The point of no return: current waits from now on, and the partner runs. */
.macro message_exchange kind
	incl	BLOCK(BLOCK_PASSED)(%esp)
	subl	$WAITING, %esp
	movl	$message_woken, SWITCH_FRAME - 4(%esp)
	movl	%esp, TASK_ESP(%ecx)
	xorl	%ebx, %ebx                      /* TASK_RUNNING, RENDEZVOUS_NONE */
	movl	$ANYONE, %eax                   /* TASK_INTERRUPTIBLE, RENDEZVOUS_RECEIVING */
	movl	%ebx, TASK_STATE(%edx)
	movl	%ebx, TASK_ACCEPTS(%edx)
	movl	%ebx, TASK_RENDEZVOUS(%edx)
	movl	%eax, TASK_STATE(%ecx)
	.ifc	\kind, call
	movl	%edx, TASK_ACCEPTS(%ecx)
	movl	%edx, TASK_PARTNER(%ecx)
	.else
	movl	%eax, TASK_ACCEPTS(%ecx)
	movl	%ebx, TASK_PARTNER(%ecx)
	.endif
	movl	%eax, TASK_RENDEZVOUS(%ecx)
	movl	TASK_MM(%edx), %eax
	movl	%eax, cpus + CPU_MM
	movl	TASK_STACK_TOP(%edx), %eax
	movl	TASK_ROOT(%edx), %ebx
	movl	%eax, cpus + CPU_ESP0
	leal	-IRET_SIZE(%eax), %esp
	movl	TASK_PID(%ecx), %eax
	movl	%ebx, %cr3
	movl	%edx, cpus + CPU_RUNNING        /* here no store waits for those before */
	.ifc	\kind, call
	movl	%eax, BLOCK(BLOCK_NUMBER)(%esp) /* it will answer */
	movl	%ecx, BLOCK(BLOCK_PEER)(%esp)
	.endif
	movl	BLOCK(BLOCK_EBX)(%esp), %ebx
	xorl	%ecx, %ecx                      /* bytes of memory in the message */
	orl	$-1, %edx
	iret
.endm

	.balign	16
FUNCTION(message_entry)
	cmpl	$CALL_MESSAGE_CALL, %eax
	jne	1f
	message_checks $ANYONE, %ecx, CALL_MESSAGE_CALL
	message_exchange call
1:	cmpl	$CALL_MESSAGE_REPLY_WAIT, %eax
	jne	syscall_lean_checked
	message_checks %ecx, $ANYONE, CALL_MESSAGE_REPLY_WAIT
	message_exchange reply
END(message_entry)

/* Where a task goes on that waits here and was woken by C code. esp = its struct regs. */
	.balign	16
FUNCTION(message_woken)
	movl	%esp, %eax
	call	message_go_on
	jmp	return_loaded
END(message_woken)
