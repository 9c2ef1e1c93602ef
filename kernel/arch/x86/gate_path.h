/*
 * What the forms of the path at the gate are made of: the checks before a message at the gate of system calls, and the
 * exchange of the two programs. `without` names the one technique of the 1993 paper that a form does not have.
 * segments: it loads the data segment registers for the kernel and for the program; the comparisons stay, because a
 * program with other segments goes the ordinary way. queue: the task that waits leaves the ready queue, and the task
 * that runs enters it. registers: the message lies in memory (gate_memory.S).
 */
#define BLOCK(member) (IRET_SIZE + (member))
/* From what the processor has pushed down to the rest of struct regs and what switch_stack leaves. */
#define WAITING (FRAME_SIZE - IRET_SIZE + SWITCH_FRAME)

/*
 * Checks. ecx = current's task, edx = the partner's, which waits in this way for a message: `first` is the likely
 * sender that it waits for, `second` the other one. Only the stack's segment is the kernel's for certain: what is not
 * on the stack has to wait for the check of ds.
 */
.macro message_checks first, second, number, without
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
	.ifc	\without, segments
	movl	$KERNEL_DS, %eax
	movw	%ax, %ds
	movw	%ax, %es
	.endif
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
6:	.ifc	\without, segments
	movl	$USER_DS, %eax
	movw	%ax, %ds
	movw	%ax, %es
	.endif
	xorl	%ecx, %ecx
	orl	$-1, %edx
7:	movl	$\number, %eax
	jmp	syscall_lean_checked
	.popsection
.endm

/* The point of no return: current waits from now on, and the partner runs. */
.macro message_exchange kind, without
	incl	BLOCK(BLOCK_PASSED)(%esp)
	subl	$WAITING, %esp
	movl	$message_woken, SWITCH_FRAME - 4(%esp)
	movl	%esp, TASK_ESP(%ecx)
	.ifc	\without, queue
	movl	TASK_RUN_LINK + LIST_NEXT(%ecx), %eax
	movl	TASK_RUN_LINK + LIST_PREV(%ecx), %ebx
	movl	%ebx, LIST_PREV(%eax)
	movl	%eax, LIST_NEXT(%ebx)
	leal	TASK_RUN_LINK(%ecx), %eax
	movl	%eax, LIST_NEXT(%eax)
	movl	%eax, LIST_PREV(%eax)
	movl	cpus + CPU_ACTIVE, %ebx
	movl	LIST_PREV(%ebx), %eax
	addl	$TASK_RUN_LINK, %edx
	movl	%ebx, LIST_NEXT(%edx)
	movl	%eax, LIST_PREV(%edx)
	movl	%edx, LIST_PREV(%ebx)
	movl	%edx, LIST_NEXT(%eax)
	subl	$TASK_RUN_LINK, %edx
	.endif
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
	.ifc	\without, segments
	movl	$USER_DS, %ebx
	movw	%bx, %ds
	movw	%bx, %es
	movw	TASK_FS(%edx), %fs
	movw	TASK_GS(%edx), %gs
	.endif
	.ifc	\kind, call
	movl	%eax, BLOCK(BLOCK_NUMBER)(%esp) /* the receiver will answer */
	movl	%ecx, BLOCK(BLOCK_PEER)(%esp)
	.endif
	movl	BLOCK(BLOCK_EBX)(%esp), %ebx
	.ifc	\without, registers
	movl	$MESSAGE_BYTES, %ecx
	.else
	xorl	%ecx, %ecx                      /* bytes of memory in the message */
	.endif
	orl	$-1, %edx
	iret
.endm
