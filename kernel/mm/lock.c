/*
 * mlock and its relatives. Pages are never written out to a disk, so locking a range only faults its pages in, counts
 * them against RLIMIT_MEMLOCK, and protects them from madvise and msync.
 */
#include <abi/mman.h>
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <window.h>

#include "internal.h"

static u32 locked_between(struct mm *mm, uaddr_t start, uaddr_t end)
{
	struct vma *vma;
	u32 pages = 0;

	for_each_area_window(vma, mm, start, end)
		if (vma->flags & VM_LOCKED)
			pages += page_count(MIN(vma->end, end) - MAX(vma->start, start));
	return pages;
}

u32 mm_locked_pages(struct mm *mm)
{
	u32 areas = 0, pages = 0;

	for (struct vma *vma = mm_find(mm, 0); vma; vma = area_after(vma, ++areas))
		if (vma->flags & VM_LOCKED)
			pages += page_count(vma->end - vma->start);
	return pages;
}

bool mm_may_lock(struct mm *mm, u32 pages)
{
	u32 limit = rlimit(RLIMIT_MEMLOCK);

	return capable() || limit == RLIM_INFINITY ||
	       locked_between(mm, 0, USER_END) + pages <= limit >> PAGE_SHIFT;
}

static bool may_lock_anything(void)
{
	return capable() || rlimit(RLIMIT_MEMLOCK);
}

/*
 * Faults in the pages of a range that areas cover, but not those of devices. Stops at a page that cannot be faulted in
 * or that another thread unmaps.
 */
static int make_present(struct mm *mm, uaddr_t address, uaddr_t end)
{
	for (; address < end && !signal_fatal_pending(); address += PAGE_SIZE) {
		struct vma *vma = mm_find(mm, address);
		bool write = vma && vma->flags & VM_WRITE && !(vma->flags & VM_SHARED);
		int error = vma && vma->flags & VM_DEVICE ? 0 : mm_fault(mm, address, write ? MM_WRITE : MM_READ);

		if (error)
			return error == -ENOMEM ? -EAGAIN : -ENOMEM;
		preemption_point();
	}
	return 0;
}

/* A range of whole pages that a call locks or unlocks. */
struct lock_range {
	uaddr_t start, end;
	uaddr_t covered;        /* the end of the part before the first hole, to which the call applies */
};

/* 0; or -ENOMEM if there is a hole, which the caller returns in the end; or -EINVAL: the call does nothing. */
static int whole_pages(uaddr_t address, u32 length, struct lock_range *range)
{
	range->start = ALIGN_DOWN(address, PAGE_SIZE);
	range->end = range->start + ALIGN_UP(address % PAGE_SIZE + length, PAGE_SIZE);
	if (range->end < range->start)
		return -EINVAL;
	range->covered = areas_cover_to(current->mm, range->start, range->end);
	return range->covered < range->end ? -ENOMEM : 0;
}

static bool may_lock_range(struct mm *mm, const struct lock_range *range)
{
	u32 pages = page_count(range->end - range->start);

	return mm_may_lock(mm, pages - locked_between(mm, range->start, range->end));
}

static long lock_pages(uaddr_t address, u32 length, bool present)
{
	struct mm *mm = current->mm;
	struct lock_range range;
	int result, error;

	if (!may_lock_anything())
		return -EPERM;
	result = whole_pages(address, length, &range);
	if (!may_lock_range(mm, &range))
		return -ENOMEM;
	if (result == -EINVAL || range.covered == range.start)
		return result;
	error = areas_mark(mm, range.start, range.covered, present ? VM_LOCKED : VM_LOCK_MASK, VM_LOCK_MASK);
	if (error)
		return error;
	return result || !present ? result : make_present(mm, range.start, range.end);
}

long sys_mlock2(uaddr_t address, size_t length, u32 flags)
{
	return flags & ~MLOCK_ONFAULT ? -EINVAL : lock_pages(address, length, !(flags & MLOCK_ONFAULT));
}

long sys_munlock(uaddr_t address, size_t length)
{
	struct lock_range range;
	int result = whole_pages(address, length, &range), error = 0;

	if (result != -EINVAL && range.covered > range.start)
		error = areas_mark(current->mm, range.start, range.covered, 0, VM_LOCK_MASK);
	return error ? error : result;
}

/* Pages that cannot be faulted in, such as those without any permission, are skipped. */
long sys_mlockall(u32 flags)
{
	struct mm *mm = current->mm;
	u32 lock = flags & MCL_ONFAULT ? VM_LOCK_MASK : VM_LOCKED;
	struct vma *vma;

	if (!flags || flags == MCL_ONFAULT || flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		return -EINVAL;
	if (!may_lock_anything())
		return -EPERM;
	if (flags & MCL_CURRENT && !mm_may_lock(mm, mm->total_pages - locked_between(mm, 0, USER_END)))
		return -ENOMEM;
	mm->lock_future = flags & MCL_FUTURE ? lock : 0;
	if (!(flags & MCL_CURRENT))
		return 0;
	for_each_area_meanwhile(vma, mm) {
		if (signal_fatal_pending())
			break;
		if (vma->flags & VM_DEVICE)
			continue;
		vma->flags = (vma->flags & ~VM_LOCK_MASK) | lock;
		if (!(flags & MCL_ONFAULT))
			(void)make_present(mm, vma->start, vma->end);
	}
	return 0;
}

long sys_munlockall(void)
{
	struct mm *mm = current->mm;

	mm->lock_future = 0;
	return areas_mark(mm, PAGE_SIZE, USER_END, 0, VM_LOCK_MASK);
}
