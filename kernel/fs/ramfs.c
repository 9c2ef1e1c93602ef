/* The RAM file system: directories are in the name tree, file contents in the page cache. */
#include <err.h>
#include <file.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <signal.h>
#include <task.h>
#include <window.h>

#include "internal.h"

#define PASSED_MOST 512u        /* names, until other tasks run */

const struct special_kind *special_kinds[S_IFMT / S_IFIFO + 1];

static struct inode *ramfs_make(struct inode *dir, u32 mode, u32 rdev)
{
	struct inode *inode = frames_short() ? NULL : inode_new(dir->fs, mode, rdev);

	if (!inode)
		return NULL;
	inode->ops = &ramfs_ops;
	if (S_ISREG(mode))
		inode->fops = &ramfs_file_ops;
	else if (S_ISDIR(mode))
		inode->fops = &ramfs_dir_ops;
	else if (special_kind(mode))
		inode->fops = special_kind(mode)->ops(mode, rdev);
	return inode;
}

/* Sets the text of a new symbolic link. */
int ramfs_set_link_text(struct inode *inode, const char *text, size_t len)
{
	char *copy = kmalloc_text(text, len);

	if (!copy)
		return -ENOMEM;
	inode->data = copy;
	inode->size = len;
	return 0;
}

static long ramfs_readlink(struct inode *inode, char *buffer, size_t size)
{
	size_t n = MIN(size, (size_t)inode->size);

	memcpy(buffer, inode->data, n);
	return (long)n;
}

static void ramfs_free(struct inode *inode)
{
	if (S_ISLNK(inode->mode))
		kfree(inode->data);
	else if (special_kind(inode->mode) && special_kind(inode->mode)->gone)
		special_kind(inode->mode)->gone(inode);
}

static int ramfs_truncate(struct inode *inode, u64 size)
{
	int error = (int)mutex_lock_killable(&inode->writing);

	if (error)
		return error;
	error = seals_check_size(inode, size);
	if (!error)
		error = inode_resize(inode, size);
	mutex_unlock(&inode->writing);
	return error;
}

/* A directory's dentries are all of its names: no name lies elsewhere. */
static int ramfs_empty(const struct dentry *dir)
{
	return list_empty(&dir->children) ? 0 : -ENOTEMPTY;
}

static struct frame *ramfs_read_page(struct inode *inode, u32 page)
{
	struct frame *frame = frame_alloc_zeroed(FRAME_CACHE);

	(void)inode;
	(void)page;
	return frame ? frame : ERR_PTR(-ENOMEM);
}

struct inode_ops ramfs_ops = {
	.make = ramfs_make,
	.empty = ramfs_empty,
	.read_page = ramfs_read_page,
	.link = dentry_link,
	.unlink = dentry_unlink,
	.rename = dentry_move,
	.exchange = dentry_exchange,
	.readlink = ramfs_readlink,
	.truncate = ramfs_truncate,
	.free = ramfs_free,
};

/* Called between two pages of a transfer; false: the caller has been killed. */
static bool ramfs_go_on(struct iter *it)
{
	preemption_point();
	it->unwindowed = 0;
	return !current->work || !signal_fatal_pending();
}

static long ramfs_read(struct file *file, struct iter *it, u64 *position)
{
	struct inode *inode = file->inode;
	u64 at = *position;
	size_t done = 0;

	if (at >= inode->size)
		return 0;
	/* Check the size for each page, since the file may shrink. */
	while (it->left && at < inode->size) {
		u32 offset = (u32)at & (PAGE_SIZE - 1);
		size_t n = (size_t)MIN((u64)MIN(it->left, (size_t)(PAGE_SIZE - offset)), inode->size - at);
		struct frame *frame = page_find(&inode->pages, (u32)(at >> PAGE_SHIFT));
		long got;

		if (frame) {
			/* The copy may sleep in a page fault: hold the frame, since a truncate may free it. */
			frame_get(frame);
			got = iter_write_apart(it, (char *)frame_kva(frame) + offset, n);
			frame_put(frame);
		} else {
			got = iter_zero(it, n);
		}
		if (got < 0) {
			if (!done)
				return got;
			break;
		}
		done += (size_t)got;
		at += (size_t)got;
		if ((size_t)got < n)
			break;
		if (it->left && !ramfs_go_on(it))
			break;
	}
	*position = at;
	inode_touch(inode, false);
	return (long)done;
}

