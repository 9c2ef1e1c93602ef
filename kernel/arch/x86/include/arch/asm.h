/* Macros for assembly files. */
#ifndef ARCH_ASM_H
#define ARCH_ASM_H
#include <arch/segment.h>
#include <asm_offsets.h>

/* The physical address of a symbol, for code that runs before paging is on. */
#define PHYS(symbol) ((symbol) - KERNEL_BASE_ASM)

#define FUNCTION(name) .globl name; .type name, @function; name:
#define END(name) .size name, . - name

/* A fault in the kernel at [start, end) goes on at target. */
.macro recovery start, end, target
	.pushsection .recoveries, "a"
	.long	\start, \end, \target
	.popsection
.endm

#endif
