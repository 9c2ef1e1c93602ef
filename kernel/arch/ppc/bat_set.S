/* Changing the block that maps the kernel's own code, which needs translation off. */
#include <arch/asm.h>

	.text
	.balign	128             /* in one page: no miss between mtsrr0 and rfi */
/* void bat_set_code(u32 upper (r3), u32 lower (r4)): instruction and data register pair 0, from real mode. */
FUNCTION(bat_set_code)
	mfmsr	r5
	mflr	r6
	li	r0, MSR_ME
	load_address r7, PHYS(1f)
	mtsrr0	r7
	mtsrr1	r0
	rfi
1:	li	r0, 0
	mtspr	SPR_IBAT0U, r0
	mtspr	SPR_DBAT0U, r0
	isync
	mtspr	SPR_IBAT0U + 1, r4
	mtspr	SPR_DBAT0U + 1, r4
	mtspr	SPR_IBAT0U, r3
	mtspr	SPR_DBAT0U, r3
	isync
	mtsrr0	r6
	mtsrr1	r5
	rfi
END(bat_set_code)
