/* Open files: created from a name or without one, shared by descriptors, released with the last of them. */
#include <anon.h>
#include <async.h>
#include <err.h>
#include <file.h>
#include <inotify.h>
#include <kmalloc.h>
#include <lib.h>

#include "internal.h"

static struct file *file_new(struct dentry *dentry, unsigned flags, const struct file_ops *ops)
{
	struct file *file = kzalloc(sizeof(*file));

	if (!file)
		return ERR_PTR(-ENOMEM);
	file->refs = 1;
	file->flags = flags & ~(u32)(O_CREAT | O_EXCL | O_TRUNC | O_CLOEXEC);
	file->ops = ops;
	file->dentry = dentry_get(dentry);
	file->inode = dentry->inode;
	list_init(&file->watches);
	mutex_init(&file->positioning, MUTEX_POSITION);
	return file;
}

static void file_free(struct file *file)
{
	dentry_put(file->dentry);
	kfree(file);
}

/* An O_PATH file can only name a place in the tree. */
static long path_file_refuse(struct file *file, struct iter *it, u64 *position)
{
	(void)file;
	(void)it;
	(void)position;
	return -EBADF;
}

static const struct file_ops path_ops = { .read = path_file_refuse, .write = path_file_refuse };

struct file *file_open_dentry(struct dentry *dentry, unsigned flags)
{
	struct inode *inode = dentry->inode;
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	struct file *file;
	int error = 0;

	if (flags & O_PATH)
		return file_new(dentry, (flags & (O_PATH | O_DIRECTORY | O_NOFOLLOW)) | O_RDONLY, &path_ops);
	if (!inode->fops)
		return ERR_PTR(-ENXIO);
	if (writes)
		error = inode_begin_write(inode);
	if (error)
		return ERR_PTR(error);
	file = file_new(dentry, flags, inode->fops);
	if (!IS_ERR(file) && file->ops->open) {
		error = file->ops->open(file);
		if (error) {
			file_free(file);
			file = ERR_PTR(error);
		}
	}
	if (IS_ERR(file)) {
		if (writes)
			inode_end_write(inode);
		return file;
	}
	/* Only the open of a terminal asks for it. */
	file->flags &= ~(u32)O_NOCTTY;
	note_file(dentry, IN_OPEN);
	return file;
}

static void file_close(struct file *file)
{
	note_file(file->dentry, FILE_WRITES(file) ? IN_CLOSE_WRITE : IN_CLOSE_NOWRITE);
	if (!list_empty(&file->watches))
		epoll_forget(file);
	if (file->async)
		async_forget(file);
	locks_release_file(file);
	if (file->ops->release)
		file->ops->release(file);
	if (FILE_WRITES(file))
		inode_end_write(file->inode);
	file_free(file);
}

static void close_deferred(struct deferred *work)
{
	file_close(container_of(work, struct file, closing));
}

void file_last_put(struct file *file)
{
	if (file->ops == &path_ops)
		file_free(file);
	else if (file->locks || file->ops->long_release || !list_empty(&file->watches))
		defer(&file->closing, close_deferred);
	else
		file_close(file);
}

struct inode *inode_nameless(u32 mode)
{
	return inode_new(NULL, mode, 0);
}

struct file *file_on_inode(struct inode *inode, const char *kind, u32 flags, const struct file_ops *ops, void *data)
{
	char name[40];
	struct dentry *dentry;
	struct file *file;
	int len = snprintf(name, sizeof(name), "%s:[%u]", kind, (u32)inode->ino);

	dentry = dentry_new(NULL, name, (size_t)len, inode);
	if (!dentry)
		return ERR_PTR(-ENOMEM);
	file = file_new(dentry, flags, ops);
	dentry_put(dentry);
	if (IS_ERR(file))
		return file;
	file->data = data;
	if (FILE_WRITES(file)) {
		inode->writers++;
		inode_edit(inode);
	}
	return file;
}

struct file *file_anonymous(const char *kind, u32 mode, u32 flags, const struct file_ops *ops, void *data)
{
	struct inode *inode = inode_nameless(mode);
	struct file *file;

	if (!inode)
		return ERR_PTR(-ENOMEM);
	file = file_on_inode(inode, kind, flags, ops, data);
	inode_put(inode);
	return file;
}

int fd_anonymous(const char *kind, u32 flags, const struct file_ops *ops, void *data)
{
	char name[40];
	struct file *file;

	snprintf(name, sizeof(name), "anon_inode:[%s]", kind);
	file = file_anonymous(name, 0600, flags, ops, data);
	if (IS_ERR(file)) {
		kfree(data);
		return (int)PTR_ERR(file);
	}
	return fd_add(file, flags & O_CLOEXEC);
}

long file_read_kernel(struct file *file, void *buffer, size_t size, u64 offset)
{
	/* Only regular files of the RAM file system can be executed. */
	if (!S_ISREG(file->inode->mode) || file->ops != &ramfs_file_ops)
		return -EINVAL;
	return inode_read(file->inode, buffer, size, offset);
}

int file_mmap(struct file *file, struct file_map *map)
{
	if (!FILE_READS(file) || (map->shared && map->write && !FILE_WRITES(file)))
		return -EACCES;
	/* As the file system is mounted now, not as it was when the file was opened. */
	map->never_executed = filesystem_refuses(file->inode->fs, MS_NOEXEC);
	if (map->execute && map->never_executed)
		return -EPERM;
	if (!file->ops->mmap)
		return -ENODEV;
	return file->ops->mmap(file, map);
}
