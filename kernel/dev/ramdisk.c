/*
 * RAM disks: /dev/ram0, and by mknod fifteen more (block devices 1, 0 to 15). The first write to a page allocates its
 * frame; BLKFLSBUF frees all frames.
 */
#include <abi/ioctl.h>
#include <filesystem.h>
#include <frame.h>
#include <lib.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "devices.h"

#define SECTOR 512u

u32 ramdisk_kilobytes = 16384;

static struct disk {
	struct page_tree pages;
	bool read_only;
} ram_disks[RAMDISKS];

static int ramdisk_open(struct file *file)
{
	file->data = &ram_disks[MINOR(file->inode->rdev)];
	return 0;
}

static u64 disk_size(void)
{
	return (u64)ramdisk_kilobytes * 1024;
}

/* The frame of a page to write, with a reference; allocated if there is none. */
static struct frame *frame_to_write(struct disk *disk, u32 page)
{
	struct frame *frame = page_find(&disk->pages, page);

	if (frame)
		return frame_get(frame);
	frame = frames_short() ? NULL : frame_alloc_zeroed(FRAME_CACHE);
	if (frame && page_insert(&disk->pages, page, frame)) {
		frame_put(frame);
		frame = NULL;
	}
	return frame ? frame_get(frame) : NULL;
}

/* The bytes of the request from `at` on that lie in one page. */
static size_t part_at(const struct iter *it, u64 at)
{
	size_t left = (size_t)MIN((u64)it->left, disk_size() - at);

	return MIN(left, (size_t)(PAGE_SIZE - ((u32)at & (PAGE_SIZE - 1))));
}

static void *at_offset(const struct frame *frame, u64 at)
{
	return (char *)frame_kva(frame) + ((u32)at & (PAGE_SIZE - 1));
}

/* Copies n bytes within a page: returns the bytes copied, or a negative errno. */
typedef long move_part(struct disk *d, struct iter *it, u64 at, size_t n);

static long read_part(struct disk *disk, struct iter *it, u64 at, size_t n)
{
	struct frame *frame = page_find(&disk->pages, (u32)(at >> PAGE_SHIFT));
	long got;

	if (!frame)
		return iter_zero(it, n);
	/* The copy may sleep in a page fault: hold the frame, since BLKFLSBUF may free it meanwhile. */
	frame_get(frame);
	got = iter_write(it, at_offset(frame, at), n);
	frame_put(frame);
	return got;
}

static long write_part(struct disk *disk, struct iter *it, u64 at, size_t n)
{
	struct frame *frame = frame_to_write(disk, (u32)(at >> PAGE_SHIFT));
	long got;

	if (!frame)
		return -ENOSPC;
	got = iter_read(it, at_offset(frame, at), n);
	frame_put(frame);
	return got;
}

static long ramdisk_transfer(struct disk *disk, struct iter *it, u64 *position, move_part *move)
{
	long done = 0;

	while (it->left && *position < disk_size()) {
		size_t n = part_at(it, *position);
		long got = move(disk, it, *position, n);

		if (got < 0)
			return done ? done : got;
		done += got;
		*position += (u64)got;
		if ((size_t)got < n)
			break;
		preemption_point();
		if (it->left && signal_pending())
			break;
	}
	return done;
}

static long ramdisk_read(struct file *file, struct iter *it, u64 *position)
{
	return ramdisk_transfer(file->data, it, position, read_part);
}

static long ramdisk_write(struct file *file, struct iter *it, u64 *position)
{
	struct disk *disk = file->data;

	if (disk->read_only)
		return -EPERM;
	if (it->left && *position >= disk_size())
		return -ENOSPC;
	return ramdisk_transfer(disk, it, position, write_part);
}

/* Unlike the position in a regular file, this one cannot lie beyond the end. */
static s64 ramdisk_seek(struct file *file, s64 offset, int whence)
{
	u64 before = file->position;
	s64 position = seek_from(file, offset, whence, (s64)disk_size());

	if (position > (s64)disk_size()) {
		file->position = before;
		return -EINVAL;
	}
	return position;
}

static long ramdisk_ioctl(struct file *file, unsigned command, uintptr_t argument)
{
	struct disk *disk = file->data;
	s32 wanted;

	switch (command) {
	case BLKGETSIZE64:
		return put_user(disk_size(), (u64 *)argument);
	case BLKGETSIZE:
		return put_user((u32)(disk_size() / SECTOR), (u32 *)argument);
	case BLKSSZGET:
		return put_user((s32)SECTOR, (s32 *)argument);
	case BLKPBSZGET:
	case BLKBSZGET:
		return put_user((s32)PAGE_SIZE, (s32 *)argument);
	case BLKROGET:
		return put_user((s32)disk->read_only, (s32 *)argument);
	case BLKROSET:
		if (!capable())
			return -EACCES;
		if (get_user(wanted, (s32 *)argument))
			return -EFAULT;
		disk->read_only = wanted != 0;
		return 0;
	case BLKFLSBUF:
		if (!capable())
			return -EACCES;
		page_drop_from(&disk->pages, 0, ~0u);
		return 0;
	}
	return -ENOTTY;
}

const struct file_ops ramdisk_ops = {
	.open = ramdisk_open, .read = ramdisk_read, .write = ramdisk_write, .seek = ramdisk_seek,
	.ioctl = ramdisk_ioctl,
};
