/* Replacing code of the kernel's own. */
#include <arch.h>
#include <lib.h>

#include "internal.h"

#define JUMP 0xe9u              /* jmp, with a distance of 32 bits from the next instruction, as that of call */
#define JUMP_SIZE 5u

/* The processor sees stores to code at the next jump at the latest (Intel manual, volume 3A, 8.1.3). */
static void displacement_write(u8 *at, const void *to)
{
	u32 distance = (u32)to - ((u32)at + JUMP_SIZE);

	memcpy(at + 1, &distance, sizeof(distance));
}

static void jump_write(u8 *at, const void *to)
{
	u32 flags = irq_save();

	at[0] = JUMP;
	displacement_write(at, to);
	irq_restore(flags);
}

void arch_replace(const void *function, const void *by)
{
	jump_write((u8 *)function, by);
}

/* The same for an instruction of at least five bytes that is no function's first. */
void code_divert(const char *place, const char *to)
{
	jump_write((u8 *)(u32)place, to);
}

/* Pairs of a call and what it calls with several processors (entry.S). */
extern u8 *const locked_places[], *const locked_places_end[];

void code_bind_locked(void)
{
	for (u8 *const *place = locked_places; place < locked_places_end; place += 2)
		displacement_write(place[0], place[1]);
}

/* Pairs of a place and its jump's target (arch/cpu.h). */
extern u8 *const outside_places[], *const outside_places_end[];

void arch_bind_outside(void)
{
	faults_bind_outside();
	for (u8 *const *place = outside_places; place < outside_places_end; place += 2)
		jump_write(place[0], place[1]);
}
