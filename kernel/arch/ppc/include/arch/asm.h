/* Macros for assembly files. Registers are named rN (-mregnames). */
#ifndef ARCH_ASM_H
#define ARCH_ASM_H
#include <arch/pte_bits.h>
#include <arch/reg.h>
#include <asm_offsets.h>

/* The physical address of a symbol, for code that runs with translation off. */
#define PHYS(symbol) ((symbol) - KERNEL_BASE_ASM)

#define FUNCTION(name) .globl name; .type name, @function; name:
#define END(name) .size name, . - name

#define GPR(n) (FRAME_GPR + 4 * (n))

#define RFID 0x4c000024

/* In image_syscall_messages: the lean entry, with CR in r10. */
#define MESSAGE_LEAN_ENTRY 0xc18

/* The register must not be r0, which addi reads as zero. */
.macro load_address reg, value
	lis	\reg, (\value)@ha
	addi	\reg, \reg, (\value)@l
.endm

.macro load_word reg, value
	lis	\reg, (\value) >> 16
	ori	\reg, \reg, (\value) & 0xffff
.endm

/* Adds 1 to a word, by its physical address. `a` must not be r0. */
.macro count_at a, b, place
	lis	\a, PHYS(\place)@ha
	lwz	\b, PHYS(\place)@l(\a)
	addi	\b, \b, 1
	stw	\b, PHYS(\place)@l(\a)
.endm

/* Counts a miss by mode: the second u64 of `counts` is for programs, the first for the kernel. In: a = SRR1. */
.macro count_mode a, b, counts
	rlwinm	\a, \a, 21, 28, 28      /* MSR[PR] as 8 */
	addis	\a, \a, PHYS(\counts)@ha
	lwz	\b, PHYS(\counts) + 4@l(\a)
	addi	\b, \b, 1
	stw	\b, PHYS(\counts) + 4@l(\a)
.endm

/* Counts a miss of a kernel address, if the special register `address` holds one. Uses no CR. */
.macro count_kernel_address a, b, c, address
	mfspr	\c, \address
	srwi	\c, \c, 30
	addi	\c, \c, 1
	srwi	\c, \c, 2               /* 1 for an address of the last gigabyte */
	lis	\a, PHYS(misses_of_kernel_pages)@ha
	lwz	\b, PHYS(misses_of_kernel_pages) + 4@l(\a)
	add	\b, \b, \c
	stw	\b, PHYS(misses_of_kernel_pages) + 4@l(\a)
.endm

/*
 * Records that a 64-bit processor needs this instruction instead of the instruction at label 77. hash64/head.S writes
 * the recorded instructions before the rest of the kernel runs. On such a processor exceptions begin with addresses
 * of 64 bits, and the upper halves of registers have any value.
 */
.macro form64 instruction:vararg
	.pushsection .forms64, "a"
	.long	77b
	\instruction
	.popsection
.endm

/* KERNEL_BASE is 3 GB: adding 1 GB modulo 4 GB subtracts it, and subtracting 1 GB adds it. */
.macro to_phys to, from
77:	addis	\to, \from, 0x4000
	form64	clrlwi \to, \from, 2
.endm

/* The return from an exception: rfi, or rfid. */
.macro exception_return
77:	rfi
	form64	.long RFID
.endm
.macro to_virt to, from
	addis	\to, \from, -0x4000
.endm

/*
 * Goes on behind the macro with translation and interrupts off. `link` keeps LR. Uses r0 and `scratch`. `back`: the
 * return from an exception on the only processors that run this, if not exception_return.
 */
.macro translation_off link, scratch=r8, back:vararg
	mflr	\link
	li	r0, MSR_ME
	load_address \scratch, PHYS(1f)
	mtsrr0	\scratch
	mtsrr1	r0
	.ifb	\back
	exception_return
	.else
	\back
	.endif
1:
.endm

/* BATs map 256 MB of RAM at 3 GB, and for data 512 MB, for the kernel only. WIMG and PP: `form`. Uses r4 to r6. */
.macro map_ram_by_bats form
	lis	r4, 0xc000
	ori	r5, r4, 0x1ffe          /* BL = 256 MB, Vs */
	li	r6, \form
	mtspr	SPR_IBAT0U + 1, r6
	mtspr	SPR_IBAT0U, r5
	mtspr	SPR_DBAT0U + 1, r6
	mtspr	SPR_DBAT0U, r5
	addis	r5, r5, 0x1000
	addis	r6, r6, 0x1000
	mtspr	SPR_DBAT0U + 3, r6
	mtspr	SPR_DBAT0U + 2, r5
.endm

/*
 * Invalidates the BATs and every set of the TLB of a 6xx. In: r0 = 0. Uses r4, r5 and CTR. A TLB with fewer sets than
 * TLB_SETS is emptied more than once.
 */
.macro forget_translations
	.irp	bat, 528, 530, 532, 534, 536, 538, 540, 542
	mtspr	\bat, r0
	.endr
	isync
	li	r4, TLB_SETS
	mtctr	r4
	li	r5, 0
1:	tlbie	r5
	addi	r5, r5, 0x1000
	bdnz	1b
	sync
.endm

/*
 * Empties and enables both caches of a 6xx; uses r4 and r5. On a 603, software must clear the flash-invalidate bits
 * again.
 */
