/* SDR1 may change only while translation is off (604 manual, 2.1.2: synchronization requirements). */
#include <arch/asm.h>

	.text
	.balign	64              /* within one page: no miss between mtsrr0 and rfi */
/* void sdr1_set(u32 sdr1 (r3)) */
FUNCTION(sdr1_set)
	mfmsr	r6
	rlwinm	r5, r6, 0, 17, 15               /* clears EE */
	mtmsr	r5
	isync
	translation_off r7
	sync
	mtspr	SPR_SDR1, r3
	isync
	mtsrr0	r7
	mtsrr1	r6
	exception_return
END(sdr1_set)
