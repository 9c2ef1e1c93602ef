/* madvise, msync, mincore. */
#include <abi/mman.h>
#include <arch.h>
#include <check.h>
#include <errno.h>
#include <fs.h>
#include <lib.h>
#include <signal.h>
#include <uaccess.h>
#include <window.h>

#include "internal.h"

/* Drops the pages of a range; others may run between two parts, and change the areas. */
static int discard_range(struct mm *mm, uaddr_t address, uaddr_t end, bool anonymous_only)
{
	struct vma *vma;

	while (address < end && (vma = mm_find(mm, address)) && vma->start < end) {
		uaddr_t start = MAX(vma->start, address), stop = MIN(vma->end, end);

		if (vma->flags & (VM_DEVICE | VM_LOCKED) || (anonymous_only && vma->inode))
			return -EINVAL;
		if (tables_unshare(mm, start, stop))
			return -ENOMEM;
		mm->flush_reason = SHOOTDOWN_MADVISE;
		address = zap_until_due(vma, start, stop);
		check_range(mm, start, address, "madvise");
		if (address < end)
			preemption_point();
	}
	return 0;
}

int mm_advise(struct mm *mm, uaddr_t address, u32 size, u32 advice)
{
	uaddr_t end;
	int error = 0;

	size = ALIGN_UP(size, PAGE_SIZE);
	if (address % PAGE_SIZE)
		return -EINVAL;
	if (!size)
		return 0;
	if (!range_ok(address, size))
		return -EINVAL;
	end = address + size;
	switch (advice) {
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
	case MADV_WILLNEED:
	case MADV_COLD:
	case MADV_PAGEOUT:
		break;
	case MADV_DONTNEED:
	case MADV_FREE:
		error = discard_range(mm, address, end, advice == MADV_FREE);
		if (error)
			return error;
		break;
	case MADV_DONTFORK:
		error = areas_mark(mm, address, end, VM_DONTFORK, 0);
		break;
	case MADV_DOFORK:
		error = areas_mark(mm, address, end, 0, VM_DONTFORK);
		break;
	case MADV_DONTDUMP:
		error = areas_mark(mm, address, end, VM_DONTDUMP, 0);
		break;
	case MADV_DODUMP:
		error = areas_mark(mm, address, end, 0, VM_DONTDUMP);
		break;
	case MADV_WIPEONFORK:
		error = areas_mark(mm, address, end, VM_WIPEONFORK, 0);
		break;
	case MADV_KEEPONFORK:
		error = areas_mark(mm, address, end, 0, VM_WIPEONFORK);
		break;
	default:
		return -EINVAL;
	}
	/* The advice applies to every mapped page; a hole in the range is then an error. */
	return error ? error : areas_cover(mm, address, end) ? 0 : -ENOMEM;
}

/*
 * Mappings show the page cache itself, so there is nothing to write. The kernel does not notice a store through a
 * mapping: msync sets the file's times whether or not there was one, as POSIX.1 allows (mmap).
 */
int mm_sync(struct mm *mm, uaddr_t address, u32 size, u32 flags)
{
	u32 areas = 0;

	size = ALIGN_UP(size, PAGE_SIZE);
	if (flags & ~(u32)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) || (flags & MS_ASYNC && flags & MS_SYNC) ||
	    address % PAGE_SIZE)
		return -EINVAL;
	if (!size)
		return 0;
	if (!range_ok(address, size) || !areas_cover(mm, address, address + size))
		return -ENOMEM;
	for (struct vma *vma = mm_find(mm, address); vma && vma->start < address + size;
	     vma = area_after(vma, ++areas)) {
		if (flags & MS_INVALIDATE && vma->flags & VM_LOCKED)
			return -EBUSY;
		if (flags & (MS_ASYNC | MS_SYNC) && vma->inode && vma->flags & VM_SHARED && vma->flags & VM_WRITE)
			inode_touch(vma->inode, true);
	}
	return 0;
}

/* Whether the page is in memory: 1 or 0; -ENOMEM when another thread has unmapped it. */
static int page_is_resident(struct mm *mm, uaddr_t address)
{
	struct vma *vma = mm_find(mm, address);
	struct frame *frame = NULL;

	if (!vma || vma->start > address)
		return -ENOMEM;
	if (!pte_none(pagetable_read(mm->root, address)))
		return 1;
	if (!vma->inode || inode_page(vma->inode, vma_page(vma, address), PAGE_FIND,
				      &frame) || !frame)
		return 0;
	frame_put(frame);
	return 1;
}

int mm_incore(struct mm *mm, uaddr_t address, u32 size, u8 *user_vector)
{
	size = ALIGN_UP(size, PAGE_SIZE);
	if (address % PAGE_SIZE)
		return -EINVAL;
	if (!size)
		return 0;
	if (!range_ok(address, size) || !areas_cover(mm, address, address + size))
		return -ENOMEM;
	for (uaddr_t end = address + size; address < end; address += PAGE_SIZE) {
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