.macro enable_caches
	mfspr	r4, SPR_HID0
	ori	r5, r4, HID0_ICE | HID0_DCE | HID0_ICFI | HID0_DCFI
	ori	r4, r4, HID0_ICE | HID0_DCE
	sync
	isync
	mtspr	SPR_HID0, r5
	sync
	isync
	mtspr	SPR_HID0, r4
	sync
	isync
.endm

/*
 * The end of the exit from a system call, before rfi. r1 = frame, r9 = MSR, r10 = CR, r11 = address, r12 = LR: the
 * program's own. With \clear no register that a call may destroy keeps a value of the kernel's.
 */
.macro leave_syscall clear
	lwz	r2, GPR(2)(r1)
	li	r0, 0
	.if	\clear
	li	r4, 0
	li	r5, 0
	.endif
	lwz	r1, GPR(1)(r1)
	mtctr	r0
	mtlr	r12
	.if	\clear
	li	r6, 0
	li	r7, 0
	.endif
	mtxer	r0
	mtcrf	0xff, r10
	.if	\clear
	li	r8, 0
	.endif
	mtsrr0	r11
	mtsrr1	r9
	li	r9, 0
.endm

/* A code image (image.h). */
.macro image name
	.section .images, "ax"
	.balign	32
	.globl	\name\()_start
\name\()_start:
.endm

/* most: the bytes between its vector and the next. */
.macro end_image name, most=256
	.globl	\name\()_end
\name\()_end:
	.if	(\name\()_end - \name\()_start) > \most
	.error	"image does not fit its vector"
	.endif
.endm

/* Prefetches the lines of the frame at r11 that an entry writes, 32 bytes each. */
.macro preload_frame scratch
	.irp	offset, 0, 32, 64, 128, 160
	li	\scratch, \offset
	dcbtst	\scratch, r11
	.endr
.endm

/* A copy has moved so many bytes: r3 = destination, r4 = source, r5 = the bytes left. */
.macro copied bytes
	addi	r4, r4, \bytes
	addi	r3, r3, \bytes
	addi	r5, r5, -\bytes
.endm

/*
 * The first half of the full entry: finds the kernel stack and saves the registers that the handler would destroy.
 * With preload, prefetches the frame's lines while its first words are stored (policy preload). Leaves r11 = frame
 * (physical), r1 = frame (virtual), r9 = SRR1, and r0, r2 to r8, r10, r12 free but saved.
 */
.macro save_volatile preload=0
	mtspr	SPR_SPRG0, r10
	mtspr	SPR_SPRG1, r11
	mfcr	r10
	save_volatile_rest \preload
.endm

/* The same if r10 and r11 are in SPRG0 and SPRG1 already, and r10 = CR. */
.macro save_volatile_rest preload=0
	mfspr	r11, SPR_SRR1
	andi.	r11, r11, MSR_PR
	mfspr	r11, SPR_SPRG3
	lwz	r11, ARCH_FRAME(r11)
	bne	1f
	to_phys	r11, r1
	addi	r11, r11, -FRAME_SIZE
1:	stw	r10, FRAME_CCR(r11)
	.if	\preload
	preload_frame r10
	.endif
	mfspr	r10, SPR_SPRG0
	stw	r9, GPR(9)(r11)
	stw	r12, GPR(12)(r11)
	stw	r1, GPR(1)(r11)
	mfspr	r9, SPR_SPRG1
	stw	r1, 0(r11)
	stw	r10, GPR(10)(r11)
	stw	r0, GPR(0)(r11)
	mflr	r10
	stw	r9, GPR(11)(r11)
	stw	r2, GPR(2)(r11)
	stw	r3, GPR(3)(r11)
	mfspr	r12, SPR_SRR0
	stw	r10, FRAME_LINK(r11)
	stw	r4, GPR(4)(r11)
	stw	r5, GPR(5)(r11)
	mfspr	r9, SPR_SRR1
	to_virt	r1, r11
	stw	r12, FRAME_NIP(r11)
	stw	r6, GPR(6)(r11)
	stw	r7, GPR(7)(r11)
	stw	r8, GPR(8)(r11)
	stw	r9, FRAME_MSR(r11)
.endm

/* The second half: goes to a C handler that does not read r13 to r31. */
.macro enter_c trap, handler
	li	r10, \trap
	load_address r12, \handler
	ba	PHYS(enter)
.endm

/* The second half after a fault by data, or by a fetch: saves the address and the cause too. In: r9 = SRR1. */
.macro enter_c_data handler
	mfspr	r10, SPR_DAR
	mfspr	r12, SPR_DSISR
	stw	r10, FRAME_DAR(r11)
	stw	r12, FRAME_DSISR(r11)
	enter_c	0x300, \handler
.endm

.macro enter_c_fetch handler
	stw	r9, FRAME_DSISR(r11)
	clrlwi	r12, r9, 16
	stw	r12, FRAME_MSR(r11)
	enter_c	0x400, \handler
.endm

/* Saves CTR and XER, for an exit that restores the whole frame. Uses r0 and r5. */
.macro save_ctr_xer
	mfctr	r0
	mfxer	r5
	stw	r0, FRAME_CTR(r11)
	stw	r5, FRAME_XER(r11)
.endm

/* Goes to a C handler that needs the whole struct regs. */
.macro enter_c_whole trap, handler
	li	r10, \trap
	load_address r12, \handler
	ba	PHYS(enter_full)
.endm

#endif
