/* Requests to flush pages where tlbie goes over the bus, under the hash table's lock. */
#include <arch/asm.h>
#include <arch/hash_lock.h>

#include "../../several/external_flush.h"

	.section .text.cause.flush, "ax"
/* The handler of flush requests where tlbie reaches the other processors: two may not do it at once. */
	external_flush external_flush_bus, hash_lock_take_bare, hash_lock_give_bus

	.section .images, "ax"
image image_external_flush_bus
	ba	PHYS(external_flush_bus)
end_image image_external_flush_bus
