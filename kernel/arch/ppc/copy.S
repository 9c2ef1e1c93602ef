/* Block copies. A user copy may fault: the table at the end says where it then continues. */
#include <arch/asm.h>

	.section .text.cause.copy, "ax"

/* Copies by steps of so many bytes, as often as CTR says. */
.macro copy_each label, load, store, bytes
\label:
	\load	r6, 0(r4)
	\store	r6, 0(r3)
	copied	\bytes
	bdnz	\label
.endm

/*
 * u32 user_copy(void *to (r3), const void *from (r4), u32 n (r5)): copies to or from user memory; returns the number
 * of bytes left. If a fault stops a longer step, the bytes before the fault are still copied one by one.
 */
FUNCTION(user_copy)
	/* Policy copy=lines writes a branch to a copy by lines here. */
	.globl	copy_first
copy_first:
	srwi.	r0, r5, 4		/* COPY_FIRST */
copy_blocks:
	beq	copy_words
	mtctr	r0
copy_long:
	lwz	r6, 0(r4)
	lwz	r7, 4(r4)
	lwz	r8, 8(r4)
	lwz	r9, 12(r4)
	stw	r6, 0(r3)
	stw	r7, 4(r3)
	stw	r8, 8(r3)
	stw	r9, 12(r3)
	copied	16
	bdnz	copy_long
copy_words:
	srwi.	r0, r5, 2
	beq	copy_bytes
	mtctr	r0
	copy_each copy_word, lwz, stw, 4
	.globl	copy_bytes
copy_bytes:
	cmpwi	r5, 0
	beq	copy_end
	mtctr	r5
	copy_each copy_byte, lbz, stb, 1
copy_end:
	mr	r3, r5
	blr
END(user_copy)

/*
 * The same by whole cache lines. dcbz creates a destination line without reading it, and the source line that is
 * `ahead` lines further on is prefetched before this one is copied. Partial lines at the ends, and copies too short to
 * gain, use the plain loop.
 */
#define LEAST 512		/* shorter blocks are in the cache more often than not */

	/* Loads the rest of a line, then stores it. No load is after dcbz: if one faults, the target is unchanged. */
	.macro	COPY_LINE line
	.if	\line == 32
	lwz	r6, 0(r4)
	lwz	r10, 16(r4)
	lwz	r11, 20(r4)
	lwz	r12, 24(r4)
	lwz	r0, 28(r4)
	.endif
	dcbz	0, r3
	stw	r6, 0(r3)
	stw	r7, 4(r3)
	stw	r8, 8(r3)
	stw	r9, 12(r3)
	.if	\line == 32
	stw	r10, 16(r3)
	stw	r11, 20(r3)
	stw	r12, 24(r3)
	stw	r0, 28(r3)
	.endif
	addi	r4, r4, \line
	addi	r3, r3, \line
	.endm

	.macro	COPY_BY_LINES name, line, shift, ahead
FUNCTION(\name)
	cmplwi	r5, LEAST
	neg	r0, r3
	blt	\name\()_rest
	lis	r6, long_copies@ha
	la	r6, long_copies@l(r6)
	lwz	r7, 4(r6)
	lwz	r8, 0(r6)
	addic	r7, r7, 1
	addze	r8, r8
	stw	r7, 4(r6)
	stw	r8, 0(r6)
	/* Copy up to the first line boundary: by words if both sides are word-aligned, else by bytes. */
	andi.	r0, r0, \line - 1
	or	r6, r3, r4
	beq	\name\()_whole
	andi.	r6, r6, 3
	bne	\name\()_head_bytes
	srwi	r0, r0, 2
	mtctr	r0
	copy_each \name\()_head, lwz, stw, 4
	b	\name\()_whole
\name\()_head_bytes:
	mtctr	r0
	copy_each \name\()_head_byte, lbz, stb, 1
