/*
 * fault.around: whether a fault that reads a page of a file maps the pages around it, too.
 *
 * off: only the page itself. <window>: also the other pages of its window (that many pages, aligned; a power of two, 2
 * to 64) that lie in the same area and are in memory. Linux has mapped around faults since 3.15 (mm/memory.c,
 * do_fault_around), 16 pages at a time. Holes are not filled, and a table that is absent or shared is left to the fault
 * itself. The MMU's backend is told of each page that is mapped.
 */
#include <errno.h>
#include <mm.h>
#include <mmu.h>
#include <pagetable.h>
#include <policy.h>
#include <shootdown.h>

#include "../internal.h"

#define MOST_PAGES 64u          /* no window for interrupts opens in a fault */

void (*fault_around)(struct mm *mm, uaddr_t address, bool outside);

static uaddr_t around_bytes;        /* bytes */
static u64 mapped_around;

CAUSE(fault) static void map_neighbour(const struct vma *vma, struct frame *frame, struct pte *entry, uaddr_t address,
				       enum pte_access access)
{
	pte_t pte;

	if (!frame)
		return;
	if (vma->flags & VM_EXEC)
		fetch_ready(vma, frame);
	pte = pte_make(frame_pa(frame), access, false);
	vma->mm->resident_pages++;
	pagetable_install(entry, pte);
	page_installed(vma->mm, address, pte);
	frame_get(frame);
	mapped_around++;
}

/*
 * outside: without the kernel lock (outside.h), where mm_fault_outside() has found that the address space is this
 * processor's own.
 */
CAUSE(fault) static void map_neighbours(struct mm *mm, uaddr_t address, bool outside)
{
	const struct vma *vma = mm_find(mm, address);
	const struct root_entry *slot = pagetable_slot(mm->root, address);
	const struct area_operations *area;
	enum pte_access access;
	struct pte *entry;
	uaddr_t at, end;

	if (!vma || vma->start > address || (vma->flags & (VM_READ | VM_KIND)) != (VM_READ | VM_OBJECT) ||
	    (outside && vma->flags & fetch_asks_others) || slot_empty(slot) || slot_frame(slot)->refs > 1)
		return;
	entry = &slot_table(slot)[pagetable_index(address)];
	if (!pte_none(pte_get(entry)))
		return;
	area = area_of(vma);
	access = area_writable_at_once(vma) ? PTE_READ_WRITE : PTE_READ;
	at = MAX(vma->start, ALIGN_DOWN(address, around_bytes));
	end = MIN(vma->end, ALIGN_DOWN(address, around_bytes) + around_bytes);
	shootdown_reuse(mm, at, end);
	/* A window lies in one table. */
	for (entry -= (address - at) >> PAGE_SHIFT; at < end; at += PAGE_SIZE, entry++)
		if (at != address && pte_none(pte_get(entry)))
			map_neighbour(vma, area->present(vma, vma_page(vma, at)), entry, at, access);
}

static int fault_around_apply(const struct policy_setting *to)
{
	if (to->choice && (to->value < 2 || to->value > MOST_PAGES || to->value & (to->value - 1)))
		return -EINVAL;
	around_bytes = (uaddr_t)to->value << PAGE_SHIFT;
	fault_around = to->choice ? map_neighbours : NULL;
	faults_bind();
	return 0;
}

POLICY(fault_around, "fault.around", CHOICES("off", "<window>"), POLICY_ANY, fault_around_apply, "mapped_around",
       &mapped_around);
