/*
 * Temporary mappings. A segment register of the active space gets the VSID of the other space. TLB and hash table know
 * the other's pages under that VSID, so its cached translations serve, and entries cached through the aperture are
 * right for the other space. The root of the active tree gets the other's page table, so that any reload handler finds
 * its entries. An address in the aperture differs from the other space's only in the segment number, which no hash and
 * no congruence class uses: nothing needs a flush before or after.
 */
#include <aperture.h>
#include <arch.h>
#include <arch/mmu.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <errno.h>
#include <lib.h>
#include <pagetable.h>
#include <smp.h>
#include <task.h>

/* The segments for apertures: whichever of the two does not contain the caller's address is used. */
#define SEGMENT_LOW  0x00000000u
#define SEGMENT_HIGH 0xb0000000u
#define SEGMENT_OFFSET 0x0fffffffu

int aperture_refused(void)
{
	/* Other threads, on other processors, would see through the aperture too. */
	return !backend->segments ? -ENODEV : SEVERAL ? -EOPNOTSUPP : 0;
}

CAUSE(copy) uaddr_t aperture_begin(struct mm *mm, uaddr_t address, uaddr_t own)
{
	struct cpu_state *cpu = &this_cpu()->arch;
	uaddr_t segment, there;

	context_ensure(mm);
	segment = own < 0x80000000u ? SEGMENT_HIGH : SEGMENT_LOW;
	there = segment | (address & SEGMENT_OFFSET);
	cpu->aperture_entry = pagetable_slot(this_cpu()->mm->root, there);
	slot_share(&cpu->aperture_entry_before, cpu->aperture_entry);
	slot_share(cpu->aperture_entry, pagetable_slot(mm->root, address));
	cpu->aperture_segment = segment;
	cpu->aperture_register_before = segment_register(segment);
	segment_load(segment, SR_KEY_USER | context_vsid(mm, address));
	cpu->aperture_mm = current->mm;
	current->mm = NULL;     /* a fault ends the copy */
	return there;
}

CAUSE(copy) void aperture_end(void)
{
	struct cpu_state *cpu = &this_cpu()->arch;

	current->mm = cpu->aperture_mm;
	slot_share(cpu->aperture_entry, &cpu->aperture_entry_before);
	segment_load(cpu->aperture_segment, cpu->aperture_register_before);
}
