/*
 * Temporary mappings: an entry of the active root gets a page table of another address space (Liedtke 1993, 5.2.4). It
 * is an entry of the kernel's part, and permits the kernel only, whatever the table's own entries permit programs.
 *
 * What the TLB has of an earlier mapping must have gone. A load of CR3 empties it, so a switch of address space since
 * the last use is enough, which policy ipc.window notes.
 */
#include <aperture.h>
#include <arch.h>
#include <cpu.h>
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>
#include <smp.h>
#include <task.h>

#include "internal.h"

u64 windows_clean;              /* mappings without an emptied TLB */
bool window_noted;              /* policy ipc.window */

int aperture_refused(void)
{
	return SEVERAL ? -EOPNOTSUPP : 0;       /* another processor may have the same root */
}

CAUSE(copy) uaddr_t aperture_begin(struct mm *mm, uaddr_t address, uaddr_t own)
{
	struct cpu_state *cpu = &this_cpu()->arch;
	const struct root_entry *theirs = pagetable_slot(mm->root, address);
	/* A program that has ended its address space meanwhile, and an absent table, have nothing to map. */
	struct root_entry *slot = pagetable_slot(this_cpu()->mm ? this_cpu()->mm->root : kernel_root, WINDOW);

	(void)own;
	*slot = (struct root_entry){ theirs->word & ~PTE_USER };
	if (cpu->window_used || !window_noted)
		cr3_write(cr3_read());
	else
		windows_clean++;
	cpu->window_used = true;
	cpu->aperture_entry = slot;
	cpu->aperture_mm = current->mm;
	current->mm = NULL;     /* a fault ends the copy */
	return WINDOW | (address & (TABLE_SPAN - 1));
}

CAUSE(copy) void aperture_end(void)
{
	struct cpu_state *cpu = &this_cpu()->arch;

	current->mm = cpu->aperture_mm;
	slot_clear(cpu->aperture_entry);
	if (!window_noted)
		cr3_write(cr3_read());
}
