/* Creating and freeing inodes, and their pages. */
#include <frame.h>
#include <inotify.h>
#include <kmalloc.h>
#include <lib.h>
#include <outside.h>
#include <task.h>
#include <window.h>

#include "internal.h"

/* Inodes without a file system, such as those of pipes and sockets, share one number sequence. */
static u64 next_nameless = 1;

struct inode *inode_new(struct filesystem *fs, u32 mode, u32 rdev)
{
	struct inode *inode = kzalloc(sizeof(*inode));

	if (!inode)
		return NULL;
	inode->refs = 1;
	inode->nlink = 1;
	inode->edition = 1;
	inode->mode = mode;
	inode->rdev = rdev;
	inode->fs = fs;
	inode->ino = fs ? fs->next_ino++ : next_nameless++;
	if (current) {
		inode->uid = current->cred.fsuid;
		inode->gid = current->cred.fsgid;
	}
	inode->atime = inode->mtime = inode->ctime = file_time_now();
	list_init(&inode->mappings);
	list_init(&inode->dirty);
	list_init(&inode->watches);
	mutex_init(&inode->writing, MUTEX_INODE);
	mutex_init(&inode->locking, MUTEX_FILE_LOCK);
	if (fs)
		fs->inodes++;
	return inode;
}

/* How many pages are freed before other tasks may run. */
#define PART_PAGES 256u

/* Frees the inode's pages from `first` on; their mappings have been removed before. Other tasks run meanwhile. */
static void inode_drop_pages(struct inode *inode, u32 first)
{
	u32 dropped;

	while ((dropped = page_drop_from(&inode->pages, first, PART_PAGES))) {
		inode->page_count -= dropped;
		if (inode->fs)
			inode->fs->pages -= dropped;
		if (dropped == PART_PAGES)
			preemption_point();
	}
}

/* Frees an inode without references. */
static void inode_end(struct deferred *ending)
{
	struct inode *inode = container_of(ending, struct inode, ending);

	inode_drop_pages(inode, 0);
	kfree(inode);
}

void inode_put(struct inode *inode)
{
	if (!inode || --inode->refs)
		return;
	if (!list_empty(&inode->watches))
		inotify_gone(inode);
	if (inode->ops && inode->ops->free)
		inode->ops->free(inode);
	list_del(&inode->dirty);
	xattrs_free(inode);
	/* The file system may go before the pages. */
	if (inode->fs) {
		inode->fs->inodes--;
		inode->fs->pages -= inode->page_count;
		inode->fs = NULL;
	}
	if (inode->page_count >= PART_PAGES)
		defer(&inode->ending, inode_end);
	else
		inode_end(&inode->ending);
}

struct inode *inode_anonymous(u64 size)
{
	struct inode *inode = inode_new(NULL, S_IFREG | 0600, 0);

	if (inode) {
		inode->size = size;
		inode->nlink = 0;
		inode->fops = &ramfs_file_ops;
		inode->ops = root_filesystem->root->inode->ops;
	}
	return inode;
}

/*
 * Whoever calls this keeps others from resizing the file or writing to it: they may run while it goes over many pages.
 */
int inode_resize(struct inode *inode, u64 size)
{
	if (size < inode->size) {
		u32 first = (u32)((size + PAGE_SIZE - 1) >> PAGE_SHIFT);
		u32 tail = (u32)size & (PAGE_SIZE - 1);

		/* No fault may map a page that goes. */
		outside_close();
		inode->size = size;
		outside_open();
		inode_edit(inode);
		mm_unmap_inode_from(inode, first);
		inode_drop_pages(inode, first);
		if (tail) {
			struct frame *frame = page_find(&inode->pages, (u32)(size >> PAGE_SHIFT));

			if (frame) {
				memset((char *)frame_kva(frame) + tail, 0, PAGE_SIZE - tail);
				inode_page_written(inode, (u32)(size >> PAGE_SHIFT));
			}
		}
	} else if (size > inode->size) {
		if (size > FILE_SIZE_MAX)
			return -EFBIG;
		inode->size = size;
	}
	return 0;
}

/*
 * Zeroes a range without changing the size; the frames stay. Bytes behind the end are zero already. The caller holds
 * `writing`, so that the file does not become shorter while others run.
 */
void inode_punch(struct inode *inode, u64 from, u64 to)
{
	u32 page = (u32)(from >> PAGE_SHIFT);

	to = MIN(to, inode->size);
	if (from >= to)
		return;
	inode_edit(inode);
	for (; page_next(&inode->pages, &page) && (u64)page << PAGE_SHIFT < to; page++) {
		u64 start = (u64)page << PAGE_SHIFT;
		u32 first = from > start ? (u32)(from - start) : 0, last = (u32)MIN((u64)PAGE_SIZE, to - start);

		memset((char *)frame_kva(page_find(&inode->pages, page)) + first, 0, last - first);
		inode_page_written(inode, page);
		preemption_point();
	}
}

long inode_read(struct inode *inode, void *buffer, size_t size, u64 offset)
{
	size_t done = 0;

	if (offset >= inode->size)
		return 0;
	size = (size_t)MIN((u64)size, inode->size - offset);
	while (done < size) {
		u32 at = (u32)offset & (PAGE_SIZE - 1);
		size_t n = MIN(size - done, (size_t)(PAGE_SIZE - at));
		struct frame *frame = page_find(&inode->pages, (u32)(offset >> PAGE_SHIFT));

		if (frame)
			memcpy((char *)buffer + done, (char *)frame_kva(frame) + at, n);
		else
			memset((char *)buffer + done, 0, n);
		done += n;
		offset += n;
	}
	return (long)done;
}

long inode_write_kernel(struct inode *inode, const void *buffer, size_t size, u64 offset)
{
	size_t done = 0;

	inode_edit(inode);
	while (done < size) {
		u32 at = (u32)offset & (PAGE_SIZE - 1);
		size_t n = MIN(size - done, (size_t)(PAGE_SIZE - at));
		struct frame *frame;
		int error = inode_page(inode, (u32)(offset >> PAGE_SHIFT), &frame);

		if (error)
			return error;
		memcpy((char *)frame_kva(frame) + at, (const char *)buffer + done, n);
		frame_put(frame);
		inode_page_written(inode, (u32)(offset >> PAGE_SHIFT));
		done += n;
		offset += n;
		if (offset > inode->size)
			inode->size = offset;
	}
	return (long)done;
}

void inode_edit(struct inode *inode)
{
	if (inode->edition < EDITIONS_MOST)
		inode->edition++;
}

int inode_deny_write(struct inode *inode)
{
	if (inode->writers)
		return -ETXTBSY;
	inode->denied_writes++;
	return 0;
}

void inode_allow_write(struct inode *inode)
{
	inode->denied_writes--;
}

int inode_begin_write(struct inode *inode)
{
	if (inode->denied_writes)
		return -ETXTBSY;
	inode->writers++;
	inode_edit(inode);
	return 0;
}

void inode_end_write(struct inode *inode)
{
	inode->writers--;
}

s64 inode_next(const struct inode *inode, u64 offset, bool data)
{
	u32 page = (u32)(offset >> PAGE_SHIFT);
	u64 found;

	if (offset >= inode->size)
		return -ENXIO;
	if (data) {
		if (!page_next(&inode->pages, &page))
			return -ENXIO;
	} else {
		for (; page_find(&inode->pages, page); page++)
			interrupt_window_at(page);
	}
	found = MAX(offset, (u64)page << PAGE_SHIFT);
	if (found < inode->size)
		return (s64)found;
	return data ? -ENXIO : (s64)inode->size;
}
