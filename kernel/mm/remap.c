/* mremap. */
#include <arch.h>
#include <check.h>
#include <errno.h>
#include <flush.h>
#include <lib.h>
#include <window.h>

#include "internal.h"

/* Creates the tables that move_entries() needs. After -ENOMEM some of them exist. */
static int make_tables(struct mm *mm, uaddr_t from, uaddr_t to, u32 size)
{
	uaddr_t stop;

	for (uaddr_t at = from; at < from + size; at = stop) {
		stop = MIN(pagetable_next(at), from + size);
		interrupt_window();
		if (pagetable_find(mm->root, at) &&
		    (!pagetable_make(mm, to + (at - from)) || !pagetable_make(mm, to + (stop - from) - PAGE_SIZE)))
			return -ENOMEM;
	}
	return 0;
}

/* Frees the tables of [start, end) that no area needs: those that make_tables() created. */
static void unmake_tables(struct mm *mm, uaddr_t start, uaddr_t end)
{
	u32 areas = 0;

	for (struct vma *vma = mm_find(mm, start); start < end; vma = mm_next(vma)) {
		uaddr_t stop = vma ? MIN(vma->start, end) : end;

		interrupt_window_at(++areas);
		if (start < stop)
			tables_trim(mm, start, stop);
		if (!vma)
			break;
		start = vma->end;
	}
}

/* Moves the entries of [from, from + size) to the same offsets from `to`, whose tables exist. */
static void move_entries(struct mm *mm, uaddr_t from, uaddr_t to, u32 size)
{
	flush->hide(mm, from, from + size);
	flush->range(mm, from, from + size);
	shootdown_reuse(mm, to, to + size);
	for (uaddr_t at = from, stop; at < from + size; at = stop) {
		struct pte *old = pagetable_find(mm->root, at), *new;

		stop = MIN(pagetable_next(at), from + size);
		for (; old && at < stop; at += PAGE_SIZE, old++) {
			interrupt_window_at(at >> PAGE_SHIFT);
			if (pte_none(pte_get(old)))
				continue;
			new = pagetable_make(mm, to + (at - from));
			ASSERT(new);
			pagetable_install(new, pte_shown(pte_copy(pte_get(old))));
			pagetable_clear(old);
		}
	}
}

/* Removes the area of a range that has been moved, and the pages behind the first `moved` bytes. */
static void moved_remove(struct mm *mm, uaddr_t from, u32 size, u32 moved)
{
	struct vma *vma = mm_find(mm, from);

	if (moved < size)
		zap_range(vma, from + moved, from + size);
	vma_unlink(vma);
	vma_free(vma);
	tables_trim(mm, from, from + size);
}

/*
 * Moves the pages of the area at `from` to a copy of it at `to`, replacing mappings there. new_size may be larger or
 * smaller than size; keep: the old area stays, without its pages.
 */
static uaddr_t remap_move(struct mm *mm, uaddr_t from, u32 size, uaddr_t to, u32 new_size, bool keep)
{
	struct vma *vma, *twin;

	if (tables_unshare(mm, from, from + size) || tables_unshare(mm, to, to + new_size) ||
	    areas_cut(mm, to, to + new_size) || (!keep && areas_cut(mm, from, from + size)))
		return (uaddr_t)-ENOMEM;
	vma = mm_find(mm, from);
	twin = vma_copy(vma);
	if (!twin)
		return (uaddr_t)-ENOMEM;
	if (make_tables(mm, from, to, MIN(size, new_size))) {
		vma_free(twin);
		unmake_tables(mm, to, to + new_size);
		return (uaddr_t)-ENOMEM;
	}
	/* From here on nothing fails. */
	mm->flush_reason = SHOOTDOWN_MREMAP;
	areas_remove(mm, to, to + new_size);
	twin->first_page = vma_page(vma, from);
	twin->start = to;
	twin->end = to + new_size;
	twin->flags &= ~VM_STACK;
	vma_link(twin);
	move_entries(mm, from, to, MIN(size, new_size));
	if (!keep)
		moved_remove(mm, from, size, MIN(size, new_size));
	vma_merge(mm_find(mm, to));
	return to;
}

