/* madvise, msync, mincore. */
#include <arch.h>
#include <check.h>
#include <errno.h>
#include <lib.h>
#include <signal.h>
#include <uaccess.h>
#include <window.h>

#include "internal.h"

/* How a range's pages are dropped. */
struct discard {
	bool anonymous_only, locked_too;
};

/* Drops pages of an area until other tasks wait to run. Returns the end of what it dropped, or an error. */
static uaddr_t discard_part(struct vma *vma, uaddr_t start, uaddr_t end, const struct discard *how)
{
	struct mm *mm = vma->mm;

	if (vma->flags & VM_DEVICE || (vma->flags & VM_LOCKED && !how->locked_too) ||
	    (how->anonymous_only && vma->inode))
		return (uaddr_t)-EINVAL;
	if (tables_unshare(mm, start, end))
		return (uaddr_t)-ENOMEM;
	mm->flush_reason = SHOOTDOWN_MADVISE;
	end = zap_part(vma, start, end);
	check_range(mm, start, end, "madvise");
	return end;
}

/* Takes the pages of a shared file from the file. The area may change meanwhile. */
static uaddr_t remove_part(const struct vma *vma, uaddr_t start, uaddr_t end)
{
	const u32 shared = VM_SHARED | VM_MAY_WRITE;
	u64 from;
	int error;

	if (vma->flags & VM_LOCKED || !(vma->flags & VM_OBJECT))
		return (uaddr_t)-EINVAL;
	if ((vma->flags & shared) != shared)
		return (uaddr_t)-EACCES;
	from = (u64)vma_page(vma, start) << PAGE_SHIFT;
	error = area_of(vma)->remove(vma, from, from + (end - start));
	return error ? (uaddr_t)error : end;
}

/* Faults pages in. Other tasks run between two pages. */
static uaddr_t populate_part(struct vma *vma, uaddr_t start, uaddr_t end, bool write)
{
	struct mm *mm = vma->mm;

	if (vma->flags & VM_DEVICE || !(vma->flags & (write ? VM_WRITE : VM_READ)))
		return (uaddr_t)-EINVAL;
	for (; start < end; start += PAGE_SIZE) {
		int error = mm_fault(mm, start, write ? MM_WRITE : MM_READ);

		if (error)
			return (uaddr_t)(error == -ENOMEM ? -ENOMEM : -EFAULT);
		if (signal_fatal_pending())
			return (uaddr_t)-EINTR;
		if (preemption_due()) {
			preemption_point();
			return start + PAGE_SIZE;
		}
	}
	return end;
}

static uaddr_t advise_part(struct vma *vma, uaddr_t start, uaddr_t end, const void *how)
{
	const u32 *advice = how;

	switch (*advice) {
	case MADV_COLD:
	case MADV_PAGEOUT:
		return vma->flags & (VM_DEVICE | VM_LOCKED) ? (uaddr_t)-EINVAL : end;
	case MADV_DONTNEED:
		return discard_part(vma, start, end, &(struct discard){ 0 });
	case MADV_DONTNEED_LOCKED:
		return discard_part(vma, start, end, &(struct discard){ .locked_too = true });
	case MADV_FREE:
		return discard_part(vma, start, end, &(struct discard){ .anonymous_only = true });
	case MADV_REMOVE:
		return remove_part(vma, start, end);
	case MADV_POPULATE_READ:
		return populate_part(vma, start, end, false);
	case MADV_POPULATE_WRITE:
		return populate_part(vma, start, end, true);
	default:
		return end;
	}
}

/* The flags that advice sets or clears. False: it changes none. */
static bool advice_flags(u32 advice, u32 *set, u32 *clear)
{
	*set = advice == MADV_DONTFORK ? VM_DONTFORK : advice == MADV_DONTDUMP ? VM_DONTDUMP :
	       advice == MADV_WIPEONFORK ? VM_WIPEONFORK : 0;
	*clear = advice == MADV_DOFORK ? VM_DONTFORK : advice == MADV_DODUMP ? VM_DONTDUMP :
		 advice == MADV_KEEPONFORK ? VM_WIPEONFORK : 0;
	return *set | *clear;
}

static bool advice_known(u32 advice)
{
	return advice <= MADV_DONTNEED || (advice >= MADV_FREE && advice <= MADV_DOFORK) ||
	       (advice >= MADV_DONTDUMP && advice <= MADV_DONTNEED_LOCKED);
}

int mm_advise(struct mm *mm, uaddr_t address, uaddr_t size, u32 advice)
{
	uaddr_t end = address + ALIGN_UP(size, PAGE_SIZE);
	u32 set, clear;
	int error;

	if (!advice_known(advice) || address % PAGE_SIZE || (size && !ALIGN_UP(size, PAGE_SIZE)) || end < address)
		return -EINVAL;
	if (!size)
		return 0;
	if (!advice_flags(advice, &set, &clear))
		return areas_walk(mm, address, end, HOLES_ARE_TOLD, advise_part, &advice);
	error = areas_mark(mm, address, end, set, clear);
	if (error)
		return error == -ENOMEM ? -EAGAIN : error;
	return areas_cover_to(mm, address, end) < end ? -ENOMEM : 0;
}

static uaddr_t sync_part(struct vma *vma, uaddr_t start, uaddr_t end, const void *how)
{
	const u32 shared_file = VM_OBJECT | VM_SHARED | VM_WRITE, *flags = how;
	int error = 0;

	if (*flags & MS_INVALIDATE && vma->flags & VM_LOCKED)
		return (uaddr_t)-EBUSY;
	if (*flags & (MS_ASYNC | MS_SYNC) && (vma->flags & shared_file) == shared_file)
		error = area_of(vma)->synchronise(vma, start, end);
	return error ? (uaddr_t)error : end;
}

int mm_sync(struct mm *mm, uaddr_t address, uaddr_t size, u32 flags)
{
	uaddr_t end = address + ALIGN_UP(size, PAGE_SIZE);

	if (flags & ~(u32)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) || (flags & MS_ASYNC && flags & MS_SYNC) ||
	    address % PAGE_SIZE)
		return -EINVAL;
	return end < address ? -ENOMEM : areas_walk(mm, address, end, HOLES_ARE_TOLD, sync_part, &flags);
}

/* Whether the page is in memory: 1 or 0; -ENOMEM when another thread has unmapped it. */
static int page_is_resident(struct mm *mm, uaddr_t address)
{
	struct vma *vma = mm_find(mm, address);

	if (!vma || vma->start > address)
		return -ENOMEM;
	if (!pte_none(pagetable_read(mm->root, address)))
		return 1;
	return vma->flags & VM_OBJECT && area_of(vma)->present(vma, vma_page(vma, address));
}

/* In order: what lies before a hole, or before a byte of the vector that cannot be written, is written. */
int mm_incore(struct mm *mm, uaddr_t address, uaddr_t size, u8 *user_vector)
{
	uaddr_t end = address + ALIGN_UP(size, PAGE_SIZE);

	if (address % PAGE_SIZE)
		return -EINVAL;
	if (size > USER_END || address > USER_END - size)
		return -ENOMEM;
	for (; address < end; address += PAGE_SIZE) {
		int in = page_is_resident(mm, address);
		u8 byte = (u8)in;

		if (in < 0)
			return in;
		if (put_user(byte, user_vector))
			return -EFAULT;
		user_vector++;
		if ((address >> PAGE_SHIFT) % WINDOW_STEPS == 0) {
			preemption_point();
			if (signal_fatal_pending())
				return -EINTR;
		}
	}
	return 0;
}
