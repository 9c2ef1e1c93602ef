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

IMAGE(image_reset)
	plain_vector 0x100, exception_unexpected
END_IMAGE(image_reset)

IMAGE(image_machine_check)
	plain_vector 0x200, exception_machine_check
END_IMAGE(image_machine_check)

IMAGE(image_external)
	plain_vector 0x500, exception_external
END_IMAGE(image_external)

IMAGE(image_alignment)
	fault_vector 0x600, exception_alignment
END_IMAGE(image_alignment)

IMAGE(image_program)
	plain_vector 0x700, exception_program
END_IMAGE(image_program)

IMAGE(image_fpu)
	plain_vector 0x800, exception_fpu_unavailable
END_IMAGE(image_fpu)

IMAGE(image_decrementer)
	plain_vector 0x900, exception_decrementer
END_IMAGE(image_decrementer)

IMAGE(image_syscall_full)
	save_volatile
	stw	r3, FRAME_ORIG_GPR3(r11)
	enter_c	0xc00, exception_syscall
END_IMAGE(image_syscall_full)

IMAGE(image_trace)
	plain_vector 0xd00, exception_trace
END_IMAGE(image_trace)

IMAGE(image_breakpoint)
	plain_vector 0x1300, exception_trace
END_IMAGE(image_breakpoint)

IMAGE(image_management)
	plain_vector 0x1400, exception_unexpected
END_IMAGE(image_management)
