/* The life of an inode, and its pages. */
#include "internal.h"

#include <err.h>
#include <frame.h>
#include <inotify.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>
#include <window.h>

/* Inodes of no file system: pipes, sockets and the like share one number sequence. */
static u64 next_nameless = 1;

struct inode *inode_new(struct filesystem *fs, u32 mode, u32 rdev)
{
	struct inode *i = kzalloc(sizeof *i);

	if (!i)
		return NULL;
	i->refs = 1;
	i->nlink = 1;
	i->edition = 1;
	i->mode = mode;
	i->rdev = rdev;
	i->fs = fs;
	i->ino = fs ? fs->next_ino++ : next_nameless++;
	if (current) {
		i->uid = current->cred.fsuid;
		i->gid = current->cred.fsgid;
	}
	i->atime = i->mtime = i->ctime = file_time_now();
	list_init(&i->mappings);
	list_init(&i->locks);
	list_init(&i->watches);
	mutex_init(&i->writing);
	if (fs)
		fs->inodes++;
	return i;
}

/* Pages of the inode from `first` on go; mappings of them have been removed before. */
static void drop_pages(struct inode *i, u32 first)
{
	u32 dropped = page_drop_from(&i->pages, first);

	i->page_count -= dropped;
	if (i->fs)
		i->fs->pages -= dropped;
}

void inode_put(struct inode *i)
{
	if (!i || --i->refs)
		return;
	if (!list_empty(&i->watches))
		inotify_gone(i);
	if (i->ops && i->ops->free)
		i->ops->free(i);
	drop_pages(i, 0);
	xattrs_free(i);
	if (i->fs)
		i->fs->inodes--;
	kfree(i);
}

struct inode *inode_anonymous(u64 size)
{
	struct inode *i = inode_new(NULL, S_IFREG | 0600, 0);

	if (i) {
		i->size = size;
		i->nlink = 0;
		i->fops = &ramfs_file_ops;
		i->ops = root_filesystem->root->inode->ops;
	}
	return i;
}

int inode_resize(struct inode *i, u64 size)
{
	if (size < i->size) {
		u32 first = (u32)((size + PAGE_SIZE - 1) >> PAGE_SHIFT);
		u32 tail = (u32)size & (PAGE_SIZE - 1);

		i->size = size;
		inode_edit(i);
		mm_unmap_inode(i, first, ~0u);
		drop_pages(i, first);
		if (tail) {
			struct frame *frame = page_find(&i->pages, (u32)(size >> PAGE_SHIFT));

			if (frame)
				memset((char *)frame_kva(frame) + tail, 0, PAGE_SIZE - tail);
		}
	} else if (size > i->size) {
		if (size > FILE_SIZE_MAX)
			return -EFBIG;
		i->size = size;
	}
	return 0;
}

/* Zeroes a range without changing the size; the frames stay. Behind the end there are zeros already. */
void inode_punch(struct inode *i, u64 from, u64 to)
{
	u32 page = (u32)(from >> PAGE_SHIFT);

	to = MIN(to, i->size);
	if (from >= to)
		return;
	inode_edit(i);
	for (; page_next(&i->pages, &page) && (u64)page << PAGE_SHIFT < to; page++) {
		u64 start = (u64)page << PAGE_SHIFT;
		u32 first = from > start ? (u32)(from - start) : 0, last = (u32)MIN((u64)PAGE_SIZE, to - start);

		memset((char *)frame_kva(page_find(&i->pages, page)) + first, 0, last - first);
		interrupt_window();
	}
}

long inode_read(struct inode *i, void *buffer, size_t size, u64 offset)
{
	size_t done = 0;

	if (offset >= i->size)
		return 0;
	size = (size_t)MIN((u64)size, i->size - offset);
	while (done < size) {
		u32 at = (u32)offset & (PAGE_SIZE - 1);
		size_t n = MIN(size - done, (size_t)(PAGE_SIZE - at));
		struct frame *frame = page_find(&i->pages, (u32)(offset >> PAGE_SHIFT));

		if (frame)
			memcpy((char *)buffer + done, (char *)frame_kva(frame) + at, n);
		else
			memset((char *)buffer + done, 0, n);
		done += n;
		offset += n;
	}
	return (long)done;
}

long inode_write_kernel(struct inode *i, const void *buffer, size_t size, u64 offset)
{
	size_t done = 0;

	inode_edit(i);
	while (done < size) {
		u32 at = (u32)offset & (PAGE_SIZE - 1);
		size_t n = MIN(size - done, (size_t)(PAGE_SIZE - at));
		struct frame *frame;
		int error = inode_page(i, (u32)(offset >> PAGE_SHIFT), PAGE_FILL, &frame);

		if (error)
			return error;
		memcpy((char *)frame_kva(frame) + at, (const char *)buffer + done, n);
		frame_put(frame);
		done += n;
		offset += n;
		if (offset > i->size)
			i->size = offset;
	}
	return (long)done;
}

void inode_edit(struct inode *i)
{
	if (i->edition < EDITIONS_MOST)
		i->edition++;
}

int inode_deny_write(struct inode *i)
{
	if (i->writers)
		return -ETXTBSY;
	i->denied_writes++;
	return 0;
}

void inode_allow_write(struct inode *i)
{
	i->denied_writes--;
}

s64 inode_next(const struct inode *i, u64 offset, bool data)
{
	u32 page = (u32)(offset >> PAGE_SHIFT);
	u64 found;

	if (offset >= i->size)
		return -ENXIO;
	if (data) {
		if (!page_next(&i->pages, &page))
			return -ENXIO;
	} else {
		for (; page_find(&i->pages, page); page++)
			interrupt_window_at(page);
	}
	found = MAX(offset, (u64)page << PAGE_SHIFT);
	if (found < i->size)
		return (s64)found;
	return data ? -ENXIO : (s64)i->size;
}
