/*
 * Hash misses with one processor: nobody else looks into the table or fills it (several/include/arch/hash_lock.h has
 * the same names).
 */
#ifndef ARCH_HASH_LOCK_H
#define ARCH_HASH_LOCK_H

.macro hash_lock_take
.endm
.macro hash_lock_give
.endm

/* To look into the tree takes fewer registers than to insert. */
.macro miss_begin
	save_for_look
.endm
.macro miss_insert
	save_for_insert
.endm

.macro data_miss_failed
	data_miss_after_look
.endm
.macro instruction_miss_failed
	restore_from_look
	instruction_fault
.endm

.macro hash_look_first found
.endm

#endif
