/* Replacing code of the kernel's own. */
#include <arch.h>
#include <lib.h>

#define JUMP 0xe9u              /* jmp, with a distance of 32 bits from the next instruction */
#define JUMP_SIZE 5u

/* The processor sees stores to code at the next jump at the latest (Intel manual, volume 3A, 8.1.3). */
static void jump_write(u8 *at, const void *to)
{
	u32 flags = irq_save(), distance = (u32)to - ((u32)at + JUMP_SIZE);

	at[0] = JUMP;
	memcpy(at + 1, &distance, sizeof(distance));
	irq_restore(flags);
}

void arch_replace(const void *function, const void *by)
{
	jump_write((u8 *)function, by);
}

/* Pairs of a place and its jump's target (arch/cpu.h). */
extern u8 *const outside_places[], *const outside_places_end[];

void arch_bind_outside(void)
{
	for (u8 *const *place = outside_places; place < outside_places_end; place += 2)
		jump_write(place[0], place[1]);
}
