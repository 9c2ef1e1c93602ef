/*
 * Flushing both caches as Linux/PPC did (arch/ppc/kernel/head.S, flush_instruction_cache): dcbz over a buffer evicts
 * what was in the data cache, and HID0[ICFI] invalidates the instruction cache while that is off. How many lines the
 * buffer has was chosen when a kernel was built (NUM_CACHE_LINES): 256 in 1.3.99, which is the 8 KB of a 603, and 512
 * in 2.0.4, which is the 16 KB of a 603e or 604. Where the cache is larger, a part of it stays.
 */
#include <arch/asm.h>

#define LINES_1_3_99 256
#define LINES_2_0_4  512
#define LINE         32                 /* bytes: of every processor whose caches HID0 controls */

	.section .text.cause.coherence, "ax"

/* Uses r0, CTR and the register `scratch`. */
.macro flush_caches lines, scratch
	li	r0, \lines
	mtctr	r0
	lis	\scratch, cache_flush_buffer@ha
	lwz	\scratch, cache_flush_buffer@l(\scratch)
1:	dcbz	0, \scratch
	addi	\scratch, \scratch, LINE
	bdnz	1b
	mfspr	\scratch, SPR_HID0
	isync
	rlwinm	r0, \scratch, 0, 17, 15         /* clears ICE */
	mtspr	SPR_HID0, r0
	isync
	ori	r0, r0, HID0_ICFI
	mtspr	SPR_HID0, r0
	isync
	xori	r0, r0, HID0_ICFI
	mtspr	SPR_HID0, r0
	isync
	mtspr	SPR_HID0, \scratch
	isync
.endm

/* Adds 1 to the low word of a 64-bit counter. Uses r0 and XER. */
.macro count_up counter, scratch
	lis	\scratch, \counter@ha
	lwz	r0, \counter + 4@l(\scratch)
	addic	r0, r0, 1
	stw	r0, \counter + 4@l(\scratch)
.endm

/*
 * void caches_off(void): flushes the data and the instruction cache, then disables them in HID0. In between it accesses
 * no memory, which would bring lines into the cache again. void caches_on(void): enables them.
 */
FUNCTION(caches_off)
	flush_caches LINES_2_0_4, r3
	mfspr	r3, SPR_HID0
	rlwinm	r3, r3, 0, 18, 15               /* clears ICE and DCE */
	sync
	isync
	mtspr	SPR_HID0, r3
	isync
	blr
END(caches_off)

FUNCTION(caches_on)
	mfspr	r3, SPR_HID0
	ori	r3, r3, HID0_ICE | HID0_DCE
	sync
	isync
	mtspr	SPR_HID0, r3
	isync
	blr
END(caches_on)

/*
 * Where policy return.flush diverts the exits of entry.S to. Each does the flush, then the instruction whose place the
 * branch took, and goes back. A program's LR, CTR and XER are in the frame or are loaded later; of a system call's exit
 * only r0 and r2 are free.
 */
.macro flush_at_exit from
FUNCTION(flush_at_\from)
	lwz	r3, FRAME_MSR(r1)
	andi.	r3, r3, MSR_PR
	beq	2f
	flush_caches LINES_1_3_99, r3
	count_up returns_flushed, r3
2:	li	r0, MSR_ME | MSR_IR
	b	\from\()_last + 4
END(flush_at_\from)
.endm
	flush_at_exit return_full
	flush_at_exit return_lean

.macro flush_at_call_exit from
FUNCTION(flush_at_\from)
	flush_caches LINES_1_3_99, r2
	count_up returns_flushed, r2
	lwz	r2, GPR(2)(r1)
	b	\from\()_last + 4
END(flush_at_\from)
.endm
	flush_at_call_exit return_syscall_cleared
	flush_at_call_exit return_syscall_lean
