/* The images of the exception vectors that no policy changes, and the plain forms of the others. */
#include <arch/asm.h>
#include <arch/entry_forms.h>

.macro plain_vector trap, handler, preload=0
	save_volatile \preload
	enter_c	\trap, \handler
.endm

.macro whole_vector trap, handler
	save_volatile
	enter_c_whole \trap, \handler
.endm

image image_reset
	whole_vector 0x100, exception_unexpected
end_image image_reset

image image_machine_check
	whole_vector 0x200, exception_machine_check
end_image image_machine_check

image image_alignment
	save_volatile
	mfspr	r10, SPR_DAR
	mfspr	r12, SPR_DSISR
	stw	r10, FRAME_DAR(r11)
	stw	r12, FRAME_DSISR(r11)
	enter_c_whole 0x600, exception_alignment
end_image image_alignment

image image_program
	whole_vector 0x700, exception_program
end_image image_program

image image_fpu
	plain_vector 0x800, exception_fpu_unavailable
end_image image_fpu

image image_decrementer
	plain_vector 0x900, exception_decrementer
end_image image_decrementer

image image_decrementer_preload
	plain_vector 0x900, exception_decrementer, 1
end_image image_decrementer_preload

image image_syscall_full
	save_volatile
	stw	r3, FRAME_ORIG_GPR3(r11)
	enter_c_whole 0xc00, exception_syscall
end_image image_syscall_full

image image_syscall_traced
	save_volatile
	stw	r3, FRAME_ORIG_GPR3(r11)
	enter_c_whole 0xc00, exception_syscall_traced
end_image image_syscall_traced

/*
 * The lean form: the ABI leaves r9 to r12 free. lean_table has the target of each number: the call's function, or code
 * of entry.S that does more before it. GPR3, TRAP and the registers that the call may destroy are saved to the frame
 * only if something may read them.
 */
.macro syscall_lean preload, has_cr=0
	mfspr	r9, SPR_SPRG3
	lwz	r11, ARCH_FRAME(r9)
	.if	\preload
	preload_frame r10
	.endif
	.ifeq	\has_cr
	mfcr	r10
	.endif
	stw	r1, GPR(1)(r11)
	stw	r1, 0(r11)
	mflr	r12
	stw	r2, GPR(2)(r11)
	lwz	r2, ARCH_TASK(r9)
	stw	r10, FRAME_CCR(r11)
	to_virt	r1, r11
	mfspr	r9, SPR_SRR0
	stw	r12, FRAME_LINK(r11)
	stw	r0, GPR(0)(r11)
	stw	r3, FRAME_ORIG_GPR3(r11)
	lean_compare
	mfspr	r10, SPR_SRR1
	lean_target
	stw	r4, GPR(4)(r11)
	stw	r10, FRAME_MSR(r11)
	load_address r12, return_syscall_cleared
	li	r10, MSR_KERNEL
	stw	r5, GPR(5)(r11)
	stw	r6, GPR(6)(r11)
	mtlr	r12
	stw	r7, GPR(7)(r11)
	stw	r8, GPR(8)(r11)
	mtsrr0	r9
	mtsrr1	r10
	exception_return
	lean_beyond
.endm

image image_syscall_lean
	syscall_lean 0
end_image image_syscall_lean

image image_syscall_lean_preload
	syscall_lean 1
end_image image_syscall_lean_preload

/* Short messages go to gate.S, which comes back to MESSAGE_LEAN_ENTRY if they are not so simple. r10 = CR then. */
image image_syscall_messages
	mfcr	r10
	cmplwi	cr1, r0, CALL_IPC_REPLY_WAIT
	cmplwi	r0, CALL_IPC_CALL
	beq	cr1, 3f
	bne	4f
3:	ba	PHYS(message_entry)
4:	.if	4b - image_syscall_messages_start != MESSAGE_LEAN_ENTRY - 0xc00
	.error	"gate.S comes back to another place"
	.endif
	syscall_lean 0, 1
end_image image_syscall_messages

image image_trace
	whole_vector 0xd00, exception_trace
end_image image_trace

image image_breakpoint
	whole_vector 0x1300, exception_trace
end_image image_breakpoint

image image_monitor
	plain_vector 0xf00, exception_monitor
end_image image_monitor

image image_management
	whole_vector 0x1400, exception_unexpected
end_image image_management
