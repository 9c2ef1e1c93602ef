/*
 * The start of another processor. A start-up message begins it in real mode at a page below 1 MB, where several.c has
 * put a copy of start_other_page. It takes the control registers of the processor that starts it (several.c), and goes
 * on at the stack of its idle task. The active root also maps the first 4 MB where they are, for the jump.
 */
#include <arch/asm.h>

	.section .rodata.start, "a"
	.code16
FUNCTION(start_other_page)
	cli
	cld
	movw	%cs, %ax
	movw	%ax, %ds
	lgdtl	start_table - start_other_page
	movl	%cr0, %eax
	orl	$CR0_PE, %eax
	movl	%eax, %cr0
	ljmpl	$KERNEL_CS, $PHYS(start_other)
start_table:
	.word	start_segments_end - start_segments - 1
	.long	PHYS(start_segments)
END(start_other_page)
	.globl	start_other_page_end
start_other_page_end:

	.balign	8
start_segments:
	.quad	0
	.quad	0x00cf9b000000ffff      /* KERNEL_CS: code, 4 GB */
	.quad	0x00cf93000000ffff      /* KERNEL_DS: data, 4 GB */
start_segments_end:

	.section .text.start, "ax"
	.code32
FUNCTION(start_other)
	movl	$KERNEL_DS, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movl	PHYS(start_cr4), %eax
	movl	%eax, %cr4
	movl	PHYS(start_cr3), %eax
	movl	%eax, %cr3
	movl	PHYS(start_cr0), %eax
	movl	%eax, %cr0
	movl	$1f, %eax
	jmp	*%eax
1:	movl	start_stack, %esp
	call	start_another_c
END(start_other)
