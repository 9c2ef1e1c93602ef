/*
 * Short messages at the gate of system calls (message.c): the two calls that send words and then wait, from a program
 * to one that waits, without a C function or a queue. The words stay in their registers.
 *
 * It runs with translation off, so nothing here can miss. r3 is the partner's number, r4 to r8 are the call's other
 * arguments, r10 = CR, and cr1 is equal if the call is ipc_reply_wait. Whatever is not the simple case goes on at the
 * lean entry, before anything has changed. Only one processor alone, with segment registers of 32 bits, comes here
 * (message.h), so no other changes what is checked.
 *
 * C code finds a task that waits here asleep, below a struct regs that message_go_on() completes: whoever makes it run
 * in another way lets it go on at message_woken. A task that waits in C for the same may be let go on here, because its
 * call has saved all registers too (syscall_message).
 */
#include <arch/asm.h>

#define SWITCH_FRAME 96                 /* switch.S */

/* Members of a task, from its struct arch_task. */
#define IN_TASK(member) ((member) - TASK_ARCH)

	.section .text.cause.entry, "ax"

	.balign	32
FUNCTION(message_entry)
	mfspr	r9, SPR_SPRG3           /* current */
	addi	r12, r5, 1
	or.	r12, r12, r4
	lwz	r11, ARCH_PEER_NUMBER(r9)
	bne-	.Llimited		/* a time limit, or memory: waiting and copying are C's */
	/* From here on it is known what r4 and r5 were. */
	lwz	r4, ARCH_PEER(r9)
	cmplw	r11, r3
	lwz	r12, IN_TASK(TASK_WORK)(r9)
	bne-	.Lslow			/* permission, turns and priorities were looked at for this partner alone */
	lwz	r11, ARCH_ACCEPTS(r4)
	lwz	r5, IN_TASK(TASK_WORK)(r4)
	beq	cr1, 1f
	cmplwi	r11, ANYONE
	beq+	2f
1:	cmplw	r11, r9
	bne-	3f                      /* it does not wait here for this task */
2:	or.	r12, r12, r5
	lwz	r5, IN_TASK(TASK_MM)(r4)
	bne-	.Lslow			/* a signal, a switch or other work is due */
	lis	r12, PHYS(context_current)@ha
	addis	r11, r5, 0x4000         /* its physical address: 3 GB less */
	lwz	r12, PHYS(context_current)@l(r12)
	lwz	r0, MM_GENERATION(r11)
	cmplw	r0, r12
	bne-	.Lstale			/* its VSIDs are of the last generation, and may be another's now */

	/*
	 * The point of no return: current waits from now on, and the partner runs. Moves to segment registers take the
	 * time in which registers are stored.
	 */
	lwz	r12, ARCH_FRAME(r9)
	lwz	r0, MM_SEGMENT_BASE(r11)
	.irp	n, 13, 14, 15, 16, 17, 18, 19
	stw	\n, GPR(\n)(r12)
	.endr
	lis	r15, PHYS(vsid_form + VSID_STEP)@ha
	lis	r13, SR_KEY_USER >> 16
	lwz	r15, PHYS(vsid_form + VSID_STEP)@l(r15)
	lis	r14, SR_KEY_USER >> 16
	rlwimi	r13, r0, 0, 8, 31
	add	r0, r0, r15
.macro next_segments segment, stores:vararg
	rlwimi	r14, r0, 0, 8, 31
	mtsr	\segment, r13
	\stores
	add	r0, r0, r15
	rlwimi	r13, r0, 0, 8, 31
	mtsr	\segment + 1, r14
	add	r0, r0, r15
.endm
.macro store_registers first
	stw	\first, GPR(\first)(r12)
	stw	\first + 1, GPR(\first + 1)(r12)
.endm
	mfspr	r16, SPR_SRR0
	next_segments 0, store_registers 20
	mfspr	r17, SPR_SRR1
	next_segments 2, store_registers 22
	mflr	r18
	next_segments 4, store_registers 24
	next_segments 6, store_registers 26
	next_segments 8, store_registers 28
	next_segments 10, store_registers 30
	stw	r1, GPR(1)(r12)
	addis	r1, r12, -0x4000        /* the frame's virtual address */
	stw	r2, GPR(2)(r12)
	lis	r20, message_woken@ha
	stw	r3, FRAME_ORIG_GPR3(r12)
	addi	r20, r20, message_woken@l
	stw	r6, GPR(6)(r12)
	addi	r1, r1, -SWITCH_FRAME
	stw	r7, GPR(7)(r12)
	li	r21, 0                  /* TASK_RUNNING, RENDEZVOUS_NONE */
	stw	r8, GPR(8)(r12)
	li	r22, ANYONE             /* TASK_INTERRUPTIBLE, RENDEZVOUS_RECEIVING */
	stw	r10, FRAME_CCR(r12)
	lis	r24, PHYS(cpus)@ha
	stw	r18, FRAME_LINK(r12)
	addi	r24, r24, PHYS(cpus)@l
	stw	r16, FRAME_NIP(r12)
	mftb	r25
	stw	r17, FRAME_MSR(r12)
	stw	r20, 4(r12)
	lwz	r2, ARCH_TASK(r4)
	stw	r1, ARCH_KSP(r9)
	stw	r21, IN_TASK(TASK_STATE)(r4)
	stw	r21, ARCH_ACCEPTS(r4)
	stw	r21, IN_TASK(TASK_RENDEZVOUS)(r4)
	stw	r22, IN_TASK(TASK_STATE)(r9)
	stw	r22, IN_TASK(TASK_RENDEZVOUS)(r9)
	lwz	r23, IN_TASK(TASK_TGID)(r4)
	lwz	r3, IN_TASK(TASK_PID)(r9)
	lis	r26, CONTROL_CONTEXT_PA@ha
