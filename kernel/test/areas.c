/*
 * check=sleep: the RAM file system gets a medium that takes time, as a disk would. Half of the faults, of the reads of
 * pages and of the writes of dirty pages let other tasks run. The pages of which it is told, and those that are written
 * to the medium, are counted.
 */
#include <check.h>
#include <err.h>
#include <errno.h>
#include <filesystem.h>
#include <lib.h>
#include <mm.h>
#include <sched.h>

u64 check_slept, check_written, check_synced;

static const struct area_operations *plain_area;
static struct frame *(*plain_read)(struct inode *inode, u32 page);

/* Whether this operation has let other tasks run. */
static bool has_slept(void)
{
	if (random_u32() & 1)
		return false;
	check_slept++;
	yield();
	return true;
}

static struct frame *fault_after_sleep(const struct vma *vma, u32 page)
{
	return has_slept() ? ERR_PTR(-EAGAIN) : plain_area->fault(vma, page);
}

static struct frame *read_after_sleep(struct inode *inode, u32 page)
{
	return has_slept() ? ERR_PTR(-EAGAIN) : plain_read(inode, page);
}

static void count_written(const struct vma *vma, u32 page)
{
	ASSERT(vma->flags & VM_SHARED && plain_area->present(vma, page));
	check_written++;
	inode_page_written(vma->inode, page);
}

/* No mapping may write the page unnoticed from here on. */
static int count_synced(struct inode *inode, u32 page, const struct frame *frame)
{
	ASSERT(frame->use == FRAME_CACHE && S_ISREG(inode->mode));
	(void)page;
	check_synced++;
	(void)has_slept();
	return 0;
}

void check_areas_sleep(void)
{
	static struct area_operations sleeping_area;

	plain_area = area_kinds[VM_OBJECT / VM_DEVICE];
	sleeping_area = *plain_area;
	sleeping_area.fault = fault_after_sleep;
	sleeping_area.written = count_written;
	area_kinds[VM_OBJECT / VM_DEVICE] = &sleeping_area;
	plain_read = ramfs_ops.read_page;
	ramfs_ops.read_page = read_after_sleep;
	ramfs_ops.write_page = count_synced;
}
