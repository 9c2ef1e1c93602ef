/*
 * The 604 and 750's hash misses with several processors: reload.S under the hash table's lock, without the kernel lock.
 * From the look into the tree to the insertion nobody else removes an entry. A flush changes the tree first and takes
 * the lock then: either it finds what was inserted here, or the look here finds the change.
 */
#include <arch/asm.h>

#include "../smp/external_flush.h"
#include "insert.h"
#include "scratch.h"

	.section .text.cause.reload, "ax"

.macro restore_from_insert
	lwz	r0, ARCH_SCRATCH(r11)
	lwz	r5, ARCH_SCRATCH + 12(r11)
	lwz	r7, ARCH_SCRATCH + 20(r11)
	lwz	r8, ARCH_SCRATCH + 24(r11)
	lwz	r9, ARCH_SCRATCH + 28(r11)
	restore_from_look
.endm

/* In: CR1 = a part of DSISR, as for hash_reload_data. */
FUNCTION(hash_reload_data_several)
	save_for_look
	save_for_insert
	hash_lock_take
	mfspr	r3, SPR_DAR
	li	r4, PTE_VALID
	bf	DSISR_STORE_BIT, 1f
	li	r4, PTE_VALID | PTE_CHANGED
1:	tree_look r4, 9f
	hash_insert_real hash_counted_data_several, hash_placed_data_several, 1
	hash_lock_give
	restore_scratch
	rfi
9:	hash_lock_give
	restore_from_insert
	data_fault
END(hash_reload_data_several)

FUNCTION(hash_reload_instruction_several)
	save_for_look
	save_for_insert
	hash_lock_take
	mfspr	r3, SPR_SRR0
	li	r4, PTE_VALID
	tree_look r4, 9f
	hash_insert_real hash_counted_instruction_several, hash_placed_instruction_several, 1
	hash_lock_give
	restore_scratch
	rfi
9:	hash_lock_give
	restore_from_insert
	instruction_fault
END(hash_reload_instruction_several)

/* As hash_reload_kernel. */
FUNCTION(hash_reload_kernel_several)
	stw	r10, FRAME_TRAP(r11)
	stmw	r13, GPR(13)(r11)
	mfctr	r0
	mfxer	r5
	stw	r0, FRAME_CTR(r11)
	stw	r5, FRAME_XER(r11)
	hash_lock_take
	li	r4, PTE_VALID
	tree_look r4, 9f
	hash_insert_real hash_counted_kernel_several, hash_placed_kernel_several, 1
	hash_lock_give
	mr	r1, r11
	lmw	r13, GPR(13)(r11)
	ba	PHYS(return_short)
9:	hash_lock_give
	lwz	r10, FRAME_TRAP(r11)
	cmpwi	r10, 0x300
	bne	1f
	load_address r12, exception_dsi
	b	enter_full
1:	load_address r12, exception_isi
	b	enter_full
END(hash_reload_kernel_several)

	hash_count_insertion hash_counted_kernel_several
	hash_count_insertion hash_counted_data_several
	hash_count_insertion hash_counted_instruction_several

	.section .text.cause.flush, "ax"
/*
 * tlbie reaches the other processors, and two may not do it at once. So the handler of flush requests takes the hash
 * table's lock, which is held for the time of an insertion or a flush of a page.
 */
.macro bus_take
	stw	r8, CPU_FLUSH_SAVED + 12(r10)
	load_address r12, PHYS(hash_lock)
1:	lwz	r8, 0(r12)
	cmpwi	r8, 0
	bne-	1b
	lwarx	r8, 0, r12
	cmpwi	r8, 0
	bne-	1b
	mfspr	r8, SPR_SPRG3
	stwcx.	r8, 0, r12
	bne-	1b
	isync
.endm

.macro bus_give
	eieio
	tlbsync
	sync
	li	r8, 0
	stw	r8, 0(r12)
	lwz	r8, CPU_FLUSH_SAVED + 12(r10)
.endm

	external_flush external_flush_bus, bus_take, bus_give

	.section .images, "ax"
image image_external_flush_bus
	ba	PHYS(external_flush_bus)
end_image image_external_flush_bus
