/* In place of the first instruction of switch_to and switch_away: USPRG0, which programs write, is each task's own. */
#include <arch/asm.h>
#include <arch/reg405.h>

	.section .text.cause.switch, "ax"

/* previous (r3), next (r4) */
FUNCTION(switch_to405)
	mfspr	r5, SPR_USPRG0
	lwz	r6, TASK_ARCH + ARCH_USPRG(r4)
	mflr	r0
	stw	r5, TASK_ARCH + ARCH_USPRG(r3)
	mtspr	SPR_USPRG0, r6
	b	switch_to + 4
END(switch_to405)

FUNCTION(switch_away405)
	lwz	r6, TASK_ARCH + ARCH_USPRG(r4)
	to_phys	r5, r4
	mtspr	SPR_USPRG0, r6
	b	switch_away + 4
END(switch_away405)
