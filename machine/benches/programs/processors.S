# Every processor of a machine works on data of its own, and takes a lock that all share from time to time.
# WORK is the number of times that each takes the lock.

	.globl _start
_start:
	# Processor 0 writes a jump to `common` to the reset vector, and lets the others go.
	lis	3, 0x3c60		# lis 3, common@h
	ori	3, 3, common@h
	stw	3, 0x100(0)
	lis	3, 0x6063		# ori 3, 3, common@l
	ori	3, 3, common@l
	stw	3, 0x104(0)
	lis	3, 0x7c69		# mtctr 3
	ori	3, 3, 0x03a6
	stw	3, 0x108(0)
	lis	3, 0x4e80		# bctr
	ori	3, 3, 0x0420
	stw	3, 0x10c(0)
	sync
	lis	3, 0xfc00
	ori	3, 3, 0x1090
	li	4, 0
	stwbrx	4, 0, 3
common:
	lis	3, 0
	ori	3, 3, 0xc000
	mtspr	1008, 3			# HID0: caches on
	isync
	lis	20, 0xfc00		# the processor's number: the OpenPIC's who-am-I register
	ori	20, 20, 0x0090
	lwbrx	20, 0, 20
	addi	21, 20, 0x10
	slwi	21, 21, 16		# 64 KB for each
	lis	22, 8			# the lock, and a count of those that are done
	addi	23, 22, 64
	lis	14, WORK@h
	ori	14, 14, WORK@l
1:	# 16 KB, read and written.
	li	5, 1024
	mtctr	5
	addi	6, 21, -16
2:	lwzu	7, 16(6)
	add	8, 8, 7
	xori	8, 8, 0x5a5a
	andi.	9, 8, 4
	beq	3f
	addi	8, 8, 3
3:	stw	8, 8(6)
	bdnz	2b
4:	lwz	7, 0(22)
	cmpwi	7, 0
	bne	4b
5:	lwarx	7, 0, 22
	cmpwi	7, 0
	bne	4b
	li	7, 1
	stwcx.	7, 0, 22
	bne	5b
	isync
	lwz	7, 32(22)
	addi	7, 7, 1
	stw	7, 32(22)
	sync
	li	7, 0
	stw	7, 0(22)
	subic.	14, 14, 1
	bne	1b
	# The first one waits for the others.
6:	lwarx	7, 0, 23
	addi	7, 7, 1
	stwcx.	7, 0, 23
	bne	6b
	cmpwi	20, 0
	bne	.
	lis	5, 0xfc00		# how many there are: the OpenPIC's feature register
	ori	5, 5, 0x1000
	lwbrx	6, 0, 5
	rlwinm	6, 6, 24, 27, 31
	addi	6, 6, 1
7:	lwz	7, 0(23)
	cmpw	7, 6
	bne	7b
	lis	5, 0x8000
	ori	5, 5, 0x0f08
	li	6, 0
	stw	6, 0(5)
	b	.
