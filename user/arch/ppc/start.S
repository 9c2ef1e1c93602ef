/* Entry of a program without a C library: r1 points at argc, as the ABI's initial stack has it. */
	.globl	_start
	.type	_start, @function
_start:
	mr	3, 1
	rlwinm	1, 1, 0, 0, 27		/* the ABI wants r1 aligned to 16 bytes */
	li	0, 0
	stwu	0, -16(1)		/* back chain 0 ends the stack */
	bl	start_main
	li	0, 234			/* exit_group */
	sc
	trap
	.size	_start, . - _start
	.section .note.GNU-stack, "", @progbits
