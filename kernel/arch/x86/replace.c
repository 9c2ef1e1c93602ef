/* Replacing code of the kernel's own. */
#include <arch.h>
#include <lib.h>

#define JUMP 0xe9u              /* jmp: like call, with a distance of 32 bits from the next instruction */
#define JUMP_SIZE 5u

/* The processor sees stores to code at the next jump at the latest (Intel manual, volume 3A, 8.1.3). */
void arch_replace(const void *function, const void *by)
{
	u8 *at = (u8 *)function;
	u32 distance = (u32)by - ((u32)at + JUMP_SIZE), flags = irq_save();

	at[0] = JUMP;
	memcpy(at + 1, &distance, sizeof(distance));
	irq_restore(flags);
	replacement_note(function, by);
}
