/*
 * Temporary mappings. A segment register gets the other space's VSID, under which the TLB and the hash table know its
 * pages already, and which keeps what they learn through the aperture right for the other space. The active tree's root
 * gets the other's page table, for the reloads; so a miss is served as any other, by whatever handler is bound. The
 * aperture's addresses differ from the other space's in the segment's number only, on which no hash and no congruence
 * class depends: nothing has to be flushed before or after.
 */
#include <arch.h>
#include <arch/mmu.h>
#include <context.h>
#include <lib.h>
#include <pagetable.h>
#include <aperture.h>

/* Segments that give way: whichever is far from the caller's own address. */
#define SEGMENT_LOW  0x00000000u
#define SEGMENT_HIGH 0xb0000000u
#define SEGMENT_OFFSET 0x0fffffffu

bool aperture_open;
static struct root_entry *shown;        /* the entry of the active root that gave way */
static struct root_entry shown_before;
static u32 segment, register_before;

CAUSE(copy) u32 aperture_begin(struct mm *mm, u32 address, u32 own)
{
	u32 there;

	context_ensure(mm);
	segment = own < 0x80000000u ? SEGMENT_HIGH : SEGMENT_LOW;
	there = segment | (address & SEGMENT_OFFSET);
	shown = pagetable_slot(context_active->root, there);
	shown_before = *shown;
	*shown = *pagetable_slot(mm->root, address);
	register_before = segment_register(segment);
	segment_load(segment, SR_KEY_USER | context_vsid(mm, address));
	aperture_open = true;
	return there;
}

CAUSE(copy) void aperture_end(void)
{
	aperture_open = false;
	*shown = shown_before;
	segment_load(segment, register_before);
}
