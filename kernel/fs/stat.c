/* The calls of the stat and statfs families. */
#include <abi/fs.h>
#include <abi/stat.h>
#include <err.h>
#include <file.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#include "internal.h"

int dentry_of_fd(int fd, struct dentry **out)
{
	struct file *file = fd_get(fd);

	if (!file)
		return -EBADF;
	*out = dentry_get(file->dentry);
	file_put(file);
	return 0;
}

/* The dentry that a descriptor or a path names, referenced. */
static int dentry_to_show(int dirfd, const char *user_path, u32 flags, struct dentry **out)
{
	char *path;
	int error;

	if (flags & AT_EMPTY_PATH) {
		char first;

		if (user_path && get_user(first, user_path))
			return -EFAULT;
		if (!user_path || !first) {
			if (dirfd == AT_FDCWD) {
				*out = dentry_get(current->fs->cwd);
				return 0;
			}
			return dentry_of_fd(dirfd, out);
		}
	}
	path = path_from_user(user_path);
	if (IS_ERR(path))
		return (int)PTR_ERR(path);
	error = path_lookup(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW, out);
	kfree(path);
	return error;
}

static u64 inode_blocks(const struct inode *inode)
{
	return (u64)inode->page_count * (PAGE_SIZE / 512);
}

/* Fills either form of struct stat: the fields have the same names and different widths. */
#define FILL_STAT(s, i)                                             \
	do {                                                        \
		memset(&(s), 0, sizeof(s));                         \
		(s).dev = device_to_user(inode_dev(i));             \
		(s).ino = (__typeof__((s).ino))(i)->ino;            \
		(s).mode = (i)->mode;                               \
		(s).nlink = (__typeof__((s).nlink))(i)->nlink;      \
		(s).uid = (i)->uid;                                 \
		(s).gid = (i)->gid;                                 \
		(s).rdev = device_to_user((i)->rdev);               \
		(s).size = (__typeof__((s).size))(i)->size;         \
		(s).blksize = PAGE_SIZE;                            \
		(s).blocks = (__typeof__((s).blocks))inode_blocks(i);     \
		(s).atime = (s32)(i)->atime.sec;                    \
		(s).atime_nsec = (i)->atime.nsec;                   \
		(s).mtime = (s32)(i)->mtime.sec;                    \
		(s).mtime_nsec = (i)->mtime.nsec;                   \
		(s).ctime = (s32)(i)->ctime.sec;                    \
		(s).ctime_nsec = (i)->ctime.nsec;                   \
	} while (0)

/* Copies an inode's attributes to user memory, in one of the ABI's structures. */
typedef long give(const struct inode *, void *user);

static long give_stat32(const struct inode *inode, void *user)
{
	struct stat32 s;

	if (inode->size > 0x7fffffff)
		return -EOVERFLOW;
	FILL_STAT(s, inode);
	return copy_to_user(user, &s, sizeof(s));
}

static long give_stat64(const struct inode *inode, void *user)
{
	struct stat64 s;

	FILL_STAT(s, inode);
	stat64_complete(&s);
	return copy_to_user(user, &s, sizeof(s));
}

static struct statx_time statx_time(struct file_time t)
{
	return (struct statx_time){ .sec = t.sec, .nsec = t.nsec };
}

static long give_statx(const struct inode *inode, void *user)
{
	struct statx s;

	memset(&s, 0, sizeof(s));
	s.mask = STATX_BASIC_STATS;
	s.blksize = PAGE_SIZE;
	s.nlink = inode->nlink;
	s.uid = inode->uid;
	s.gid = inode->gid;
	s.mode = (u16)inode->mode;
	s.ino = inode->ino;
	s.size = inode->size;
	s.blocks = inode_blocks(inode);
	s.atime = statx_time(inode->atime);
	s.ctime = statx_time(inode->ctime);
	s.mtime = statx_time(inode->mtime);
	s.rdev_major = MAJOR(inode->rdev);
	s.rdev_minor = MINOR(inode->rdev);
	s.dev_major = MAJOR(inode_dev(inode));
	s.dev_minor = MINOR(inode_dev(inode));
	return copy_to_user(user, &s, sizeof(s));
}