/* A frame for a page that is to be written. `whole`: all of it will be overwritten, so it is not zeroed. */
static struct frame *frame_for_write(struct inode *inode, u32 page, bool whole, int *error)
{
	struct frame *frame = page_find(&inode->pages, page);

	*error = 0;
	if (frame)
		return frame_get(frame);
	if (frames_short()) {
		*error = -ENOSPC;
		return NULL;
	}
	frame = whole ? frame_alloc(FRAME_CACHE) : ramfs_read_page(inode, page);
	if (frame && !IS_ERR(frame))
		return frame;
	*error = -ENOSPC;
	return NULL;
}

/*
 * Brings the bytes written to a new frame into the file. Copying the source may have slept, or faulted in the same page
 * through a mapping. So the file may have a frame there by now, which then gets the bytes.
 */
static int put_in_file(struct inode *inode, u32 page, struct frame *frame, u32 offset, size_t size, bool whole)
{
	struct frame *other = page_find(&inode->pages, page);
	int error;

	if (other) {
		memcpy((char *)frame_kva(other) + offset, (char *)frame_kva(frame) + offset, size);
		return 0;
	}
	if (whole)
		memset((char *)frame_kva(frame) + size, 0, PAGE_SIZE - size);
	error = inode_add_page(inode, page, frame_get(frame));
	if (error)
		frame_put(frame);
	return error;
}

/* The caller holds the inode's `writing`, so that two writes do not mix and appended data stays in one piece. */
static long write_alone(struct file *file, struct iter *it, u64 *position)
{
	struct inode *inode = file->inode;
	u64 at = file->flags & O_APPEND ? inode->size : *position;
	u32 limit = rlimit(RLIMIT_FSIZE);
	size_t left = it->left, done = 0;
	long error = 0;

	if (!left)
		return 0;
	if (limit != RLIM_INFINITY) {
		if (at >= limit) {
			signal_process(current->process, SIGXFSZ, NULL);
			return -EFBIG;
		}
		left = (size_t)MIN((u64)left, limit - at);
	}
	if (at >= FILE_SIZE_MAX)
		return -EFBIG;
	left = (size_t)MIN((u64)left, FILE_SIZE_MAX - at);
	inode_drop_privileges(inode);
	while (left) {
		u32 page = (u32)(at >> PAGE_SHIFT);
		u32 offset = (u32)at & (PAGE_SIZE - 1);
		size_t n = MIN(left, (size_t)(PAGE_SIZE - offset));
		bool fresh = !page_find(&inode->pages, page), whole = fresh && n == PAGE_SIZE;
		int failed = seals_check_write(inode, at + n);
		struct frame *frame = failed ? NULL : frame_for_write(inode, page, whole, &failed);
		long got;

		if (!frame) {
			error = failed;
			break;
		}
		got = iter_read_apart(it, (char *)frame_kva(frame) + offset, n);
		if (got > 0 && fresh) {
			failed = put_in_file(inode, page, frame, offset, (size_t)got, whole);
			if (failed)
				got = failed;
		}
		frame_put(frame);
		if (got > 0)
			inode_page_written(inode, page);
		if (got < 0) {
			error = got;
			break;
		}
		done += (size_t)got;
		at += (size_t)got;
		left -= (size_t)got;
		if (at > inode->size)
			inode->size = at;
		if ((size_t)got < n)
			break;
		if (left && !ramfs_go_on(it))
			break;
	}
	if (!done)
		return error;
	*position = at;
	inode_touch(inode, true);
	return (long)done;
}

static long ramfs_write(struct file *file, struct iter *it, u64 *position)
{
	long n = mutex_lock_killable(&file->inode->writing);

	if (n)
		return n;
	n = write_alone(file, it, position);
	mutex_unlock(&file->inode->writing);
	return n;
}

static s64 ramfs_seek(struct file *file, s64 offset, int whence)
{
	if (whence == SEEK_DATA || whence == SEEK_HOLE) {
		if (offset < 0)
			return -ENXIO;
		offset = inode_next(file->inode, (u64)offset, whence == SEEK_DATA);
		if (offset < 0)
			return offset;
		whence = SEEK_SET;
	}
	return seek_from(file, offset, whence, (s64)file->inode->size);
}

