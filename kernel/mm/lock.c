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

u32 mm_locked_pages(struct mm *mm)
{
	u32 pages = 0, areas = 0;

	for (struct vma *vma = mm_first(mm); vma; vma = mm_next(vma)) {
		interrupt_window_at(++areas);
		if (vma->flags & VM_LOCKED)
			pages += (vma->end - vma->start) >> PAGE_SHIFT;
	}
	return pages;
}

bool mm_may_lock(struct mm *mm, u32 pages)
{
	u32 limit = rlimit(RLIMIT_MEMLOCK);

	return capable() || limit == RLIM_INFINITY || mm_locked_pages(mm) + pages <= limit >> PAGE_SHIFT;
}

static bool may_lock_anything(void)
{
	return capable() || rlimit(RLIMIT_MEMLOCK);
}

/*
 * Faults in the pages of a range that areas cover. Stops at a page that cannot be faulted in or that another thread
 * unmaps.
 */
static int make_present(struct mm *mm, uaddr_t address, uaddr_t end)
{
	for (; address < end && !signal_fatal_pending(); address += PAGE_SIZE) {
		struct vma *vma = mm_find(mm, address);
		bool write = vma && vma->flags & VM_WRITE && !(vma->flags & VM_SHARED);
		int error = mm_fault(mm, address, write ? MM_WRITE : MM_READ);

		if (error)
			return error == -ENXIO || error == -EACCES || error == -EFAULT ? -ENOMEM : error;
		preemption_point();
	}
	return 0;
}

/* Rounds a range to whole pages: 0, or -ENOMEM if some of them are not mapped. */
static int whole_pages(uaddr_t *address, u32 length, uaddr_t *end)
{
	u32 size = ALIGN_UP(*address % PAGE_SIZE + length, PAGE_SIZE);

	*address = ALIGN_DOWN(*address, PAGE_SIZE);
	*end = *address + size;
	return length <= USER_END && range_ok(*address, size) && areas_cover(current->mm, *address, *end) ? 0 : -ENOMEM;
}

static long lock_pages(uaddr_t address, u32 length, bool present)
{
	uaddr_t end;
	int error;

	if (!may_lock_anything())
		return -EPERM;
	if (!length)
		return 0;
	error = whole_pages(&address, length, &end);
	if (!error && !mm_may_lock(current->mm, (end - address) >> PAGE_SHIFT))
		error = -ENOMEM;
	if (!error)
		error = areas_mark(current->mm, address, end, VM_LOCKED, 0);
	if (!error && present)
		error = make_present(current->mm, address, end);
	return error;
}

long sys_mlock(uaddr_t address, size_t length)
{
	return lock_pages(address, length, true);
}

long sys_mlock2(uaddr_t address, size_t length, u32 flags)
{
	return flags & ~MLOCK_ONFAULT ? -EINVAL : lock_pages(address, length, !(flags & MLOCK_ONFAULT));
}

long sys_munlock(uaddr_t address, size_t length)
{
	uaddr_t end;
	int error = length ? whole_pages(&address, length, &end) : 0;

	return error || !length ? error : areas_mark(current->mm, address, end, 0, VM_LOCKED);
}

/* Pages that cannot be faulted in, such as those without any permission, are skipped. */
long sys_mlockall(u32 flags)
{
	struct mm *mm = current->mm;
	struct vma *vma;

	if (!flags || flags == MCL_ONFAULT || flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		return -EINVAL;
	if (!may_lock_anything())
		return -EPERM;
	if (flags & MCL_CURRENT && !mm_may_lock(mm, mm->total_pages - mm_locked_pages(mm)))
		return -ENOMEM;
	mm->lock_future = flags & MCL_FUTURE;
	if (!(flags & MCL_CURRENT))
		return 0;
	/* Areas may change while pages are faulted in, so look each one up again. */
	for (uaddr_t next = 0; (vma = mm_find(mm, next)); ) {
		preemption_point();
		vma = mm_find(mm, next);
		if (!vma || signal_fatal_pending())
			break;
		next = vma->end;
		if (vma->flags & VM_DEVICE)
			continue;
		vma->flags |= VM_LOCKED;
		if (!(flags & MCL_ONFAULT))
			(void)make_present(mm, vma->start, vma->end);
	}
	return 0;
}

long sys_munlockall(void)
{
	struct mm *mm = current->mm;

	mm->lock_future = false;
	return areas_mark(mm, PAGE_SIZE, USER_END, 0, VM_LOCKED);
}