/* Whether the area may be mapped a second time or grow by this many pages: 0, or a negative errno. */
static int check_growth(struct mm *mm, const struct vma *vma, u32 old, u32 new_size, u32 pages, u32 replaced)
{
	/* Growing would map the physical pages behind the device, which are not part of it. */
	if (vma->flags & VM_DEVICE)
		return -EFAULT;
	if (vma->inode && (u64)vma_page(vma, old) + (new_size >> PAGE_SHIFT) > 0xffffffffull)
		return -EINVAL;
	if (mm->total_pages - replaced + pages > mm->address_limit >> PAGE_SHIFT)
		return -ENOMEM;
	return vma->flags & VM_LOCKED && !mm_may_lock(mm, pages) ? -EAGAIN : 0;
}

uaddr_t mm_remap(struct mm *mm, uaddr_t old, u32 old_size, u32 new_size, u32 flags, uaddr_t new_address)
{
	uaddr_t result;
	u32 replaced = 0, added;
	struct vma *vma;
	bool keep;
	int error;

	old_size = ALIGN_UP(old_size, PAGE_SIZE);
	new_size = ALIGN_UP(new_size, PAGE_SIZE);
	if (flags & ~(u32)(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP) || old % PAGE_SIZE || !new_size ||
	    (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) && !(flags & MREMAP_MAYMOVE)) ||
	    (flags & MREMAP_DONTUNMAP && old_size != new_size))
		return (uaddr_t)-EINVAL;
	if (old >= USER_END || old_size > USER_END - old)
		return (uaddr_t)-EINVAL;
	vma = mm_find(mm, old);
	if (!vma || vma->start > old)
		return (uaddr_t)-EFAULT;
	if (!old_size) {
		/* A second mapping of shared pages. */
		if (!(vma->flags & VM_SHARED) || !(flags & MREMAP_MAYMOVE))
			return (uaddr_t)-EINVAL;
	} else if (vma->end < old + old_size) {
		return (uaddr_t)-EFAULT;
	}
	if (flags & MREMAP_DONTUNMAP && (vma->inode || vma->flags & VM_DEVICE))
		return (uaddr_t)-EINVAL;

	if (flags & MREMAP_FIXED) {
		if (!range_ok(new_address, new_size) || new_address < PAGE_SIZE ||
		    (new_address < old + old_size && old < new_address + new_size))
			return (uaddr_t)-EINVAL;
		/* A second mapping over the first page of the first one. */
		if (new_address <= old && old - new_address < new_size)
			return (uaddr_t)-EFAULT;
		replaced = pages_mapped(mm, new_address, new_address + new_size);
	} else if (new_size <= old_size && !(flags & MREMAP_DONTUNMAP)) {
		if (new_size < old_size && mm_unmap(mm, old + new_size, old_size - new_size))
			return (uaddr_t)-ENOMEM;
		return old;
	}
	keep = !old_size || flags & MREMAP_DONTUNMAP;
	added = keep ? new_size : new_size > old_size ? new_size - old_size : 0;
	error = added ? check_growth(mm, vma, old, new_size, added >> PAGE_SHIFT, replaced) : 0;
	if (error)
		return (uaddr_t)error;
	if (!(flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))) {
		/* In place, when the area ends here and nothing follows. */
		if (old_size && vma->end == old + old_size && new_size <= USER_END - old &&
		    range_free(mm, vma->end, old + new_size)) {
			mm->total_pages += (old + new_size - vma->end) >> PAGE_SHIFT;
			vma->end = old + new_size;
			rb_stale(&vma->node);
			vma_merge(vma);
			check_range(mm, old, old + new_size, "mremap");
			return old;
		}
		if (!(flags & MREMAP_MAYMOVE))
			return (uaddr_t)-ENOMEM;
	}
	if (!(flags & MREMAP_FIXED)) {
		new_address = area_place(mm, flags & MREMAP_DONTUNMAP ? new_address : 0, new_size);
		if (!new_address)
			return (uaddr_t)-ENOMEM;
	}
	result = remap_move(mm, old, old_size, new_address, new_size, keep);
	check_range(mm, old, old + old_size, "mremap");
	check_range(mm, new_address, new_address + new_size, "mremap");
	return result;
}
