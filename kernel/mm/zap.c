/* Taking pages out of address spaces. */
#include <arch.h>
#include <flush.h>
#include <fs.h>
#include <lib.h>

#include "internal.h"

static void zap_entry(struct mm *mm, u32 *entry)
{
	if (pte_frame(*entry)) {
		struct frame *frame = pa_frame(*entry & PTE_RPN);

		frame->mapped--;
		mm->resident_pages--;
		frame_put(frame);
	}
	*entry = 0;
}

/* Table by table: what one table covers and does not have is skipped in one step. */
void zap_unflushed(struct vma *vma, u32 start, u32 end)
{
	struct mm *mm = vma->mm;

	while (start < end) {
		u32 stop = MIN(pagetable_next(start), end);
		u32 *entry = pagetable_find(mm->root, start);

		if (entry)
			for (u32 *last = entry + ((stop - start) >> PAGE_SHIFT); entry < last; entry++)
				if (*entry)
					zap_entry(mm, entry);
		start = stop;
	}
}

/*
 * Flushed first: nothing runs in between that could use or reload an entry, and a frame is free only when no
 * translation reaches it.
 */
void zap_range(struct vma *vma, u32 start, u32 end)
{
	flush->range(vma->mm, start, end);
	zap_unflushed(vma, start, end);
}

void tables_trim(struct mm *mm, u32 start, u32 end)
{
	struct vma *above = mm_find(mm, start);
	u32 floor = 0, ceiling = above ? above->start : KERNEL_BASE;
	struct rb_node *before = above ? rb_prev(&above->node) : rb_last(&mm->areas);

	if (before)
		floor = rb_entry(before, struct vma, node)->end;
	pagetable_free_range(mm, start, MIN(end, ceiling), floor, ceiling);
}

void mm_unmap_inode(struct inode *inode, u32 first, u32 last)
{
	struct vma *vma;

	list_for_each_entry(vma, &inode->mappings, mapping) {
		u32 pages = (vma->end - vma->start) >> PAGE_SHIFT;
		u32 from = MAX(first, vma->first_page), to = MIN(last, vma->first_page + pages - 1);

		if (from <= to)
			zap_range(vma, vma->start + ((from - vma->first_page) << PAGE_SHIFT),
				  vma->start + ((to - vma->first_page + 1) << PAGE_SHIFT));
	}
}
