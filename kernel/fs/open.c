/* open, close and descriptor copies. */
#include "internal.h"

#include <abi/fs.h>
#include <arch.h>
#include <err.h>
#include <file.h>
#include <inotify.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <tty.h>
#include <uaccess.h>

#define SHORT_PATH 128u

char *path_from_user(const char *user)
{
	char most[SHORT_PATH], *path;
	long len = strncpy_from_user(most, user, sizeof most);

	/* A short path takes a small object; only a long one is worth a page. */
	if (len >= 0) {
		path = kmalloc((size_t)len + 1);
		if (!path)
			return ERR_PTR(-ENOMEM);
		memcpy(path, most, (size_t)len + 1);
		return path;
	}
	if (len != -ENAMETOOLONG)
		return ERR_PTR(len);
	path = kmalloc(PATH_MAX);
	if (!path)
		return ERR_PTR(-ENOMEM);
	len = strncpy_from_user(path, user, PATH_MAX);
	if (len < 0) {
		kfree(path);
		return ERR_PTR(len);
	}
	return path;
}

/* May this inode be opened so by the caller? */
static int check_open(const struct inode *i, unsigned flags)
{
	static const u8 wanted[4] = { MAY_READ, MAY_WRITE, MAY_READ | MAY_WRITE, MAY_READ | MAY_WRITE };
	unsigned may = wanted[flags & O_ACCMODE];
	int error;

	if (flags & O_PATH)
		return flags & O_DIRECTORY && !S_ISDIR(i->mode) ? -ENOTDIR : 0;
	if (S_ISLNK(i->mode))
		return flags & O_DIRECTORY ? -ENOTDIR : -ELOOP;
	if (S_ISDIR(i->mode) && (may & MAY_WRITE || flags & O_CREAT))
		return -EISDIR;
	if (flags & O_DIRECTORY && !S_ISDIR(i->mode))
		return -ENOTDIR;
	if (flags & O_TRUNC)
		may |= MAY_WRITE;
	if (may & MAY_WRITE && i->fs && i->fs->read_only && S_ISREG(i->mode))
		return -EROFS;
	if (flags & O_NOATIME && !may_change(i))
		return -EPERM;
	error = inode_permission(i, may);
	/* Truncating is writing, also where the descriptor will only read. */
	return !error && flags & O_TRUNC && i->denied_writes ? -ETXTBSY : error;
}

/* Finds or creates the last component. *created: permissions need no check. */
static struct dentry *find_or_create(struct walk *w, unsigned flags, unsigned mode, bool *created)
{
	for (;;) {
		struct dentry *d = walk_last(w);
		int error;

		if (IS_ERR(d)) {
			if (PTR_ERR(d) != -ENOENT || !(flags & O_CREAT))
				return d;
			if (w->slash)
				return ERR_PTR(-EISDIR);
			error = inode_make(w->dir, w->last, w->len, S_IFREG | (mode & 07777 & ~current->fs->umask), 0, &d);
			*created = !error;
			return error ? ERR_PTR(error) : d;
		}
		if (flags & O_CREAT && flags & O_EXCL) {
			dentry_put(d);
			return ERR_PTR(-EEXIST);
		}
		if (!S_ISLNK(d->inode->mode) || (flags & O_NOFOLLOW && !w->slash)) {
			if (w->slash && !S_ISDIR(d->inode->mode)) {
				dentry_put(d);
				return ERR_PTR(-ENOTDIR);
			}
			return d;
		}
		if (d->inode->ops->follow) {
			struct dentry *target = walk_magic(w, d);

			dentry_put(d);
			return target;
		}
		error = walk_follow(w, d);
		dentry_put(d);
		if (error)
			return ERR_PTR(error);
	}
}

static struct file *open_unnamed(int dirfd, const char *path, unsigned flags, unsigned mode)
{
	struct dentry *dir, *d = NULL;
	struct inode *i = NULL;
	struct file *f;
	int error;

	if ((flags & O_ACCMODE) == O_RDONLY)
		return ERR_PTR(-EINVAL);
	error = path_lookup(dirfd, path, WALK_FOLLOW | WALK_DIRECTORY, &dir);
	if (error)
		return ERR_PTR(error);
	error = inode_permission(dir->inode, MAY_WRITE | MAY_EXEC);
	if (!error && !dir->inode->ops->make)
		error = -EOPNOTSUPP;
	if (!error)
		i = dir->inode->ops->make(dir->inode, S_IFREG | (mode & 07777 & ~current->fs->umask), 0);
	if (i) {
		i->nlink = 0;
		d = dentry_new(dir, "#unnamed", 8, i);
		inode_put(i);
	}
	dentry_put(dir);
	if (!d)
		return ERR_PTR(error ? error : -ENOMEM);
	f = file_open_dentry(d, flags & ~(unsigned)O_TMPFILE);
	dentry_put(d);
	return f;
}

static struct file *open_at(int dirfd, const char *path, unsigned flags, unsigned mode, u32 resolve)
{
	struct walk w;
	struct dentry *d;
	struct file *f;
	bool created = false;
	int error;

