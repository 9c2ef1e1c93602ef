/* Entry of a program without a C library: esp points at argc, as the ABI's initial stack has it. */
	.globl	_start
	.type	_start, @function
_start:
	movl	%esp, %eax
	xorl	%ebp, %ebp		/* ends the chain of frames */
	andl	$-16, %esp
	subl	$12, %esp
	pushl	%eax
	call	start_main
	movl	%eax, %ebx
	movl	$252, %eax		/* exit_group */
	int	$0x80
	hlt
	.size	_start, . - _start
	.section .note.GNU-stack, "", @progbits