static int ramfs_mmap(struct file *file, struct file_map *map)
{
	int error = seals_check_map(file->inode, map);

	if (error)
		return error;
	inode_touch(file->inode, false);
	map->kind = MAP_KIND_INODE;
	return 0;
}

/* Pages of a file without a name: only descriptors and mappings hold it. */
static u32 ramfs_pages_held(const struct file *file)
{
	return file->inode->nlink ? 0 : file->inode->page_count;
}

struct file_ops ramfs_file_ops = {
	.pages_held = ramfs_pages_held,
	.read = ramfs_read,
	.write = ramfs_write,
	.mmap = ramfs_mmap,
	.seek = ramfs_seek,
};

/* Lets other tasks run. Whether `child` is where it was in the list of `dir` afterwards. */
static bool stays_while_others_run(struct dentry *child, const struct dentry *dir)
{
	u64 cookie = child->cookie;
	bool stays;

	dentry_get(child);
	preemption_point();
	stays = child->linked && child->parent == dir && child->cookie == cookie;
	dentry_put(child);
	return stays;
}

/*
 * The place in the list of children where the file's position is. The search goes on from the child that was given
 * last, if that is before, so that reading a whole directory takes time in proportion to its children.
 */
static struct list_head *child_at(const struct file *file)
{
	struct list_head *head = &file->dentry->children, *at = head->next;
	struct dentry *listed = file->dentry->listed;
	u32 passed = 0;

	if (listed && listed->cookie < file->position)
		at = &listed->sibling;
	while (at != head) {
		struct dentry *child = list_entry(at, struct dentry, sibling);

		if (child->cookie >= file->position)
			break;
		interrupt_window_at(++passed);
		at = passed % PASSED_MOST || stays_while_others_run(child, file->dentry) ? at->next : head->next;
	}
	return at;
}

/*
 * The position in a directory is the cookie of the next entry: 0 is ".", 1 "..", then come the children in order of
 * creation, so that a reader skips none when entries are removed.
 */
static int ramfs_getdents(struct file *file, struct dir_sink *sink)
{
	struct dentry *dir = file->dentry, *above;
	u32 looked_at = 0;
	bool room;

	if (file->position == 0) {
		if (!sink->add(sink, ".", 1, dir->inode->ino, S_IFDIR >> 12, 1))
			return 0;
		file->position = 1;
	}
	if (file->position == 1) {
		above = dentry_parent(dir);
		room = sink->add(sink, "..", 2, above->inode->ino, S_IFDIR >> 12, 2);
		dentry_put(above);
		if (!room)
			return 0;
		file->position = 2;
	}
	for (struct list_head *at = child_at(file); at != &dir->children; at = at->next) {
		struct dentry *d = list_entry(at, struct dentry, sibling);
		const struct inode *inode = d->mounted ? d->mounted->root->inode : d->inode;

		interrupt_window_at(++looked_at);
		if (!sink->add(sink, d->name, d->len, inode->ino, (inode->mode & S_IFMT) >> 12, d->cookie + 1))
			return 0;
		file->position = d->cookie + 1;
		dir->listed = d;
	}
	inode_touch(dir->inode, false);
	return 0;
}

long directory_read(struct file *file, struct iter *it, u64 *position)
{
	(void)file;
	(void)it;
	(void)position;
	return -EISDIR;
}

const struct file_ops ramfs_dir_ops = {
	.read = directory_read,
	.getdents = ramfs_getdents,
	.seek = seek_endless,
};

struct filesystem *ramfs_new(const char *type, const char *source)
{
	struct filesystem *fs = filesystem_new(type, source, TMPFS_MAGIC);
	struct inode *inode;

	if (!fs)
		return NULL;
	fs->xattrs = true;
	inode = inode_new(fs, S_IFDIR | 0755, 0);
	if (inode) {
		inode->ops = &ramfs_ops;
		inode->fops = &ramfs_dir_ops;
		inode->nlink = 2;
		fs->root = dentry_new(NULL, "", 0, inode);
		inode_put(inode);
	}
	if (!fs->root) {
		filesystem_free(fs);
		return NULL;
	}
	return fs;
}
