/*
 * From the boot protocol (docs/interfaces.md, section 4) to C. Starts in real mode with r3 = device tree. Empties the
 * translation caches, maps RAM and I/O so that C can run before any table exists, and enables the caches.
 */
#include <arch/asm.h>

	.section .vectors, "ax"
	b	start
	.org	0x3000                  /* the boot and policies copy images to the vectors */

	.section .text.start, "ax"
FUNCTION(start)
	mr	r31, r3
	li	r0, 0
	/* The processor's line of `cores` (cpu.c), or the last one, names the code that goes on. */
	mfspr	r4, SPR_PVR
	srwi	r4, r4, 16
	load_address r5, PHYS(cores)
1:	lhz	r6, CORE_VERSION(r5)
	lwz	r7, CORE_START(r5)
	addi	r5, r5, CORE_SIZE
	cmpw	r6, r4
	beq	2f
	cmpwi	r6, 0
	bne	1b
2:	to_phys	r7, r7
	mtctr	r7
	bctr
END(start)

/* A processor with BATs. In: r0 = 0. */
FUNCTION(start_bats)
	forget_translations

	/* RAM (the upper half for data: the device tree is at its top), and 128 KB of I/O at 0xf0000000. */
	map_ram_by_bats 2               /* PP: read and write */
	lis	r5, 0xf000
	ori	r5, r5, 0x0002
	lis	r6, 0x8000
	ori	r6, r6, 0x2a            /* I, G, read and write */
	mtspr	SPR_DBAT0U + 5, r6
	mtspr	SPR_DBAT0U + 4, r5
	isync

	enable_caches

.globl start_common
start_common:
	/* Uninitialised data, by physical address; with the caches on. */
	load_address r4, PHYS(bss_start)
	load_address r5, PHYS(bss_end)
2:	stw	r0, 0(r4)
	addi	r4, r4, 4
	cmplw	r4, r5
	blt	2b

	/* The boot context becomes the idle task; its stack ends where an exception frame would begin. */
	load_address r2, PHYS(cpus + CPU_IDLE)
	lwz	r2, 0(r2)
	load_address r1, boot_stack + KERNEL_STACK_SIZE
	to_phys	r4, r2
	addi	r4, r4, TASK_ARCH
	mtspr	SPR_SPRG3, r4
	to_phys	r5, r1
	stw	r1, ARCH_STACK_TOP(r4)
	stw	r2, ARCH_TASK(r4)
	stw	r0, -FRAME_SIZE(r5)
	addi	r1, r1, -FRAME_SIZE
	mr	r3, r31
	load_address r5, start_c
	li	r4, MSR_KERNEL
	mtsrr0	r5
	mtsrr1	r4
	exception_return
END(start_bats)
