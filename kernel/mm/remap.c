/* mremap. */
#include <arch.h>
#include <check.h>
#include <err.h>
#include <errno.h>
#include <flush.h>
#include <lib.h>
#include <window.h>

#include "internal.h"

/* Creates the tables that move_entries() needs. After -ENOMEM some of them exist. */
static int make_tables(struct mm *mm, uaddr_t from, uaddr_t to, uaddr_t size)
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

/* Frees the tables of [start, end) that no area needs: make_tables() has created them. */
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
static void move_entries(struct mm *mm, uaddr_t from, uaddr_t to, uaddr_t size)
{
	flush->hide(mm, from, from + size);
	flush->range(mm, from, from + size);
	shootdown_reuse(mm, to, to + size);
	for (uaddr_t at = from, stop; at < from + size; at = stop) {
		struct pte *old = pagetable_find(mm->root, at), *new;

		stop = MIN(pagetable_next(at), from + size);
		for (; old && at < stop; at += PAGE_SIZE, old++) {
			interrupt_window_at(page_number(at));
			if (pte_none(pte_get(old)))
				continue;
			new = pagetable_make(mm, to + (at - from));
			ASSERT(new);
			pagetable_install(new, pte_shown(pte_copy(pte_get(old))));
			pagetable_clear(old);
		}
	}
}

/* Removes the area of a range that has been moved. */
static void moved_remove(struct mm *mm, uaddr_t from, uaddr_t size)
{
	struct vma *vma = mm_find(mm, from);

	vma_unlink(vma);
	vma_free(vma);
	tables_trim(mm, from, from + size);
}

/*
 * Moves the pages of the area at `from` to a copy of it at `to`, where nothing is mapped. new_size is at least size.
 * keep: the old area stays, without its pages.
 */
static uaddr_t remap_move(struct mm *mm, uaddr_t from, uaddr_t size, uaddr_t to, uaddr_t new_size, bool keep)
{
	struct vma *vma, *twin;

	if (tables_unshare(mm, from, from + size) || tables_unshare(mm, to, to + new_size) ||
	    (size && areas_cut(mm, from, from + size)))
		return (uaddr_t)-ENOMEM;
	vma = mm_find(mm, from);
	twin = vma_copy(vma);
	if (!twin)
		return (uaddr_t)-ENOMEM;
	if (make_tables(mm, from, to, size)) {
		vma_free(twin);
		unmake_tables(mm, to, to + new_size);
		return (uaddr_t)-ENOMEM;
	}
	/* From here on nothing fails. */
	mm->flush_reason = SHOOTDOWN_MREMAP;
	twin->first_page = vma_page(vma, from);
	twin->start = to;
	twin->end = to + new_size;
	twin->flags &= ~VM_STACK;
	vma_link(twin);
	move_entries(mm, from, to, size);
	if (!keep) {
		moved_remove(mm, from, size);
	} else if (size) {
		/* The pages that were locked are elsewhere now. */
		vma->flags &= ~VM_LOCK_MASK;
		vma_merge(vma);
	}
	vma_merge(mm_find(mm, to));
	return to;
}

/* The area at `old`, if it may have new_size bytes instead of old_size; else an error. */
static struct vma *area_to_resize(struct mm *mm, uaddr_t old, uaddr_t old_size, uaddr_t new_size, u32 flags)
{
	struct vma *vma = mm_find(mm, old);
	u32 pages = page_count(new_size - old_size);

	if (!vma || vma->start > old)
		return ERR_PTR(-EFAULT);
	/* Without a size, it is a second mapping of shared pages. */
	if ((!old_size && !(vma->flags & VM_SHARED)) || (flags & MREMAP_DONTUNMAP && vma->flags & VM_DEVICE))
		return ERR_PTR(-EINVAL);
	if (old_size > vma->end - old)
		return ERR_PTR(-EFAULT);
	if (new_size == old_size)
		return vma;
	if (vma->inode && (u64)vma_page(vma, old) + (new_size >> PAGE_SHIFT) > 0xffffffffull)
		return ERR_PTR(-EINVAL);
	/* Growing would map the physical pages behind the device, which are not part of it. */
	if (vma->flags & VM_DEVICE)
		return ERR_PTR(-EFAULT);
	if (vma->flags & VM_LOCKED && !mm_may_lock(mm, pages))
		return ERR_PTR(-EAGAIN);
	if (mm->total_pages + pages > mm->program.address_limit >> PAGE_SHIFT)
		return ERR_PTR(-ENOMEM);
	return vma;
}

