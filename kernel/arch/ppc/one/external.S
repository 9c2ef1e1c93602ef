/* Vector 0x500 with one processor. */
#include <arch/asm.h>

.macro external_vector name, preload
image \name
	save_volatile \preload
	enter_c	0x500, exception_external
end_image \name
.endm

	external_vector image_external, 0
	external_vector image_external_preload, 1
