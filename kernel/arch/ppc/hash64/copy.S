/*
 * Copies by doublewords, for a processor with registers of 64 bits (policy copy=doubleword and =doubleword6). The cases
 * are those of Mackerras 2003, section 3: the destination is aligned first, by 1, 2 and 4 bytes; a source that is then
 * not aligned is read by aligned doublewords, whose parts are shifted together, because an unaligned doubleword would
 * trap; short blocks go by their length's bits.
 *
 * r3, r4 and r5 always are the destination, the source and the bytes left, up to the last step that is complete. So a
 * fault's continuation copies the bytes before the fault one by one, and a fault that was served, or another exception
 * that went to C and lost the upper halves of the registers, goes on where they are loaded again (.go_back).
 */
#include <arch/asm.h>

	.machine push
	.machine "power4"
	.section .text.cause.copy, "ax"

/* A fault in [start, end) goes on at `target`. */
.macro recovered start, end, target
	.pushsection .recoveries, "a"
	.long	\start, \end, \target
	.popsection
.endm

/* The same; a fault that was served goes on at `back`. */
.macro interrupted start, end, target, back
	recovered \start, \end, \target
	.pushsection .go_back, "a"
	.long	\start, \end, \back
	.popsection
.endm

/* Copies `bytes` if this bit of \length is set. */
.macro copy_if length, load, store, bytes
	andi.	r0, \length, \bytes
	beq	77f
	\load	r6, 0(r4)
	\store	r6, 0(r3)
	copied	\bytes
77:
.endm

/*
 * user: a copy of a program's memory, which returns the bytes left; else a copy within the kernel, which returns its
 * first argument. six: whole pages go by six lines.
 */
.macro COPY64 name, user, six
FUNCTION(\name)
	dcbt	0, r4
	.if	\six
	or	r0, r3, r4
	cmplwi	cr1, r5, 4096
	clrlwi.	r0, r0, 20
	bne	cr1, \name\()_any
	beq	copy64_page_\user
\name\()_any:
	.endif
	cmplwi	r5, 16
	.if	\user == 0
	mr	r11, r3
	.endif
	neg	r7, r3
	blt	\name\()_short
	cmplwi	r5, 512
	blt	\name\()_start
	lis	r8, long_copies@ha
	lwz	r6, long_copies + 4@l(r8)
	addi	r6, r6, 1
	stw	r6, long_copies + 4@l(r8)
\name\()_start:
	copy_if	r7, lbz, stb, 1
	copy_if	r7, lhz, sth, 2
	copy_if	r7, lwz, stw, 4
	srwi.	r0, r5, 4
	clrlwi.	r8, r4, 29
	bne	\name\()_shifted
	cmplwi	r0, 0
	mtctr	r0
	beq	\name\()_last
	/* Both are aligned. */
\name\()_pair:
	ld	r6, 0(r4)
	ld	r7, 8(r4)
	std	r6, 0(r3)
	std	r7, 8(r3)
	copied	16
	bdnz	\name\()_pair
\name\()_last:
	andi.	r0, r5, 8
	beq	\name\()_tail
\name\()_one:
	ld	r6, 0(r4)
	std	r6, 0(r3)
	copied	8
\name\()_tail:
	cmpwi	r5, 0
	beq	\name\()_end
	copy_if	r5, lwz, stw, 4
	copy_if	r5, lhz, sth, 2
	copy_if	r5, lbz, stb, 1
\name\()_end:
	.if	\user
	mr	r3, r5
	.else
	mr	r3, r11
	.endif
	blr
\name\()_short:
	andi.	r0, r5, 8
	beq	\name\()_tail
	lwz	r6, 0(r4)
	lwz	r7, 4(r4)
	stw	r6, 0(r3)
	stw	r7, 4(r3)
	copied	8
	b	\name\()_tail

	/* The source is r8 bytes beyond an aligned doubleword, to which r4 points here: r8 and r9 = shifts. */
\name\()_shifted:
	cmplwi	r0, 0
	mtctr	r0
	subf	r4, r8, r4
	slwi	r8, r8, 3
	subfic	r9, r8, 64
	beq	\name\()_shifted_last
\name\()_shifted_load:
	ld	r6, 0(r4)
\name\()_shifted_pair:
	ld	r7, 8(r4)
	sld	r0, r6, r8
	ld	r6, 16(r4)
	srd	r10, r7, r9
	or	r0, r0, r10
	sld	r10, r7, r8
	srd	r12, r6, r9
	std	r0, 0(r3)
	or	r10, r10, r12
	std	r10, 8(r3)
	copied	16
	bdnz	\name\()_shifted_pair
\name\()_shifted_last:
	andi.	r0, r5, 8
	beq	\name\()_shifted_end
\name\()_shifted_one:
	ld	r6, 0(r4)
	ld	r7, 8(r4)
	sld	r0, r6, r8
	srd	r10, r7, r9
	or	r0, r0, r10
	std	r0, 0(r3)
	copied	8
\name\()_shifted_end:
	srwi	r0, r8, 3
	add	r4, r4, r0
	b	\name\()_tail
	.if	\user
