/*
 * check=sleep: pages of files whose owner sleeps, and wants to know which of them are dirty, as a file system on a disk
 * would. Half of the faults let other tasks run and are served again.
 */
#include <check.h>
#include <err.h>
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <sched.h>

u64 check_slept, check_written;

static const struct area_operations *plain_area;

static struct frame *fault_after_sleep(const struct vma *vma, u32 page)
{
	if (random_u32() & 1)
		return plain_area->fault(vma, page);
	check_slept++;
	yield();
	return ERR_PTR(-EAGAIN);
}

static void count_written(const struct vma *vma, u32 page)
{
	ASSERT(vma->flags & VM_SHARED && plain_area->present(vma, page));
	check_written++;
}

void check_areas_sleep(void)
{
	static struct area_operations sleeping_area;

	plain_area = area_kinds[VM_OBJECT / VM_DEVICE];
	sleeping_area = *plain_area;
	sleeping_area.fault = fault_after_sleep;
	sleeping_area.written = count_written;
	area_kinds[VM_OBJECT / VM_DEVICE] = &sleeping_area;
}
