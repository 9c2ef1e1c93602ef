/* Open files: made from a name or from nothing, shared by descriptors, released with the last. */
#include "internal.h"

#include <anon.h>
#include <async.h>
#include <err.h>
#include <file.h>
#include <inotify.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>

static struct file *file_new(struct dentry *d, unsigned flags, const struct file_ops *ops)
{
	struct file *f = kzalloc(sizeof *f);

	if (!f)
		return ERR_PTR(-ENOMEM);
	f->refs = 1;
	f->flags = flags & ~(u32)(O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC);
	f->ops = ops;
	f->dentry = dentry_get(d);
	f->inode = d->inode;
	list_init(&f->watches);
	mutex_init(&f->positioning);
	return f;
}

static void file_free(struct file *f)
{
	dentry_put(f->dentry);
	kfree(f);
}

/* An O_PATH file is a place in the tree and nothing else. */
static long path_only(struct file *f, struct iter *it, u64 *position)
{
	(void)f;
	(void)it;
	(void)position;
	return -EBADF;
}

static const struct file_ops path_ops = { .read = path_only, .write = path_only };

static void add_writer(struct inode *i)
{
	i->writers++;
	inode_edit(i);
}

struct file *file_open_dentry(struct dentry *d, unsigned flags)
{
	struct inode *i = d->inode;
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	struct file *f;
	int error = 0;

	if (flags & O_PATH)
		return file_new(d, (flags & (O_PATH | O_DIRECTORY | O_NOFOLLOW)) | O_RDONLY, &path_ops);
	if (!i->fops)
		return ERR_PTR(-ENXIO);
	if (writes && i->denied_writes)
		return ERR_PTR(-ETXTBSY);
	f = file_new(d, flags, i->fops);
	if (IS_ERR(f))
		return f;
	if (f->ops->open)
		error = f->ops->open(f);
	if (error) {
		file_free(f);
		return ERR_PTR(error);
	}
	if (writes)
		add_writer(i);
	note_file(d, IN_OPEN);
	return f;
}

void file_put(struct file *f)
{
	if (!f || --f->refs)
		return;
	if (f->ops == &path_ops) {
		file_free(f);
		return;
	}
	note_file(f->dentry, FILE_WRITES(f) ? IN_CLOSE_WRITE : IN_CLOSE_NOWRITE);
	if (!list_empty(&f->watches))
		epoll_forget(f);
	if (f->async)
		async_forget(f);
	locks_release_file(f);
	if (f->ops->release)
		f->ops->release(f);
	if (FILE_WRITES(f))
		f->inode->writers--;
	file_free(f);
}

struct inode *inode_nameless(u32 mode)
{
	return inode_new(NULL, mode, 0);
}

struct file *file_on_inode(struct inode *i, const char *kind, u32 flags, const struct file_ops *ops, void *data)
{
	char name[40];
	struct dentry *d;
	struct file *f;
	int len = snprintf(name, sizeof name, "%s:[%u]", kind, (u32)i->ino);

	d = dentry_new(NULL, name, (size_t)len, i);
	if (!d)
		return ERR_PTR(-ENOMEM);
	f = file_new(d, flags, ops);
	dentry_put(d);
	if (IS_ERR(f))
		return f;
	f->data = data;
	if (FILE_WRITES(f))
		add_writer(i);
	return f;
}

struct file *file_anonymous(const char *kind, u32 mode, u32 flags, const struct file_ops *ops, void *data)
{
	struct inode *i = inode_nameless(mode);
	struct file *f;

	if (!i)
		return ERR_PTR(-ENOMEM);
	f = file_on_inode(i, kind, flags, ops, data);
	inode_put(i);
	return f;
}

int fd_anonymous(const char *kind, u32 flags, const struct file_ops *ops, void *data)
{
	char name[40];
	struct file *f;

	snprintf(name, sizeof name, "anon_inode:[%s]", kind);
	f = file_anonymous(name, 0600, flags, ops, data);
	if (IS_ERR(f)) {
		kfree(data);
		return (int)PTR_ERR(f);
	}
	return fd_add(f, flags & O_CLOEXEC);
}

long file_read_kernel(struct file *f, void *buffer, size_t size, u64 offset)
{
	/* Nothing else is executable. */
	if (!S_ISREG(f->inode->mode) || f->ops != &ramfs_file_ops)
		return -EINVAL;
	return inode_read(f->inode, buffer, size, offset);
}

int file_mmap(struct file *f, struct file_map *map)
{
	if (!FILE_READS(f) || (map->shared && map->write && !FILE_WRITES(f)))
		return -EACCES;
	if (!f->ops->mmap)
		return -ENODEV;
	return f->ops->mmap(f, map);
}

unsigned file_poll(struct file *f, struct poll_table *table)
{
	if (!f->ops->poll)
		return POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
	return f->ops->poll(f, table);
}
