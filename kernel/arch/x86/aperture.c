/*
 * Temporary mappings: an entry of the active root gets a page table of another address space (Liedtke 1993, 5.2.4). The
 * mapping differs from the other space's own in bits 22 to 31 of its addresses only. What the TLB has of it is removed at
 * its end.
 */
#include <aperture.h>
#include <arch.h>
#include <cpu.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>
#include <smp.h>
#include <task.h>

#include "internal.h"

/* The entries used: the one that does not contain the caller's own address. */
#define APERTURE_LOW  0x00000000u
#define APERTURE_HIGH 0xbfc00000u

bool aperture_possible(void)
{
	/* Other threads, on other processors, would see through the aperture too. */
	return !several_processors;
}

/* Entries of the program's own for these addresses may be cached. */
CAUSE(copy) uaddr_t aperture_begin(struct mm *mm, uaddr_t address, uaddr_t own)
{
	struct cpu_state *cpu = &this_cpu()->arch;
	uaddr_t there = (own < 0x80000000u ? APERTURE_HIGH : APERTURE_LOW) | (address & (TABLE_SPAN - 1));

	cpu->aperture_entry = pagetable_slot(this_cpu()->mm->root, there);
	slot_share(&cpu->aperture_entry_before, cpu->aperture_entry);
	slot_share(cpu->aperture_entry, pagetable_slot(mm->root, address));
	cr3_write(cr3_read());
	cpu->aperture_mm = current->mm;
	current->mm = NULL;     /* a fault ends the copy */
	return there;
}

CAUSE(copy) void aperture_end(void)
{
	struct cpu_state *cpu = &this_cpu()->arch;

	current->mm = cpu->aperture_mm;
	slot_share(cpu->aperture_entry, &cpu->aperture_entry_before);
	cr3_write(cr3_read());
}
