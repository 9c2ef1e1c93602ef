/* Removing pages from address spaces. */
#include <arch.h>
#include <check.h>
#include <flush.h>
#include <fs.h>
#include <shootdown.h>
#include <smp.h>

#include "zap.h"

/* As zap_entry(), where other processors may still use the translation. */
static u32 zap_held(struct mm *mm, uaddr_t address, struct pte *entry, void *argument)
{
	struct frame *frame = pte_frame(pte_get(entry));

	(void)mm;
	(void)address;
	(void)argument;
	if (frame)
		frame_hold(frame);
	pagetable_clear(entry);
	return frame != NULL;
}

/* Aligned, so that the loop over lines of empty entries is fetched at one speed wherever the linker puts it. */
__attribute__((aligned(32))) void zap_unflushed(struct vma *vma, uaddr_t start, uaddr_t end)
{
	if (shootdown_unseen(vma->mm))
		zap_walk(vma->mm, start, end, zap_held, NULL);
	else
		zap_walk(vma->mm, start, end, zap_entry, NULL);
}

uaddr_t zap_part(struct vma *vma, uaddr_t start, uaddr_t end)
{
	bool flushed;
	uaddr_t stop;

	if (end - start <= PART_SIZE) {
		zap_range(vma, start, end);
		return end;
	}
	/*
	 * One flush before all parts, if the whole address space is flushed anyway: nothing can be cached again before
	 * its part is cleared, since nobody runs meanwhile. Whoever runs after the return may load what remains, which
	 * the next call flushes. With several processors, entries must be cleared before the flush.
	 */
	flushed = !SEVERAL && zap_flush_whole(vma, start, end);
	for (; start < end; start = stop) {
		stop = part_end(vma->mm, start, end);
		if (flushed)
			zap_unflushed(vma, start, stop);
		else
			zap_range(vma, start, stop);
		if (stop < end && preemption_due())
			return stop;
	}
	return end;
}

void tables_trim(struct mm *mm, uaddr_t start, uaddr_t end)
{
	struct vma *above = mm_find(mm, start);
	uaddr_t floor = 0, ceiling = above ? above->start : KERNEL_BASE;
	struct rb_node *before = above ? rb_prev(&above->node) : rb_last(&mm->areas);

	if (before)
		floor = rb_entry(before, struct vma, node)->end;
	pagetable_free_range(mm, start, MIN(end, ceiling), floor, ceiling);
}

/* The part of an area that maps pages [first, last] of its file; false: it maps none of them. */
static bool part_of_file(const struct vma *vma, u32 first, u32 last, uaddr_t *start, uaddr_t *end)
{
	u32 pages = page_count(vma->end - vma->start);
	u32 from = MAX(first, vma->first_page), to = MIN(last, vma->first_page + pages - 1);

	*start = vma->start + ((uaddr_t)(from - vma->first_page) << PAGE_SHIFT);
	*end = vma->start + ((uaddr_t)(to - vma->first_page + 1) << PAGE_SHIFT);
	return from <= to;
}

/* Several address spaces may share an entry, which one of them changes. So each flushes, whoever has changed it. */
void mm_clean_inode(struct inode *inode, u32 page)
{
	struct vma *vma;
	uaddr_t start, end;

	list_for_each_window(vma, &inode->mappings, mapping) {
		struct pte *entry;

		if (!(vma->flags & VM_SHARED) || !part_of_file(vma, page, page, &start, &end))
			continue;
		entry = pagetable_find(vma->mm->root, start);
		if (!entry || pte_none(pte_get(entry)))
			continue;
		if (pte_writable(pte_get(entry)))
			pagetable_set(entry, pte_write_protect(pte_get(entry)));
		vma->mm->flush_reason = SHOOTDOWN_MPROTECT;
		flush->range(vma->mm, start, end);
	}
	list_for_each_window(vma, &inode->mappings, mapping)
		if (part_of_file(vma, page, page, &start, &end))
			check_range(vma->mm, start, end, "cleaning");
}

/*
 * Flush every mapping before the first entry is cleared: the entry may be in a table that several address spaces
 * share.
 */
static void mm_unmap_inode(struct inode *inode, u32 first, u32 last)
{
	struct vma *vma;
	uaddr_t start, end;

	list_for_each_window(vma, &inode->mappings, mapping) {
		if (part_of_file(vma, first, last, &start, &end))
			flush->hide(vma->mm, start, end);
	}
	list_for_each_long(vma, &inode->mappings, mapping) {
		vma->mm->flush_reason = SHOOTDOWN_TRUNCATE;
		if (part_of_file(vma, first, last, &start, &end))
			flush->range(vma->mm, start, end);
	}
	list_for_each_window(vma, &inode->mappings, mapping) {
		if (part_of_file(vma, first, last, &start, &end))
			zap_unflushed(vma, start, end);
	}
	list_for_each_window(vma, &inode->mappings, mapping) {
		if (part_of_file(vma, first, last, &start, &end))
			check_range(vma->mm, start, end, "truncation");
	}
}

