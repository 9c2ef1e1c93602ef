/*
 * What the 604 and 750 do without the kernel lock, under the hash table's: hash misses with several processors, as in
 * reload.S, and requests to flush pages where tlbie goes over the bus.
 *
 * From the look into the tree to the insertion nobody else removes an entry. A flush changes the tree first and takes
 * the lock then: either it finds what was inserted here, or the look here finds the change.
 */
#include <arch/asm.h>

#include "../smp/external_flush.h"
#include "insert.h"
#include "lock.h"
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
/* The handler of flush requests where tlbie reaches the other processors: two may not do it at once. */
	external_flush external_flush_bus, hash_lock_take_bare, hash_lock_give_bus

	.section .images, "ax"
image image_external_flush_bus
	ba	PHYS(external_flush_bus)
end_image image_external_flush_bus