\name\()_whole:
	srwi	r0, r5, \shift
	mtctr	r0
	andi.	r5, r5, \line - 1	/* the bytes behind the lines, which CTR counts */
	.if	\line == 16
	li	r12, \ahead * \line
	.endif
\name\()_long:
	.if	\line == 16
	lwz	r6, 0(r4)
	.endif
	lwz	r7, 4(r4)		/* load from this line before the dcbt: the 603 has one buffer */
	lwz	r8, 8(r4)
	lwz	r9, 12(r4)
	bdz	\name\()_last		/* no prefetch behind the last line */
\name\()_loaded:
	.if	\line == 16
	dcbt	r12, r4
	.else
	li	r6, \ahead * \line	/* there is no register left to hold it */
	dcbt	r6, r4
	.endif
	COPY_LINE \line
	b	\name\()_long
\name\()_last:
	COPY_LINE \line
\name\()_rest:
	srwi.	r0, r5, 4
	b	copy_blocks
	/* A fault in a line: count its bytes as left, and those of the lines behind it. */
\name\()_lost_loaded:
	mfctr	r0
	addic	r0, r0, 1
	b	1f
\name\()_lost:
	mfctr	r0
1:	slwi	r0, r0, \shift
	add	r5, r5, r0
	b	copy_bytes
END(\name)
	.pushsection .recoveries, "a"
	.long	\name\()_head, \name\()_whole, copy_bytes
	.long	\name\()_long, \name\()_loaded, \name\()_lost
	.long	\name\()_loaded, \name\()_rest, \name\()_lost_loaded
	.popsection
	.endm

	COPY_BY_LINES copy_by_lines, 32, 5, 1
	COPY_BY_LINES copy_by_lines_ahead, 32, 5, 2
	COPY_BY_LINES copy_by_short_lines, 16, 4, 1

/* u32 user_clear(void *user (r3), u32 n (r4)): the number of bytes that could not be cleared. */
FUNCTION(user_clear)
	cmpwi	r4, 0
	li	r6, 0
	beq	clear_end
	srwi.	r0, r4, 4
	beq	clear_bytes
	mtctr	r0
clear_long:
	stw	r6, 0(r3)
	stw	r6, 4(r3)
	stw	r6, 8(r3)
	stw	r6, 12(r3)
	addi	r3, r3, 16
	addi	r4, r4, -16
	bdnz	clear_long
clear_bytes:
	cmpwi	r4, 0
	beq	clear_end
	mtctr	r4
clear_byte:
	stb	r6, 0(r3)
	addi	r3, r3, 1
	addi	r4, r4, -1
	bdnz	clear_byte
clear_end:
	mr	r3, r4
	blr
END(user_clear)

/*
 * long user_string(char *to (r3), const char *from (r4), u32 n (r5)): copies up to n bytes, and ends at a NUL. Returns
 * the NUL's distance; n: there was no NUL; -1: a fault.
 */
FUNCTION(user_string)
	mr	r7, r4
	cmpwi	r5, 0
	beq	string_end
	mtctr	r5
string_byte:
	lbz	r6, 0(r4)
	stb	r6, 0(r3)
	cmpwi	r6, 0
	beq	string_end
	addi	r4, r4, 1
	addi	r3, r3, 1
	bdnz	string_byte
string_end:
	subf	r3, r7, r4
	blr
string_fault:
	li	r3, -1
	blr
END(user_string)

/* long user_string_length(const char *user (r3), u32 max (r4)): as above, without a copy. */
FUNCTION(user_string_length)
	mr	r7, r3
	cmpwi	r4, 0
	beq	length_end
	mtctr	r4
length_byte:
	lbz	r6, 0(r3)
	cmpwi	r6, 0
	beq	length_end
	addi	r3, r3, 1
	bdnz	length_byte
length_end:
	subf	r3, r7, r3
	blr
END(user_string_length)

/*
 * int user_exchange(u32 *user (r3), u32 expected (r4), u32 wanted (r5), u32 *seen (r6)): 0, or -1 after a fault.
 * Another processor may store to the line again and again: after some attempts *seen is another value than expected.
 */
