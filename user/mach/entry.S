/* The entry of a program on Mach, and Mach's traps: EAX is the negative number, and the arguments are on the stack. */
	.macro trap name, number
	.globl \name
\name:	movl $-\number, %eax
	lcall $7, $0
	ret
	.endm

	.text
	.globl _start
_start:	xorl %ebp, %ebp
	pushl %esp
	call mach_begin
1:	jmp 1b

	trap mach_msg, 25
	trap mach_reply_port, 26
	trap mach_thread_self, 27
	trap mach_task_self, 28
	trap mach_task_create, 68
	trap mach_port_allocate, 72

	.section .note.GNU-stack, "", @progbits
