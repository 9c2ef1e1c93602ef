/*
 * From the boot protocol (Multiboot 1) to C. Starts in protected mode without paging: eax = the boot loader's mark, ebx
 * = its information. Maps RAM at 3 GB by tables that hold until the page-table tree exists: pages of 4 MB where the
 * processor has them, else 4 KB pages of the first BOOT_TABLES * 4 MB. The identical mapping of RAM is for the jump.
 */
#include <arch/asm.h>
#include <arch/boot_tables.h>

#define MULTIBOOT_HEADER 0x1badb002
#define MULTIBOOT_FLAGS  0x00000003     /* modules begin at pages; memory is described */

	.section .multiboot, "a"
	.balign	4
	.long	MULTIBOOT_HEADER, MULTIBOOT_FLAGS, -(MULTIBOOT_HEADER + MULTIBOOT_FLAGS)

	.section .text.start, "ax"
FUNCTION(start)
	movl	$PHYS(boot_stack) + KERNEL_STACK_SIZE, %esp
	movl	%eax, %ebp
	movl	%ebx, %esi

	/* CPUID is there if EFLAGS.ID can be changed. */
	pushfl
	popl	%eax
	movl	%eax, %ecx
	xorl	$EFLAGS_ID, %eax
	pushl	%eax
	popfl
	pushfl
	popl	%eax
	xorl	%ecx, %eax
	testl	$EFLAGS_ID, %eax
	jz	small_pages
	movl	$1, %eax
	cpuid
	testl	$8, %edx                /* PSE */
	jz	small_pages

	movl	%cr4, %eax
	orl	$CR4_PSE, %eax
	movl	%eax, %cr4
	movl	$PHYS(boot_root), %edi
	movl	$0x1e3, %eax            /* present, writable, accessed, dirty, 4 MB, global */
	andl	$~0x100, %eax
	movl	$LARGE_MOST, %ecx
1:	movl	%eax, (%edi)
	movl	%eax, 4 * (KERNEL_BASE_ASM >> 22)(%edi)
	addl	$4, %edi
	addl	$0x400000, %eax
	decl	%ecx
	jnz	1b
	jmp	paging

small_pages:
	movl	$PHYS(boot_tables), %edi
	movl	$0x063, %eax            /* present, writable, accessed, dirty */
	movl	$1024 * BOOT_TABLES, %ecx
1:	movl	%eax, (%edi)
	addl	$4, %edi
	addl	$0x1000, %eax
	decl	%ecx
	jnz	1b
	movl	$PHYS(boot_root), %edi
	movl	$PHYS(boot_tables) + 0x023, %eax
	movl	$BOOT_TABLES, %ecx
1:	movl	%eax, (%edi)
	movl	%eax, 4 * (KERNEL_BASE_ASM >> 22)(%edi)
	addl	$4, %edi
	addl	$0x1000, %eax
	decl	%ecx
	jnz	1b

	/* The registers of devices, among them the control device's: setup.c maps them here before the tree exists. */
paging:
	movl	$PHYS(boot_io) + 0x023, %eax
	movl	%eax, PHYS(boot_root) + 4 * (IO_VIRTUAL_ASM >> 22)
	movl	$PHYS(boot_root), %eax
	movl	%eax, %cr3
	movl	%cr0, %eax
	andl	$~(CR0_CD | CR0_NW), %eax
	orl	$CR0_PG | CR0_WP | CR0_NE | CR0_MP, %eax
	movl	%eax, %cr0
	movl	$1f, %eax
	jmp	*%eax

	/* The boot context becomes the idle task; its stack ends where the registers of a program would lie. */
1:	movl	cpus + CPU_IDLE, %eax
	movl	%eax, boot_stack + STACK_TASK
	movl	$boot_stack + KERNEL_STACK_SIZE - FRAME_SIZE, %esp
	movl	%ebp, %eax
	movl	%esi, %edx
	call	start_c
END(start)
