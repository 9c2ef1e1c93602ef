/* Entry of a program without a C library: sp points at argc, as the ABI's initial stack has it. */
	.globl	_start
	.type	_start, @function
_start:
	.option	push
	.option	norelax
	la	gp, __global_pointer$
	.option	pop
	mv	a0, sp
	andi	sp, sp, -16
	call	start_main
	li	a7, 94			/* exit_group */
	ecall
	ebreak
	.size	_start, . - _start
	.section .note.GNU-stack, "", @progbits