6:	nop                             /* control.c: with a control device, message_report_store */
	.pushsection .rodata
	.globl	message_report
message_report:
	.long	6b
	.popsection
	beq	cr1, 4f
	stw	r4, ARCH_ACCEPTS(r9)
	stw	r2, IN_TASK(TASK_PARTNER)(r9)
	stw	r3, ARCH_PEER_NUMBER(r4)        /* it will answer */
	stw	r9, ARCH_PEER(r4)
	b	5f
3:	cmplwi	r11, ANYONE
	beq	2b
.Lstale:
	li	r0, CALL_IPC_CALL       /* the check has used r0 */
	bne	cr1, .Lslow
	li	r0, CALL_IPC_REPLY_WAIT
.Lslow:
	li	r4, 0
	li	r5, -1
.Llimited:
	ba	MESSAGE_LEAN_ENTRY
4:	stw	r22, ARCH_ACCEPTS(r9)
	stw	r21, IN_TASK(TASK_PARTNER)(r9)
5:	lwz	r26, CPU_RUN_SINCE(r24)
	lwz	r27, IN_TASK(TASK_RUN_TICKS) + 4(r9)
	lwz	r28, IN_TASK(TASK_RUN_TICKS)(r9)
	lwz	r29, ARCH_PASSED(r9)
	subf	r26, r26, r25
	lwz	r30, MM_ROOT(r11)
	addc	r27, r27, r26
	lwz	r11, ARCH_FRAME(r4)
	addze	r28, r28
	stw	r25, CPU_RUN_SINCE(r24)
	addi	r29, r29, 1
	stw	r27, IN_TASK(TASK_RUN_TICKS) + 4(r9)
	mtspr	SPR_SPRG3, r4
	stw	r28, IN_TASK(TASK_RUN_TICKS)(r9)
	addis	r30, r30, 0x4000
	stw	r29, ARCH_PASSED(r9)
	mtspr	SPR_SPRG2, r30
	stw	r2, CPU_RUNNING(r24)
	stw	r5, CPU_MM(r24)

	/* The partner goes on as after any call: no register shows the program what the kernel had in it. */
	lwz	r12, FRAME_NIP(r11)
	lwz	r9, FRAME_MSR(r11)
	lwz	r10, FRAME_CCR(r11)
	mtsrr0	r12
	lwz	r0, FRAME_LINK(r11)
	lwz	r13, GPR(13)(r11)
	mtsrr1	r9
	lwz	r14, GPR(14)(r11)
	lwz	r15, GPR(15)(r11)
	rlwinm	r10, r10, 0, 4, 2       /* clear CR0.SO */
	mtlr	r0
	lwz	r16, GPR(16)(r11)
	lwz	r17, GPR(17)(r11)
	li	r0, 0
	mtcrf	0xff, r10
	lwz	r18, GPR(18)(r11)
	lwz	r19, GPR(19)(r11)
	mtctr	r0
	lwz	r20, GPR(20)(r11)
	lwz	r21, GPR(21)(r11)
	mtxer	r0
	lwz	r22, GPR(22)(r11)
	li	r4, 0                   /* bytes of memory in the message */
	lwz	r23, GPR(23)(r11)
	li	r5, -1
	lwz	r24, GPR(24)(r11)
	li	r9, 0
	lwz	r25, GPR(25)(r11)
	li	r10, 0
	lwz	r26, GPR(26)(r11)
	li	r12, 0
	.irp	n, 27, 28, 29, 30, 31, 1, 2
	lwz	\n, GPR(\n)(r11)
	.endr
	li	r11, 0
	rfi
END(message_entry)

	.globl	message_report_store
message_report_store:
	stw	r23, CONTROL_CONTEXT_PA@l(r26)

/* Where a task goes on that waits here and was woken by C code. r1 = its frame. */
FUNCTION(message_woken)
	addi	r3, r1, FRAME_REGS
	bl	message_go_on
	b	return_full
END(message_woken)