/* The part that was added to locked memory is faulted in. */
static uaddr_t remap_done(struct mm *mm, uaddr_t at, uaddr_t old_size, uaddr_t new_size)
{
	const struct vma *vma;

	if (IS_ERR_VALUE(at))
		return at;
	check_range(mm, at, at + new_size, "mremap");
	vma = mm_find(mm, at);
	if (vma->flags & VM_LOCKED && new_size > old_size)
		area_populate(mm, at + old_size, at + new_size);
	return at;
}

/* With MREMAP_FIXED or MREMAP_DONTUNMAP. What was unmapped stays unmapped if a later step fails, as on Linux. */
static uaddr_t remap_to(struct mm *mm, uaddr_t old, uaddr_t old_size, uaddr_t new_size, u32 flags, uaddr_t new_address)
{
	bool fixed = flags & MREMAP_FIXED, keep = !old_size || flags & MREMAP_DONTUNMAP;
	const struct vma *vma;
	int error = 0;

	if (new_address % PAGE_SIZE || new_size > USER_END || new_address > USER_END - new_size ||
	    (old + old_size > new_address && new_address + new_size > old))
		return (uaddr_t)-EINVAL;
	if (fixed && new_address < PAGE_SIZE)
		return (uaddr_t)-EPERM;
	if (fixed)
		error = mm_unmap(mm, new_address, new_size);
	if (!error && old_size > new_size) {
		error = mm_unmap(mm, old + new_size, old_size - new_size);
		old_size = new_size;
	}
	if (error)
		return (uaddr_t)error;
	vma = area_to_resize(mm, old, old_size, new_size, flags);
	if (IS_ERR(vma))
		return (uaddr_t)PTR_ERR(vma);
	if (flags & MREMAP_DONTUNMAP &&
	    mm->total_pages + (old_size >> PAGE_SHIFT) > mm->program.address_limit >> PAGE_SHIFT)
		return (uaddr_t)-ENOMEM;
	if (!fixed)
		new_address = area_place(mm, new_address, new_size);
	if (!new_address)
		return (uaddr_t)-ENOMEM;
	new_address = remap_move(mm, old, old_size, new_address, new_size, keep);
	check_range(mm, old, old + old_size, "mremap");
	return remap_done(mm, new_address, old_size, new_size);
}

/* Grows the area in place, if it ends where the range ends and nothing follows. */
static bool grown_in_place(struct mm *mm, struct vma *vma, uaddr_t old, uaddr_t old_size, uaddr_t new_size)
{
	const struct vma *next = mm_next(vma);

	if (!old_size || vma->end != old + old_size || new_size > USER_END - old ||
	    (next && next->start < old + new_size))
		return false;
	mm->total_pages += page_count(old + new_size - vma->end);
	vma->end = old + new_size;
	rb_stale(&vma->node);
	vma_merge(vma);
	return true;
}

uaddr_t mm_remap(struct mm *mm, uaddr_t old, uaddr_t old_length, uaddr_t new_length, u32 flags, uaddr_t new_address)
{
	/* A length within the last page of memory becomes 0. */
	uaddr_t old_size = ALIGN_UP(old_length, PAGE_SIZE), new_size = ALIGN_UP(new_length, PAGE_SIZE);
	struct vma *vma;
	int error;

	if (flags & ~(u32)(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP) || old % PAGE_SIZE || !new_size ||
	    (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) && !(flags & MREMAP_MAYMOVE)) ||
	    (flags & MREMAP_DONTUNMAP && old_length != new_length))
		return (uaddr_t)-EINVAL;
	vma = mm_find(mm, old);
	if (!vma || vma->start > old)
		return (uaddr_t)-EFAULT;
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		return remap_to(mm, old, old_size, new_size, flags, new_address);
	if (new_size <= old_size) {
		/* Over areas and holes: only the first page must be mapped. */
		error = new_size < old_size ? mm_unmap(mm, old + new_size, old_size - new_size) : 0;
		return error ? (uaddr_t)error : old;
	}
	vma = area_to_resize(mm, old, old_size, new_size, flags);
	if (IS_ERR(vma))
		return (uaddr_t)PTR_ERR(vma);
	if (grown_in_place(mm, vma, old, old_size, new_size))
		return remap_done(mm, old, old_size, new_size);
	new_address = flags & MREMAP_MAYMOVE ? area_place(mm, 0, new_size) : 0;
	if (!new_address)
		return (uaddr_t)-ENOMEM;
	new_address = remap_move(mm, old, old_size, new_address, new_size, !old_size);
	check_range(mm, old, old + old_size, "mremap");
	return remap_done(mm, new_address, old_size, new_size);
}
