/* The images of the exception vectors that no policy changes, and the plain forms of those that policies do. */
#include <arch/asm.h>

.macro plain_vector trap, handler
	save_volatile
	enter_c	\trap, \handler
.endm

/* With the fault's address and reason. */
.macro fault_vector trap, handler
	save_volatile
	mfspr	r10, SPR_DAR
	mfspr	r12, SPR_DSISR
	stw	r10, FRAME_DAR(r11)
	stw	r12, FRAME_DSISR(r11)
	enter_c	\trap, \handler
.endm

image image_reset
	plain_vector 0x100, exception_unexpected
end_image image_reset

image image_machine_check
	plain_vector 0x200, exception_machine_check
end_image image_machine_check

image image_external
	plain_vector 0x500, exception_external
end_image image_external

image image_alignment
	fault_vector 0x600, exception_alignment
end_image image_alignment

image image_program
	plain_vector 0x700, exception_program
end_image image_program

image image_fpu
	plain_vector 0x800, exception_fpu_unavailable
end_image image_fpu

image image_decrementer
	plain_vector 0x900, exception_decrementer
end_image image_decrementer

image image_syscall_full
	save_volatile
	stw	r3, FRAME_ORIG_GPR3(r11)
	enter_c	0xc00, exception_syscall
end_image image_syscall_full

image image_trace
	plain_vector 0xd00, exception_trace
end_image image_trace

image image_breakpoint
	plain_vector 0x1300, exception_trace
end_image image_breakpoint

image image_management
	plain_vector 0x1400, exception_unexpected
end_image image_management