static long give_by_fd(int fd, give *what, void *user)
{
	struct dentry *dentry;
	long result = dentry_of_fd(fd, &dentry);

	if (result)
		return result;
	result = what(dentry->inode, user);
	dentry_put(dentry);
	return result;
}

static long give_by_path(int dirfd, const char *path, u32 flags, give *what, void *user)
{
	struct dentry *dentry;
	long result = dentry_to_show(dirfd, path, flags, &dentry);

	if (result)
		return result;
	result = what(dentry->inode, user);
	dentry_put(dentry);
	return result;
}

long sys_stat(const char *path, struct stat32 *out)
{
	return give_by_path(AT_FDCWD, path, 0, give_stat32, out);
}

long sys_lstat(const char *path, struct stat32 *out)
{
	return give_by_path(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, give_stat32, out);
}

long sys_fstat(int fd, struct stat32 *out)
{
	return give_by_fd(fd, give_stat32, out);
}

long sys_fstatat64(int dirfd, const char *path, struct stat64 *out, u32 flags)
{
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH))
		return -EINVAL;
	return give_by_path(dirfd, path, flags, give_stat64, out);
}

long sys_stat64(const char *path, struct stat64 *out)
{
	return give_by_path(AT_FDCWD, path, 0, give_stat64, out);
}

long sys_lstat64(const char *path, struct stat64 *out)
{
	return give_by_path(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, give_stat64, out);
}

long sys_fstat64(int fd, struct stat64 *out)
{
	return give_by_fd(fd, give_stat64, out);
}

long sys_statx(int dirfd, const char *path, u32 flags, u32 mask, struct statx *out)
{
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE) ||
	    (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE || mask & STATX_RESERVED)
		return -EINVAL;
	return give_by_path(dirfd, path, flags, give_statx, out);
}

static void fill_statfs(const struct inode *inode, struct statfs64 *s)
{
	const struct filesystem *fs = inode->fs;

	memset(s, 0, sizeof(*s));
	s->bsize = s->frsize = PAGE_SIZE;
	s->namelen = NAME_MAX;
	s->flags = ST_VALID;
	if (!fs)
		return;
	s->type = fs->magic;
	s->fsid[0] = (s32)fs->dev;
	if (fs->read_only)
		s->flags |= ST_RDONLY;
	s->flags |= fs->refuses;
	if (fs->root->inode->ops->make) {
		s->blocks = frame_count;
		s->bfree = s->bavail = frames_free();
		s->files = frame_count;
		s->ffree = frame_count > fs->inodes ? frame_count - fs->inodes : 0;
	}
}

static long give_statfs32(const struct inode *inode, void *user)
{
	struct statfs64 s;
	struct statfs32 small;

	fill_statfs(inode, &s);
	memset(&small, 0, sizeof(small));
	small.type = s.type;
	small.bsize = s.bsize;
	small.blocks = (u32)s.blocks;
	small.bfree = (u32)s.bfree;
	small.bavail = (u32)s.bavail;
	small.files = (u32)s.files;
	small.ffree = (u32)s.ffree;
	small.fsid[0] = s.fsid[0];
	small.namelen = s.namelen;
	small.frsize = s.frsize;
	small.flags = s.flags;
	return copy_to_user(user, &small, sizeof(small));
}

static long give_statfs64(const struct inode *inode, void *user)
{
	struct statfs64 s;

	fill_statfs(inode, &s);
	return copy_to_user(user, &s, sizeof(s));
}

long sys_statfs(const char *path, struct statfs32 *out)
{
	return give_by_path(AT_FDCWD, path, 0, give_statfs32, out);
}

long sys_fstatfs(int fd, struct statfs32 *out)
{
	return give_by_fd(fd, give_statfs32, out);
}

long sys_statfs64(const char *path, size_t size, struct statfs64 *out)
{
	return size == sizeof(*out) ? give_by_path(AT_FDCWD, path, 0, give_statfs64, out) : -EINVAL;
}

long sys_fstatfs64(int fd, size_t size, struct statfs64 *out)
{
	return size == sizeof(*out) ? give_by_fd(fd, give_statfs64, out) : -EINVAL;
}
