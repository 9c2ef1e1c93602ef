/* open, close and descriptor copies. */
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
#include <uaccess.h>
#include <window.h>

#include "internal.h"

#define SHORT_PATH 128u

char *path_from_user(const char *user)
{
	char most[SHORT_PATH], *path;
	long len = strncpy_from_user(most, user, sizeof(most));

	/* Copy a short path to a small object: only a long one needs a page. */
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

/* Whether the caller may open this inode with these flags: 0 or an error. */
static int check_open(const struct inode *inode, unsigned flags)
{
	static const u8 wanted[4] = { MAY_READ, MAY_WRITE, MAY_READ | MAY_WRITE, MAY_READ | MAY_WRITE };
	unsigned may = wanted[flags & O_ACCMODE];

	if (flags & O_PATH)
		return flags & O_DIRECTORY && !S_ISDIR(inode->mode) ? -ENOTDIR : 0;
	if (S_ISLNK(inode->mode))
		return flags & O_DIRECTORY ? -ENOTDIR : -ELOOP;
	if (S_ISDIR(inode->mode) && (may & MAY_WRITE || flags & O_CREAT))
		return -EISDIR;
	if (flags & O_DIRECTORY && !S_ISDIR(inode->mode))
		return -ENOTDIR;
	if (flags & O_TRUNC)
		may |= MAY_WRITE;
	if (may & MAY_WRITE && inode->fs && inode->fs->read_only && S_ISREG(inode->mode))
		return -EROFS;
	if ((S_ISCHR(inode->mode) || S_ISBLK(inode->mode)) && filesystem_refuses(inode->fs, MS_NODEV))
		return -EACCES;
	if (flags & O_NOATIME && !may_change(inode))
		return -EPERM;
	return inode_permission(inode, may);
}

/* Finds or creates the last component. *created: it was created, so permissions need no check. */
static struct dentry *open_or_create(struct walk *walk, unsigned flags, unsigned mode, bool *created)
{
	for (;;) {
		struct dentry *dentry = walk_last(walk);
		int error;

		if (IS_ERR(dentry)) {
			if (PTR_ERR(dentry) != -ENOENT || !(flags & O_CREAT))
				return dentry;
			if (walk->slash)
				return ERR_PTR(-EISDIR);
			error = inode_make(walk->dir, walk->last, walk->len,
					   S_IFREG | (mode & 07777 & ~current->fs->umask), 0, &dentry);
			*created = !error;
			return error ? ERR_PTR(error) : dentry;
		}
		if (flags & O_CREAT && flags & O_EXCL) {
			dentry_put(dentry);
			return ERR_PTR(-EEXIST);
		}
		if (!S_ISLNK(dentry->inode->mode) || (flags & O_NOFOLLOW && !walk->slash)) {
			if (walk->slash && !S_ISDIR(dentry->inode->mode)) {
				dentry_put(dentry);
				return ERR_PTR(-ENOTDIR);
			}
			return dentry;
		}
		if (dentry->inode->ops->follow) {
			struct dentry *target = walk_magic(walk, dentry);

			dentry_put(dentry);
			return target;
		}
		error = walk_follow(walk, dentry);
		dentry_put(dentry);
		if (error)
			return ERR_PTR(error);
	}
}

static struct file *open_unnamed(int dirfd, const char *path, unsigned flags, unsigned mode, u32 resolve)
{
	struct dentry *dir, *d = NULL;
	struct inode *inode = NULL;
	struct file *file;
	int error;

	if ((flags & O_ACCMODE) == O_RDONLY)
		return ERR_PTR(-EINVAL);
	error = path_lookup_resolving(dirfd, path, WALK_FOLLOW | WALK_DIRECTORY, resolve, &dir);
	if (error)
		return ERR_PTR(error);
	error = dir->inode->fs && dir->inode->fs->read_only ? -EROFS :
							      inode_permission(dir->inode, MAY_WRITE | MAY_EXEC);
	if (!error && !dir->inode->ops->make)
		error = -EOPNOTSUPP;
	if (!error)
		inode = dir->inode->ops->make(dir->inode, S_IFREG | (mode & 07777 & ~current->fs->umask), 0);
	if (inode) {
		inode->nlink = 0;
		inode->linkable = !(flags & O_EXCL);
		d = dentry_new(dir, "#unnamed", 8, inode);
		inode_put(inode);
	}
	dentry_put(dir);
	if (!d)
		return ERR_PTR(error ? error : -ENOMEM);
	file = file_open_dentry(d, flags & ~(unsigned)O_TMPFILE);
	dentry_put(d);
	return file;
}

static struct file *open_at(int dirfd, const char *path, unsigned flags, unsigned mode, u32 resolve)
{
	struct walk w;
	struct dentry *dentry;
	struct file *file;
	bool created = false, truncates;
	int error;

	if (flags & O_PATH)
		flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	else if ((flags & O_TMPFILE) == O_TMPFILE)
		return open_unnamed(dirfd, path, flags, mode, resolve);
	else if ((flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY))
		return ERR_PTR(-EINVAL);
	error = walk_parent_resolving(&w, dirfd, path, resolve);
	dentry = error ? ERR_PTR(error) : open_or_create(&w, flags, mode, &created);
	walk_done(&w);
	if (IS_ERR(dentry))
		return (struct file *)dentry;
	if (!created)
		error = check_open(dentry->inode, flags);
	/* Truncating is writing, even through a descriptor that can only read. It may wait for other writers. */
	truncates = !error && flags & O_TRUNC && !created && S_ISREG(dentry->inode->mode);
	if (truncates) {
		error = inode_begin_write(dentry->inode);
		truncates = !error;
	}
	file = error ? ERR_PTR(error) : file_open_dentry(dentry, flags);
	if (IS_ERR(file) && created)
		inode_unmake(dentry);
	if (!IS_ERR(file) && truncates) {
		error = dentry->inode->ops->truncate ? dentry->inode->ops->truncate(dentry->inode, 0) : 0;
		if (error) {
			file_put(file);
			file = ERR_PTR(error);
		} else {
			inode_drop_privileges(dentry->inode);
			inode_touch(dentry->inode, true);
			note_file(dentry, IN_MODIFY);
		}
	}
	if (truncates)
		inode_end_write(dentry->inode);
	dentry_put(dentry);
	return file;
}

struct file *file_open(const char *path, unsigned flags, unsigned mode)
{
	return open_at(AT_FDCWD, path, flags, mode, 0);
}

static long open_user(int dirfd, const char *user_path, u32 flags, u32 mode, u32 resolve)
{
	char *path = path_from_user(user_path);
	struct file *file;
	int fd;

	if (IS_ERR(path))
		return PTR_ERR(path);
	/* Reserve the descriptor first: if there is none, no file must be created or truncated. */
	fd = fd_reserve(0);
	file = fd < 0 ? ERR_PTR(fd) : open_at(dirfd, path, flags, mode, resolve);
	kfree(path);
	return fd_add(file, flags & O_CLOEXEC);
}

long sys_openat(int dirfd, const char *path, u32 flags, u32 mode)
{
	return open_user(dirfd, path, flags, mode, 0);
}

#define PATH_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define OPEN_FLAGS (O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_DSYNC | O_ASYNC | \
		    O_LARGEFILE | O_DIRECT | O_NOATIME | O_SYNC | O_TMPFILE | PATH_FLAGS)

