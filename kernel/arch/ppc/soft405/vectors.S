/*
 * The PPC405's exceptions that differ from other processors': the cause is in ESR, the address in DEAR, and the timer
 * is the PIT, at 0x1000.
 */
#include <arch/asm.h>
#include <arch/reg405.h>

	.machine "405"

/* A machine check is critical: the interrupted state is in SRR2 and SRR3. */
image image_machine_check405
	stw	r10, KEPT_BY_CHECK(0)
	mfspr	r10, SPR_SRR2
	mtsrr0	r10
	mfspr	r10, SPR_SRR3
	mtsrr1	r10
	lwz	r10, KEPT_BY_CHECK(0)
	save_volatile
	enter_c_whole 0x200, exception_machine_check
end_image image_machine_check405

/*
 * The debug exception after each instruction with MSR[DE], a critical one. Other exceptions leave DE set, so that the
 * first instruction of each vector comes here as well: it goes on without DE, which its rfi sets again for the program.
 */
image image_debug405
	stw	r10, KEPT_BY_DEBUG(0)
	mfcr	r10
	stw	r10, KEPT_BY_DEBUG + 4(0)
	lis	r10, DBSR_COMPLETE >> 16
	mtspr	SPR_DBSR, r10
	mfspr	r10, SPR_SRR3
	andi.	r10, r10, MSR_PR
	mfspr	r10, SPR_SRR3
	beq	7f
	mtsrr1	r10
	mfspr	r10, SPR_SRR2
	mtsrr0	r10
	lwz	r10, KEPT_BY_DEBUG + 4(0)
	mtcrf	0xff, r10
	lwz	r10, KEPT_BY_DEBUG(0)
	save_volatile
	enter_c_whole 0x2000, exception_trace
7:	rlwinm	r10, r10, 0, 23, 21     /* MSR[DE] */
	mtspr	SPR_SRR3, r10
	lwz	r10, KEPT_BY_DEBUG + 4(0)
	mtcrf	0xff, r10
	lwz	r10, KEPT_BY_DEBUG(0)
	rfci
end_image image_debug405

/* The page forbids the access. */
image image_data405
	save_volatile
	mfspr	r10, SPR_DEAR
	mfspr	r12, SPR_ESR
	stw	r10, FRAME_DAR(r11)
	rlwinm	r12, r12, 2, 6, 6               /* ESR[DST] to DSISR's store */
	oris	r12, r12, DSISR_PROTECTION >> 16
	stw	r12, FRAME_DSISR(r11)
	enter_c	0x300, exception_data_fault
end_image image_data405

image image_instruction405
	save_volatile
	lis	r12, DSISR_PROTECTION >> 16
	stw	r12, FRAME_DSISR(r11)
	enter_c	0x400, exception_fetch_refused
end_image image_instruction405

image image_alignment405
	save_volatile
	mfspr	r10, SPR_DEAR
	li	r12, 0
	stw	r10, FRAME_DAR(r11)
	stw	r12, FRAME_DSISR(r11)
	enter_c_whole 0x600, exception_alignment
end_image image_alignment405

image image_program405
	save_volatile
	mfspr	r4, SPR_ESR
	enter_c_whole 0x700, exception_program405
end_image image_program405

image image_pit
	save_volatile
	enter_c	0x1000, exception_pit
end_image image_pit

	.text
/* void soft405_pin(u32 table (r3), u32 count (r4)) */
	.balign	128
/*
 * Empties the TLB and loads `count` entries from the table (physical), two words each, from the last entry downwards.
 * Interrupts are off and PID is 0. All of it is in one page, so that no TLB miss comes between mtsrr0 and rfi.
 */
FUNCTION(soft405_pin)
	mfmsr	r11
	mflr	r12
	li	r0, MSR_ME
	load_address r10, PHYS(1f)
	mtsrr0	r10
	mtsrr1	r0
	rfi
1:	tlbia
	isync
	li	r6, TLB_ENTRIES_405
	cmpwi	r4, 0
	beq	3f
	mtctr	r4
2:	addi	r6, r6, -1
	lwz	r7, 0(r3)
	lwz	r8, 4(r3)
	tlbwe	r8, r6, 1
	tlbwe	r7, r6, 0
	addi	r3, r3, 8
	bdnz	2b
3:	mtsrr0	r12
	mtsrr1	r11
	rfi
END(soft405_pin)
