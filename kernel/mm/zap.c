/* Taking pages out of address spaces. */
#include <arch.h>
#include <check.h>
#include <flush.h>
#include <fs.h>
#include <lib.h>
#include <proc.h>

#include "internal.h"

/* The number of frames that it held. */
static u32 zap_entry(u32 *entry)
{
	u32 held = pte_frame(*entry);

	if (held) {
		struct frame *frame = pa_frame(*entry & PTE_RPN);

		frame->mapped--;
		frame_put(frame);
	}
	*entry = 0;
	return held;
}

#define LINE_ENTRIES 8u         /* entries in a cache line */

static bool line_empty(const u32 *entry)
{
	return !(entry[0] | entry[1] | entry[2] | entry[3] | entry[4] | entry[5] | entry[6] | entry[7]);
}

/* Entries of one table, line by line: most of a large area has nothing in it. The number of frames that they held. */
static u32 zap_entries(u32 *entry, u32 *last)
{
	u32 held = 0;

	while (entry < last) {
		u32 *next = (u32 *)ALIGN_DOWN((u32)(entry + LINE_ENTRIES), LINE_ENTRIES * sizeof(*entry));

		interrupt_window_at((u32)entry / sizeof(*entry));
		if (next <= last && next == entry + LINE_ENTRIES && line_empty(entry)) {
			entry = next;
			continue;
		}
		for (next = MIN(next, last); entry < next; entry++)
			if (*entry)
				held += zap_entry(entry);
	}
	return held;
}

/* Table by table: what one table covers and does not have is skipped in one step. */
void zap_unflushed(struct vma *vma, u32 start, u32 end)
{
	struct mm *mm = vma->mm;

	while (start < end) {
		u32 stop = MIN(pagetable_next(start), end);
		u32 *entry = pagetable_find(mm->root, start), held = 0;

		interrupt_window();
		if (entry)
			held = zap_entries(entry, entry + ((stop - start) >> PAGE_SHIFT));
		if (held)
			table_lost(mm, start, held);
		start = stop;
	}
}

/*
 * Flushed first: no program runs in between that could use or reload an entry (handlers of interrupts touch no memory
 * of programs), and a frame is free only when no translation reaches it.
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

/* The part of an area that shows pages [first, last] of its file; false: none of it does. */
static bool part(const struct vma *vma, u32 first, u32 last, u32 *start, u32 *end)
{
	u32 pages = (vma->end - vma->start) >> PAGE_SHIFT;
	u32 from = MAX(first, vma->first_page), to = MIN(last, vma->first_page + pages - 1);

	*start = vma->start + ((from - vma->first_page) << PAGE_SHIFT);
	*end = vma->start + ((to - vma->first_page + 1) << PAGE_SHIFT);
	return from <= to;
}

/* All are flushed before the first is zapped: it may lie in a table that several address spaces have. */
void mm_unmap_inode(struct inode *inode, u32 first, u32 last)
{
	struct vma *vma;
	u32 start, end;

	list_for_each_entry(vma, &inode->mappings, mapping)
		if (part(vma, first, last, &start, &end))
			flush->range(vma->mm, start, end);
	list_for_each_entry(vma, &inode->mappings, mapping)
		if (part(vma, first, last, &start, &end))
			zap_unflushed(vma, start, end);
	list_for_each_entry(vma, &inode->mappings, mapping)
		if (part(vma, first, last, &start, &end))
			check_range(vma->mm, start, end, "truncation");
}
