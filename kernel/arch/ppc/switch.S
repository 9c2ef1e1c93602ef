/* The context switch, and the floating-point registers. */
#include <arch/asm.h>
#include <arch/entry_forms.h>

#define SWITCH_FRAME 96                 /* header, r13 to r31, CR */
#define SWITCH_CR    84

	.section .text.cause.switch, "ax"

/*
 * void switch_preload(struct task *next (r3)): prefetches the lines that the switch will read: the registers that
 * switch_to saved on next's stack, and the frame by which next returns to its program. Policy preload patches the
 * first instruction: blr, or a nop.
 */
	.balign	32
FUNCTION(switch_preload)
	blr
	lwz	r4, TASK_ARCH + ARCH_KSP(r3)
	lwz	r5, TASK_ARCH + ARCH_STACK_TOP(r3)
	.irp	offset, 0, 32, 64
	li	r6, \offset
	dcbt	r6, r4
	.endr
	.irp	offset, 0, 32, 64, 128, 160
	li	r6, \offset - FRAME_SIZE
	dcbt	r6, r5
	.endr
	lis	r7, switch_preloads@ha
	lwz	r8, switch_preloads + 4@l(r7)
	addi	r8, r8, 1
	stw	r8, switch_preloads + 4@l(r7)
	blr
END(switch_preload)

.macro switch_resume next
	lwz	r1, TASK_ARCH + ARCH_KSP(\next)
	lwz	r0, SWITCH_FRAME + 4(r1)
	lwz	r5, SWITCH_CR(r1)
	.irp	n, 13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	lwz	\n, 8 + 4 * (\n - 13)(r1)
	.endr
	mtlr	r0
	mtcrf	0xff, r5
	addi	r1, r1, SWITCH_FRAME
.endm

/*
 * void switch_to(struct task *previous (r3), struct task *next (r4)). Registers move one by one: a 604 does nothing
 * else during an instruction that moves several.
 */
	.balign	32
FUNCTION(switch_to)
	leave_fpu
	mflr	r0
	stwu	r1, -SWITCH_FRAME(r1)
	mfcr	r6
	to_phys	r5, r4
	addi	r5, r5, TASK_ARCH
	.irp	n, 13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	stw	\n, 8 + 4 * (\n - 13)(r1)
	.endr
	stw	r0, SWITCH_FRAME + 4(r1)
	stw	r6, SWITCH_CR(r1)
	stw	r1, TASK_ARCH + ARCH_KSP(r3)
	mr	r2, r4
	mtspr	SPR_SPRG3, r5
	switch_resume r4
	blr
END(switch_to)

/*
 * void switch_away(struct task *previous (r3), struct task *next (r4)): previous has ended. Nothing of it is saved, and
 * its stack goes as soon as next's is in use.
 */
FUNCTION(switch_away)
	to_phys	r5, r4
	addi	r5, r5, TASK_ARCH
	mtspr	SPR_SPRG3, r5
	mr	r2, r4
	switch_resume r4
	b	task_release_stack
END(switch_away)

	.machine push
	.machine "ppc"
/* void fpu_store(u64 fpr[33] (r3)): r0 to r31, then FPSCR. MSR[FP] is on. */
FUNCTION(fpu_store)
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	stfd	\n, 8 * \n(r3)
	.endr
	mffs	0
	stfd	0, 256(r3)
	lfd	0, 0(r3)
	blr
END(fpu_store)

/* void fpu_load(const u64 fpr[33] (r3)) */
FUNCTION(fpu_load)
	lfd	0, 256(r3)
	mtfsf	0xff, 0
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	lfd	\n, 8 * \n(r3)
	.endr
	blr
END(fpu_load)
	.machine pop
