/* Writing the dirty pages of files to the medium of their file system: fsync, sync and msync. */
#include <err.h>
#include <file.h>
#include <frame.h>
#include <syscall.h>
#include <window.h>

#include "internal.h"

/* Files of which a page has been dirty since their last inode_sync(). */
static struct list_head dirty_inodes = LIST_HEAD_INIT(dirty_inodes);

void inode_mark_dirty(struct inode *inode, u32 page)
{
	struct frame *frame = page_find(&inode->pages, page);

	if (frame && frame->use != FRAME_DIRTY)
		frame_set_dirty(frame, true);
	if (inode->fs && list_empty(&inode->dirty))
		list_add_tail(&inode->dirty, &dirty_inodes);
}

/* A page is clean before it is written, so that a change while the medium sleeps makes it dirty again. */
static int write_dirty(struct inode *inode, u32 page, struct frame *frame)
{
	int error;

	frame_get(frame);
	frame_set_dirty(frame, false);
	mm_clean_inode(inode, page);
	error = inode->ops->write_page(inode, page, frame);
	if (error)
		inode_mark_dirty(inode, page);
	frame_put(frame);
	return error;
}

int inode_sync(struct inode *inode, u32 first, u32 last)
{
	int error = 0;

	if (!inode->ops || !inode->ops->write_page)
		return 0;
	for (u32 page = first; !error && page_next(&inode->pages, &page) && page <= last; page++) {
		struct frame *frame = page_find(&inode->pages, page);

		if (frame->use == FRAME_DIRTY)
			error = write_dirty(inode, page, frame);
		preemption_point();
	}
	return !error && inode->ops->sync ? inode->ops->sync(inode) : error;
}

/* Writes all files of a file system (NULL: of all) that are dirty when it begins. */
static long sync_all(const struct filesystem *fs)
{
	struct list_head list = LIST_HEAD_INIT(list);
	struct inode *inode, *next;
	long error = 0;

	list_for_each_window_safe(inode, next, &dirty_inodes, dirty) {
		if (fs && inode->fs != fs)
			continue;
		list_del(&inode->dirty);
		list_add_tail(&inode->dirty, &list);
	}
	list_until_empty_meanwhile(inode, &list, dirty) {
		long failed;

		inode_get(inode);
		list_del(&inode->dirty);
		failed = inode_sync(inode, 0, ~0u);
		inode_put(inode);
		error = error ? error : failed;
	}
	return error;
}

/* The file of a descriptor, if its kind can be written to a medium: referenced, or ERR_PTR. */
static struct file *syncable_file(int fd, bool any)
{
	struct file *file = fd_get(fd);
	int error = 0;

	if (!file)
		return ERR_PTR(-EBADF);
	if (file->flags & O_PATH)
		error = -EBADF;
	else if (!any && !S_ISREG(file->inode->mode) && !S_ISDIR(file->inode->mode) && !S_ISBLK(file->inode->mode))
		error = -EINVAL;
	if (!error)
		return file;
	file_put(file);
	return ERR_PTR(error);
}

static long file_sync(int fd)
{
	struct file *file = syncable_file(fd, false);
	long result;

	if (IS_ERR(file))
		return PTR_ERR(file);
	result = S_ISREG(file->inode->mode) ? inode_sync(file->inode, 0, ~0u) : 0;
	file_put(file);
	return result;
}

long sys_fsync(int fd)
{
	return file_sync(fd);
}

long sys_sync(void)
{
	sync_all(NULL);
	return 0;
}

long sys_syncfs(int fd)
{
	struct file *file = syncable_file(fd, true);
	long result;

	if (IS_ERR(file))
		return PTR_ERR(file);
	result = file->inode->fs ? sync_all(file->inode->fs) : 0;
	file_put(file);
	return result;
}

/* The whole file is written, and waited for, whatever the range and the flags are. */
long sys_sync_file_range2(int fd, u32 flags, s64 offset, s64 length)
{
	if (flags & ~7u || offset < 0 || length < 0)
		return -EINVAL;
	return file_sync(fd);
}
