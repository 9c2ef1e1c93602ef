/*
 * Runs instruction sequences on qemu-system-ppc64's bare 970 in 32-bit mode, which user-mode emulation cannot enter,
 * without translation. The image is at physical 0. Requests lie in memory, STRIDE bytes from each other
 * and laid out as driver.c's with registers of 64 bits; each is replaced by its answer, whose first doubleword is the
 * vector and the lower half of SRR1. LEFT has the number of requests that are not answered.
 */
	.equ	CODE, 0x01100000
	.equ	DATA, 0x01000000
	.equ	LEFT, 0x01ff0000
	.equ	REQUESTS, 0x02000000
	.equ	STRIDE, 4096
	.equ	DATA_SIZE, 256

	/* Offsets in a request, and in an answer. */
	.equ	ASKED_GPR, 8
	.equ	ASKED_CR, 264
	.equ	ASKED_XER, 272
	.equ	ASKED_LR, 280
	.equ	ASKED_CTR, 288
	.equ	ASKED_FPR, 296
	.equ	ASKED_DATA, 552
	.equ	ASKED_WORDS, 808
	.equ	GIVEN_PC, 8
	.equ	GIVEN_GPR, 16
	.equ	GIVEN_CR, 272
	.equ	GIVEN_XER, 280
	.equ	GIVEN_LR, 288
	.equ	GIVEN_CTR, 296
	.equ	GIVEN_FPSCR, 304
	.equ	GIVEN_FPR, 312
	.equ	GIVEN_DATA, 568

	.equ	HID5, 1014
	.equ	DCBZ_32, 0x80
	/* FP, FE0 and FE1: 32-bit mode, in supervisor state, since user state has translation (rfid). */
	.equ	STATE, 0x2900
	.equ	MSR_FP, 0x2000

	.machine "power4"
	.text
	.irp	vector, 0x200, 0x300, 0x380, 0x400, 0x480, 0x600, 0x700, 0x800, 0xc00
	.org	\vector
	mtsprg	0, 31
	li	31, \vector
	b	ended
	.endr

	.macro	copy_doublewords from, to, count
	li	0, \count
	mtctr	0
7:	ld	0, 0(\from)
	std	0, 0(\to)
	addi	\from, \from, 8
	addi	\to, \to, 8
	bdnz	7b
	.endm

	.org	0x2000
	.globl	_start
_start:
	li	3, DCBZ_32
	mtspr	HID5, 3
	lis	31, REQUESTS@h
	mtsprg	1, 31

begin:
	lis	3, LEFT@h
	ld	4, 0(3)
	cmpdi	4, 0
	beq	.
	mfsprg	31, 1
	ld	0, 0(31)
	mtctr	0
	addi	4, 31, ASKED_WORDS
	lis	5, CODE@h
	ori	5, 5, CODE@l
1:	lwz	0, 0(4)
	stw	0, 0(5)
	dcbst	0, 5
	sync
	icbi	0, 5
	addi	4, 4, 4
	addi	5, 5, 4
	bdnz	1b
	sync
	isync
	addi	4, 31, ASKED_DATA
	lis	5, DATA@h
	copy_doublewords 4, 5, DATA_SIZE / 8

	mfmsr	3
	ori	3, 3, MSR_FP
	mtmsrd	3
	isync
	li	3, 0
	std	3, -8(31)
	lfd	0, -8(31)
	mtfsf	0xff, 0
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	lfd	\n, ASKED_FPR + 8 * \n(31)
	.endr
	ld	3, ASKED_CR(31)
	mtcrf	0xff, 3
	ld	3, ASKED_XER(31)
	mtxer	3
	ld	3, ASKED_LR(31)
	mtlr	3
	ld	3, ASKED_CTR(31)
	mtctr	3
	lis	3, CODE@h
	ori	3, 3, CODE@l
	mtsrr0	3
	li	3, STATE
	mtsrr1	3
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	ld	\n, ASKED_GPR + 8 * \n(31)
	.endr
	rfid

	/* r31 = vector; the sequence's r31 is in SPRG0. */
ended:
	mtsprg	2, 31
	mfsprg	31, 1
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30
	std	\n, GIVEN_GPR + 8 * \n(31)
	.endr
	mfsprg	3, 0
	std	3, GIVEN_GPR + 8 * 31(31)
	mfsprg	3, 2
	mfsrr1	4
	rldimi	4, 3, 32, 0
	std	4, 0(31)
	mfsrr0	3
	std	3, GIVEN_PC(31)
	mfcr	3
	std	3, GIVEN_CR(31)
	mfxer	3
	std	3, GIVEN_XER(31)
	mflr	3
	std	3, GIVEN_LR(31)
	mfctr	3
	std	3, GIVEN_CTR(31)
	mfmsr	3
	ori	3, 3, MSR_FP
	mtmsrd	3
	isync
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	stfd	\n, GIVEN_FPR + 8 * \n(31)
	.endr
	mffs	0
	stfd	0, GIVEN_FPSCR(31)
	addi	5, 31, GIVEN_DATA
	lis	4, DATA@h
	copy_doublewords 4, 5, DATA_SIZE / 8
	addi	31, 31, STRIDE
	mtsprg	1, 31
	lis	3, LEFT@h
	ld	4, 0(3)
	addi	4, 4, -1
	std	4, 0(3)
	b	begin
