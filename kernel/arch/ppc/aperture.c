/*
 * Temporary mappings. A segment register gets the other space's VSID, under which the TLB and the hash table know its
 * pages already, and which keeps what they learn through the aperture right for the other space. The active tree's root
 * gets the other's page table, for the reloads; so a miss is served as any other, by whatever handler is bound. The
 * aperture's addresses differ from the other space's in the segment's number only, on which no hash and no congruence
 * class depends: nothing has to be flushed before or after.
 */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <lib.h>
#include <pagetable.h>
#include <task.h>
#include <aperture.h>

/* Segments that give way: whichever is far from the caller's own address. */
#define SEGMENT_LOW  0x00000000u
#define SEGMENT_HIGH 0xb0000000u
#define SEGMENT_OFFSET 0x0fffffffu

bool aperture_possible(void)
{
	return backend->segments;
}

CAUSE(copy) uaddr_t aperture_begin(struct mm *mm, u32 address, u32 own)
{
	struct cpu_state *cpu = &this_cpu()->arch;
	u32 segment, there;

	context_ensure(mm);
	segment = own < 0x80000000u ? SEGMENT_HIGH : SEGMENT_LOW;
	there = segment | (address & SEGMENT_OFFSET);
	cpu->aperture_entry = pagetable_slot(this_cpu()->mm->root, there);
	cpu->aperture_entry_before = *cpu->aperture_entry;
	*cpu->aperture_entry = *pagetable_slot(mm->root, address);
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
	*cpu->aperture_entry = cpu->aperture_entry_before;
	segment_load(cpu->aperture_segment, cpu->aperture_register_before);
}
