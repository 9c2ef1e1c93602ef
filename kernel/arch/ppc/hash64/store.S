/*
 * void hash64_store(struct hpte64 *entry (r3), u32 high (r4), u32 word0 (r5), u32 word1 (r6)): sets an entry of the
 * hash table, the doubleword with the valid bit last. If the kernel misses on a page of its own in between, the handler
 * may take the same slot. Only the first store can miss: the second is in the same page, and all of the code is in one
 * page.
 */
#include <arch/asm.h>

	.machine push
	.machine "power4"
	.section .text.cause.reload, "ax"
	.balign	32
FUNCTION(hash64_store)
	rldimi	r5, r4, 32, 0
	clrldi	r6, r6, 32
	std	r6, 8(r3)
	eieio
	std	r5, 0(r3)
	ptesync
	blr
END(hash64_store)
	.machine pop
