/*
 * The invariant checker. For every address space: each entry of the tree lies in an area that allows it, each
 * frame that it reaches is in use and counts it; areas are in order and do not overlap; the accounts are right.
 * For every cached translation (the hash table): the tree says the same. A TLB cannot be read by software on
 * these processors; the machine's sanitizers watch it.
 */
#include <arch/mmu.h>
#include <check.h>
#include <context.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>

u64 check_runs;
static const char *during;
static unsigned contradictions;

#define CONTRADICTIONS_SHOWN 10

static void bad(const char *what, u32 vsid, u32 address, u32 pte)
{
	if (contradictions++ < CONTRADICTIONS_SHOWN)
		console_printf("check: after %s: %s (VSID 0x%06x, address 0x%08x, entry 0x%08x)\n", during, what, vsid,
			       address, pte);
}

/* shared: other address spaces have the entry's table too. */
static void check_entry(struct mm *mm, const struct vma *vma, u32 address, u32 pte, bool shared)
{
	u32 number = (pte & PTE_RPN) >> PAGE_SHIFT;

	if (!vma || vma->start > address)
		bad("an entry outside of every area", mm->context.number, address, pte);
	else if ((pte & PTE_PP) == PP_USER_RW && !(vma->flags & VM_WRITE))
		bad("a writable entry in an area that is not", mm->context.number, address, pte);
	else if (number < frame_count && (frames[number].refs == 0 || frames[number].use <= FRAME_RESERVED))
		bad("an entry for a frame that is free", mm->context.number, address, pte);
	else if (number < frame_count && frames[number].refs < frames[number].mapped)
		bad("a frame that is mapped more often than it is held", mm->context.number, address, pte);
	else if ((pte & PTE_PP) == PP_USER_RW && number < frame_count && !(vma->flags & VM_SHARED) &&
		 (shared || frames[number].mapped > 1))
		bad("a private page is writable in two places", mm->context.number, address, pte);
}

static void check_space(struct mm *mm)
{
	u32 resident = 0, tables = 1, pages = 0, areas = 0, end = 0;

	for (struct vma *vma = mm_first(mm); vma; vma = mm_next(vma)) {
		if (vma->start < end || vma->end <= vma->start)
			bad("areas overlap or are out of order", mm->context.number, vma->start, vma->end);
		end = vma->end;
		areas++;
		pages += (vma->end - vma->start) >> PAGE_SHIFT;
	}
	for (u32 index = 0; index < KERNEL_BASE >> ROOT_SHIFT; index++) {
		const struct frame *frame;
		const u32 *table;

		if (!pagetable_root(mm->root)[index])
			continue;
		tables++;
		table = pagetable_table(pagetable_root(mm->root)[index]);
		frame = pa_frame(pagetable_root(mm->root)[index] & PTE_RPN);
		if (frame->refs == 0 || frame->use != FRAME_PAGE_TABLE)
			bad("a page table in a frame that holds none", mm->context.number, index << ROOT_SHIFT, 0);
		for (u32 i = 0; i < PTE_PER_TABLE; i++) {
			u32 address = index << ROOT_SHIFT | i << TABLE_SHIFT;

			if (!table[i])
				continue;
			check_entry(mm, mm_find(mm, address), address, table[i], frame->refs > 1);
			if ((table[i] & PTE_RPN) >> PAGE_SHIFT < frame_count)
				resident++;
		}
	}
	if (resident != mm->resident_pages)
		bad("resident pages miscounted", mm->context.number, resident, mm->resident_pages);
	if (tables != mm->table_pages)
		bad("tables miscounted", mm->context.number, tables, mm->table_pages);
	if (areas != mm->area_count || pages != mm->total_pages)
		bad("areas miscounted", mm->context.number, pages, mm->total_pages);
}

void check_run(const char *operation)
{
	during = operation;
	contradictions = 0;
	context_for_each(check_space);
	mmu->check(bad);
	check_runs++;
	if (contradictions)
		panic("%u contradictions after %s", contradictions, operation);
}