/* Checks openat2's arguments; unlike for open, unknown bits are errors. */
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
	/* Everything is in memory, but on other systems these may have to wait. */
	if (how->resolve & RESOLVE_CACHED && (how->flags & O_TRUNC || creates))
		return -EAGAIN;
	return 0;
}

long sys_openat2(int dirfd, const char *path, const struct open_how *user, size_t size)
{
	struct open_how how;
	long error;

	if (size < sizeof(how))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (copy_from_user(&how, user, sizeof(how)))
		return -EFAULT;
	/* The fields of a later version must be zero. */
	for (size_t at = sizeof(how); at < size; at++) {
		u8 byte;

		if (get_user(byte, (const u8 *)user + at))
			return -EFAULT;
		if (byte)
			return -E2BIG;
	}
	error = check_how(&how);
	return error ? error : open_user(dirfd, path, (u32)how.flags, (u32)how.mode,
					 (u32)how.resolve & ~RESOLVE_CACHED);
}

long sys_open(const char *path, u32 flags, u32 mode)
{
	return sys_openat(AT_FDCWD, path, flags, mode);
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
		if (fd % WINDOW_STEPS == 0)
			preemption_point();
		if (!current->files->slot[fd])
			continue;
		if (flags & CLOSE_RANGE_CLOEXEC)
			fd_set_cloexec((int)fd, true);
		else
			fd_close((int)fd);
		interrupt_window();
	}
	return 0;
}

long fd_dup_from(int fd, u32 from, bool cloexec)
{
	struct file *file = fd_get(fd);
	int to;

	if (!file)
		return -EBADF;
	if (from >= rlimit(RLIMIT_NOFILE)) {
		file_put(file);
		return -EINVAL;
	}
	to = fd_reserve(from);
	if (to < 0) {
		file_put(file);
		return to;
	}
	fd_install(to, file, cloexec);
	return to;
}

long sys_dup(int fd)
{
	return fd_dup_from(fd, 0, false);
}

static long dup_to(int fd, int to, bool cloexec)
{
	struct file *file = fd_get(fd);
	int result;

	if (!file)
		return -EBADF;
	result = fd_replace(to, file, cloexec);
	if (result < 0)
		file_put(file);
	return result;
}

long sys_dup2(int fd, int to)
{
	if (fd == to) {
		struct file *file = fd_get(fd);

		if (!file)
			return -EBADF;
		file_put(file);
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