#define ATTEMPTS 16

FUNCTION(user_exchange)
	li	r8, ATTEMPTS
1:	lwarx	r7, 0, r3
	cmplw	r7, r4
	bne	2f
	stwcx.	r5, 0, r3
	beq+	2f
	addic.	r8, r8, -1
	bne	1b
	not	r7, r4
2:	stw	r7, 0(r6)
	li	r3, 0
	blr
exchange_end:
END(user_exchange)

/* void *memcpy(void *to (r3), const void *from (r4), size_t n (r5)) */
FUNCTION(memcpy)
	/* Policy copy.count writes a branch to a counting form here. */
	srwi.	r0, r5, 4		/* COPY_FIRST */
memcpy_blocks:
	mr	r10, r3
	beq	2f
	mtctr	r0
1:	lwz	r6, 0(r4)
	lwz	r7, 4(r4)
	lwz	r8, 8(r4)
	lwz	r9, 12(r4)
	stw	r6, 0(r10)
	stw	r7, 4(r10)
	stw	r8, 8(r10)
	stw	r9, 12(r10)
	addi	r4, r4, 16
	addi	r10, r10, 16
	bdnz	1b
2:	rlwinm.	r0, r5, 30, 30, 31
	beq	4f
	mtctr	r0
3:	lwz	r6, 0(r4)
	addi	r4, r4, 4
	stw	r6, 0(r10)
	addi	r10, r10, 4
	bdnz	3b
4:	andi.	r5, r5, 3
	beqlr
	mtctr	r5
5:	lbz	r6, 0(r4)
	addi	r4, r4, 1
	stb	r6, 0(r10)
	addi	r10, r10, 1
	bdnz	5b
	blr
END(memcpy)

/* void *memmove(void *to (r3), const void *from (r4), size_t n (r5)) */
FUNCTION(memmove)
	cmplw	r3, r4
	ble	memcpy
	cmpwi	r5, 0
	beqlr
	mtctr	r5
	add	r4, r4, r5
	add	r10, r3, r5
1:	lbzu	r6, -1(r4)
	stbu	r6, -1(r10)
	bdnz	1b
	blr
END(memmove)

	.section .text.cause.clear, "ax"

/* void *memset(void *to (r3), int byte (r4), size_t n (r5)) */
FUNCTION(memset)
	rlwimi	r4, r4, 8, 16, 23
	rlwimi	r4, r4, 16, 0, 15
	mr	r10, r3
	srwi.	r0, r5, 4
	beq	2f
	mtctr	r0
1:	stw	r4, 0(r10)
	stw	r4, 4(r10)
	stw	r4, 8(r10)
	stw	r4, 12(r10)
	addi	r10, r10, 16
	bdnz	1b
2:	andi.	r5, r5, 15
	beqlr
	mtctr	r5
3:	stb	r4, 0(r10)
	addi	r10, r10, 1
	bdnz	3b
	blr
END(memset)

	/* The copies without the branches that policies may write to their first instructions. */
	.section .text.copy_plainly, "ax"

FUNCTION(user_copy_plainly)
	srwi.	r0, r5, 4
	b	copy_blocks
END(user_copy_plainly)

FUNCTION(memcpy_plainly)
	srwi.	r0, r5, 4
	b	memcpy_blocks
END(memcpy_plainly)

	/* Entries: start, end, continuation. A fault on a user address in [start, end) goes to the continuation. */
	.section .recoveries, "a"
	.long	copy_long, copy_words, copy_bytes
	.long	copy_word, copy_bytes, copy_bytes
	.long	copy_byte, copy_end, copy_end
	.long	clear_long, clear_bytes, clear_bytes
	.long	clear_byte, clear_end, clear_end
	.long	string_byte, string_end, string_fault
	.long	length_byte, length_end, string_fault
	.long	user_exchange, exchange_end, string_fault