	if (flags & O_PATH)
		flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	else if ((flags & O_TMPFILE) == O_TMPFILE)
		return open_unnamed(dirfd, path, flags, mode);
	else if ((flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY))
		return ERR_PTR(-EINVAL);
	error = walk_parent_resolving(&w, dirfd, path, resolve);
	d = error ? ERR_PTR(error) : find_or_create(&w, flags, mode, &created);
	walk_done(&w);
	if (IS_ERR(d))
		return (struct file *)d;
	if (!created)
		error = check_open(d->inode, flags);
	f = error ? ERR_PTR(error) : file_open_dentry(d, flags);
	if (!IS_ERR(f) && flags & O_TRUNC && !created && S_ISREG(d->inode->mode) && !(flags & O_PATH)) {
		error = d->inode->ops->truncate ? d->inode->ops->truncate(d->inode, 0) : 0;
		if (error) {
			file_put(f);
			f = ERR_PTR(error);
		} else {
			inode_drop_privileges(d->inode);
			inode_touch(d->inode, true);
			note_file(d, IN_MODIFY);
		}
	}
	dentry_put(d);
	return f;
}

struct file *file_open(const char *path, unsigned flags, unsigned mode)
{
	return open_at(AT_FDCWD, path, flags, mode, 0);
}

static long open_user(int dirfd, const char *user_path, u32 flags, u32 mode, u32 resolve)
{
	char *path = path_from_user(user_path);
	struct file *f;
	int fd;

	if (IS_ERR(path))
		return PTR_ERR(path);
	/* Without a descriptor to give, no file is made or emptied. */
	fd = fd_reserve(0);
	f = fd < 0 ? ERR_PTR(fd) : open_at(dirfd, path, flags, mode, resolve);
	kfree(path);
	return fd_add(f, flags & O_CLOEXEC);
}

long sys_openat(int dirfd, const char *path, u32 flags, u32 mode)
{
	return open_user(dirfd, path, flags, mode, 0);
}

#define PATH_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define OPEN_FLAGS (O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_DSYNC | O_ASYNC | \
		    O_LARGEFILE | O_DIRECT | O_NOATIME | O_SYNC | O_TMPFILE | PATH_FLAGS)

/* Unlike open's, wrong bits are errors. */
static long check_how(const struct open_how *how)
{
	bool creates = how->flags & O_CREAT || (how->flags & O_TMPFILE) == O_TMPFILE;

	if (how->flags & ~(u64)OPEN_FLAGS || how->resolve & ~(u64)RESOLVE_ALL)
		return -EINVAL;
	if ((how->resolve & RESOLVE_BENEATH) && (how->resolve & RESOLVE_IN_ROOT))
		return -EINVAL;
	if (creates ? how->mode & ~07777ull : how->mode)
		return -EINVAL;
	if (how->flags & O_PATH && how->flags & ~(u64)PATH_FLAGS)
		return -EINVAL;
	/* Everything is in memory, but these may have to wait on other systems. */
	if (how->resolve & RESOLVE_CACHED && (how->flags & O_TRUNC || creates))
		return -EAGAIN;
	return 0;
}

long sys_openat2(int dirfd, const char *path, const struct open_how *user, size_t size)
{
	struct open_how how;
	long error;

	if (size < sizeof how)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (copy_from_user(&how, user, sizeof how))
		return -EFAULT;
	/* A later version's fields, of which none may be used. */
	for (size_t at = sizeof how; at < size; at++) {
		u8 byte;

		if (get_user(byte, (const u8 *)user + at))
			return -EFAULT;
		if (byte)
			return -E2BIG;
	}
	error = check_how(&how);
	return error ? error : open_user(dirfd, path, (u32)how.flags, (u32)how.mode, (u32)how.resolve & ~RESOLVE_CACHED);
}

long sys_open(const char *path, u32 flags, u32 mode)
{
	return sys_openat(AT_FDCWD, path, flags, mode);
}

long sys_creat(const char *path, u32 mode)
{
	return sys_openat(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

long sys_close(int fd)
{
	return fd_close(fd);
}

long sys_close_range(u32 first, u32 last, u32 flags)
{
	if (flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC) || first > last)
		return -EINVAL;
	if (flags & CLOSE_RANGE_UNSHARE && files_unshare())
		return -ENOMEM;
	last = MIN(last, current->files->size - 1);
	for (u32 fd = first; fd <= last && fd < current->files->size; fd++) {
		if (!current->files->slot[fd])
			continue;
		if (flags & CLOSE_RANGE_CLOEXEC)
			fd_set_cloexec((int)fd, true);
		else
			fd_close((int)fd);
	}
	return 0;
}

long fd_dup_from(int fd, u32 from, bool cloexec)
{
	struct file *f = fd_get(fd);
	int to;

	if (!f)
		return -EBADF;
	if (from >= rlimit(RLIMIT_NOFILE)) {
		file_put(f);
		return -EINVAL;
	}
	to = fd_reserve(from);
	if (to < 0) {
		file_put(f);
		return to;
	}
	fd_install(to, f, cloexec);
	return to;
}

long sys_dup(int fd)
{
	return fd_dup_from(fd, 0, false);
}

static long dup_to(int fd, int to, bool cloexec)
{
	struct file *f = fd_get(fd);
	int result;

	if (!f)
		return -EBADF;
	result = fd_replace(to, f, cloexec);
	if (result < 0)
		file_put(f);
	return result;
}

long sys_dup2(int fd, int to)
{
	if (fd == to) {
		struct file *f = fd_get(fd);

		if (!f)
			return -EBADF;
		file_put(f);
		return fd;
	}
	return dup_to(fd, to, false);
}

long sys_dup3(int fd, int to, u32 flags)
{
	if (flags & ~(u32)O_CLOEXEC || fd == to)
		return -EINVAL;
	return dup_to(fd, to, flags & O_CLOEXEC);
}