/* Up to this many areas, a part of the file is removed from all of them at once. */
#define AREAS_TOGETHER 16u

/* Moves *page on to the next page that an area maps. Returns how many areas map the file, 0: none from *page on. */
static u32 next_mapped(const struct inode *inode, u32 *page)
{
	const struct vma *vma;
	u32 next = 0, areas = 0;
	bool found = false;

	list_for_each_window(vma, &inode->mappings, mapping) {
		u32 last = vma->first_page + page_count(vma->end - vma->start) - 1;

		areas++;
		if (last >= *page && (!found || vma->first_page < next)) {
			next = MAX(*page, vma->first_page);
			found = true;
		}
	}
	*page = next;
	return found ? areas : 0;
}

/* The first page of [start, end) that has an entry; else at least end. */
static uaddr_t first_mapped(const struct mm *mm, uaddr_t start, uaddr_t end)
{
	while (start < end) {
		const struct pte *entry = pagetable_find(mm->root, start);

		if (!entry) {
			interrupt_window();
			start = pagetable_next(start);
			continue;
		}
		interrupt_window_at(page_number(start));
		if (!pte_none(pte_get(entry)))
			return start;
		/* Most of a large area is empty: go by cache lines. */
		start += (start >> PAGE_SHIFT) % PTE_LINE == 0 && pte_line_none(entry) ? PTE_LINE << PAGE_SHIFT
										       : PAGE_SIZE;
	}
	return start;
}

/* A part of the area that has pages from `first` of the file on, in one table. False: there are none. */
static bool next_part(const struct vma *vma, u32 first, uaddr_t *start, uaddr_t *stop)
{
	uaddr_t end;

	if (!part_of_file(vma, first, ~0u, start, &end))
		return false;
	*start = first_mapped(vma->mm, *start, end);
	if (*start >= end)
		return false;
	*stop = part_end(vma->mm, *start, end);
	return true;
}

static void unmap_part(struct vma *vma, uaddr_t start, uaddr_t stop)
{
	struct mm *mm = vma->mm;

	mm->flush_reason = SHOOTDOWN_TRUNCATE;
	outside_close();
	flush->hide(mm, start, stop);
	flush->range(mm, start, stop);
	zap_unflushed(vma, start, stop);
	outside_open();
	check_range(mm, start, stop, "truncation");
}

static void unmap_together(struct inode *inode, u32 first, u32 last)
{
	outside_close();
	mm_unmap_inode(inode, first, last);
	outside_open();
}

/*
 * Area by area. An area that is done leaves the list, until the list is empty: a fork meanwhile may add areas, with
 * entries that must go too. Others may run only until as many areas are done as there were at first, so that a program
 * that forks all the time cannot prolong the call. If a table is shared, all areas are done at once: each address space
 * that has an entry must flush it before it is cleared.
 */
static void unmap_one_by_one(struct inode *inode, u32 first, u32 areas)
{
	struct list_head done = LIST_HEAD_INIT(done);
	bool shared = false;

	while (!list_empty(&inode->mappings)) {
		struct vma *vma = list_first_entry(&inode->mappings, struct vma, mapping);
		uaddr_t start, stop;

		if (!next_part(vma, first, &start, &stop)) {
			list_del(&vma->mapping);
			list_add_tail(&vma->mapping, &done);
			areas -= areas != 0;
		} else if ((shared = table_shared(vma->mm, start))) {
			break;
		} else {
			unmap_part(vma, start, stop);
		}
		if (areas)
			preemption_point();
		else
			interrupt_window();
	}
	list_splice(&done, &inode->mappings);
	if (shared)
		unmap_together(inode, first, ~0u);
}

void mm_unmap_inode_from(struct inode *inode, u32 page)
{
	u32 areas;

	while ((areas = next_mapped(inode, &page))) {
		u32 part = (PART_SIZE >> PAGE_SHIFT) / areas, last = ~0u;

		if (areas > AREAS_TOGETHER) {
			unmap_one_by_one(inode, page, areas);
			return;
		}
		if (page < ~0u - part)
			last = page + part - 1;
		unmap_together(inode, page, last);
		if (last == ~0u)
			return;
		page = last + 1;
		preemption_point();
	}
}