\name\()_shifted_lost:
	srwi	r0, r8, 3
	add	r4, r4, r0
	b	copy_bytes
	.endif
END(\name)
	.if	\user
	recovered \name\()_start, \name\()_pair, copy_bytes
	interrupted \name\()_pair, \name\()_last, copy_bytes, \name\()_pair
	interrupted \name\()_one, \name\()_tail, copy_bytes, \name\()_one
	recovered \name\()_tail, \name\()_shifted, copy_bytes
	interrupted \name\()_shifted_load, \name\()_shifted_last, \name\()_shifted_lost, \name\()_shifted_load
	interrupted \name\()_shifted_one, \name\()_shifted_end, \name\()_shifted_lost, \name\()_shifted_one
	.endif
.endm

/*
 * A whole page, both sides aligned: five times six lines together, so that stores that follow each other go to
 * different lines, and the last two lines by themselves. Three sets of six registers: one is stored while the next but
 * one is loaded.
 */
#define PAGE_FRAME 96
#define LINE       128

.macro six_load first, second, third, fourth, fifth, sixth, offset
	ld	\first, 0 * LINE + \offset(r4)
	ld	\second, 1 * LINE + \offset(r4)
	ld	\third, 2 * LINE + \offset(r4)
	ld	\fourth, 3 * LINE + \offset(r4)
	ld	\fifth, 4 * LINE + \offset(r4)
	ld	\sixth, 5 * LINE + \offset(r4)
.endm

.macro six_store first, second, third, fourth, fifth, sixth, offset
	std	\first, 0 * LINE + \offset(r3)
	std	\second, 1 * LINE + \offset(r3)
	std	\third, 2 * LINE + \offset(r3)
	std	\fourth, 3 * LINE + \offset(r3)
	std	\fifth, 4 * LINE + \offset(r3)
	std	\sixth, 5 * LINE + \offset(r3)
.endm

#define SET_A r6, r7, r8, r9, r10, r11
#define SET_B r12, r14, r15, r16, r17, r18
#define SET_C r19, r20, r21, r22, r23, r24

.macro PAGE64 user
FUNCTION(copy64_page_\user)
	stwu	r1, -PAGE_FRAME(r1)
	lis	r8, long_copies@ha
	lwz	r6, long_copies + 4@l(r8)
	addi	r6, r6, 1
	stw	r6, long_copies + 4@l(r8)
	stmw	r14, 16(r1)
	.if	\user == 0
	stw	r3, 8(r1)
	.endif
page_round_\user:
	li	r0, 5
	mtctr	r0
page_load_\user:
	six_load SET_A, 0
	six_load SET_B, 8
page_turn_\user:
	six_store SET_A, 0
	six_load SET_C, 16
	six_store SET_B, 8
	six_load SET_A, 24
	six_store SET_C, 16
	six_load SET_B, 32
	addi	r4, r4, 24
	addi	r3, r3, 24
	bdnz	page_turn_\user
	b	page_finish_\user
page_again_\user:
	six_load SET_A, 0
page_finish_\user:
	six_store SET_A, 0
	addi	r4, r4, 6 * LINE - 120
	addi	r3, r3, 6 * LINE - 120
	addi	r5, r5, -6 * LINE
	cmplwi	r5, 6 * LINE
	bge	page_round_\user
page_rest_\user:
	ld	r6, 0(r4)
	ld	r7, 8(r4)
	ld	r8, 16(r4)
	ld	r9, 24(r4)
	std	r6, 0(r3)
	std	r7, 8(r3)
	std	r8, 16(r3)
	std	r9, 24(r3)
	addi	r4, r4, 32
	addi	r3, r3, 32
	addic.	r5, r5, -32
	bne	page_rest_\user
page_end_\user:
	.if	\user
	li	r3, 0
	.else
	lwz	r3, 8(r1)
	.endif
	lmw	r14, 16(r1)
	addi	r1, r1, PAGE_FRAME
	blr
	.if	\user
	/* Some doublewords of a round's lines are missing: all of it is copied again. */
page_lost_\user:
	mfctr	r0
	subfic	r0, r0, 5
	mulli	r0, r0, 24
	subf	r3, r0, r3
	subf	r4, r0, r4
page_lost_rest_\user:
	lmw	r14, 16(r1)
	addi	r1, r1, PAGE_FRAME
	b	copy_bytes
	.endif
END(copy64_page_\user)
	.if	\user
	interrupted page_load_\user, page_again_\user, page_lost_\user, page_load_\user
	interrupted page_again_\user, page_rest_\user, page_lost_\user, page_again_\user
	interrupted page_rest_\user, page_end_\user, page_lost_rest_\user, page_rest_\user
	.endif
.endm

	PAGE64	1
	PAGE64	0

/* u32 user_copy64(void *to (r3), const void *from (r4), u32 n (r5)) and its like: as user_copy and memcpy. */
	COPY64	user_copy64, 1, 0
	COPY64	user_copy64_six, 1, 1
	COPY64	memcpy64, 0, 0
	COPY64	memcpy64_six, 0, 1

	.machine pop
