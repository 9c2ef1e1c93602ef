/* What programs learn about a file and a file system. */
#include "internal.h"

#include <err.h>
#include <file.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <proc.h>
#include <stat.h>
#include <syscall.h>
#include <uaccess.h>

#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_NO_AUTOMOUNT 0x800u
#define AT_EMPTY_PATH 0x1000u
#define AT_STATX_SYNC_TYPE 0x6000u
#define STATX_RESERVED 0x80000000u
#define STATX_BASIC_STATS 0x7ffu
#define ST_RDONLY 1u
#define ST_VALID 0x20u

/* The inode that a descriptor or a path names, referenced. */
static int find_inode(int dirfd, const char *user_path, u32 flags, struct inode **out)
{
	struct dentry *d;
	struct file *f;
	char *path;
	int error;

	if (flags & AT_EMPTY_PATH) {
		char first;

		if (user_path && get_user(first, user_path))
			return -EFAULT;
		if (!user_path || !first) {
			if (dirfd == AT_FDCWD) {
				*out = inode_get(current->fs->cwd->inode);
				return 0;
			}
			f = fd_get(dirfd);
			if (!f)
				return -EBADF;
			*out = inode_get(f->inode);
			file_put(f);
			return 0;
		}
	}
	path = path_from_user(user_path);
	if (IS_ERR(path))
		return (int)PTR_ERR(path);
	error = path_lookup(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW, &d);
	kfree(path);
	if (error)
		return error;
	*out = inode_get(d->inode);
	dentry_put(d);
	return 0;
}

static u64 blocks(const struct inode *i)
{
	return (u64)i->page_count * (PAGE_SIZE / 512);
}

static long give_stat32(const struct inode *i, struct stat32 *user)
{
	struct stat32 s;

	if (i->size > 0x7fffffff)
		return -EOVERFLOW;
	memset(&s, 0, sizeof s);
	s.dev = device_to_user(inode_dev(i));
	s.ino = (u32)i->ino;
	s.mode = i->mode;
	s.nlink = (u16)i->nlink;
	s.uid = i->uid;
	s.gid = i->gid;
	s.rdev = device_to_user(i->rdev);
	s.size = (s32)i->size;
	s.blksize = PAGE_SIZE;
	s.blocks = (u32)blocks(i);
	s.atime = (s32)i->atime.sec;
	s.atime_nsec = i->atime.nsec;
	s.mtime = (s32)i->mtime.sec;
	s.mtime_nsec = i->mtime.nsec;
	s.ctime = (s32)i->ctime.sec;
	s.ctime_nsec = i->ctime.nsec;
	return copy_to_user(user, &s, sizeof s);
}

static long give_stat64(const struct inode *i, struct stat64 *user)
{
	struct stat64 s;

	memset(&s, 0, sizeof s);
	s.dev = device_to_user(inode_dev(i));
	s.ino = i->ino;
	s.mode = i->mode;
	s.nlink = i->nlink;
	s.uid = i->uid;
	s.gid = i->gid;
	s.rdev = device_to_user(i->rdev);
	s.size = (s64)i->size;
	s.blksize = PAGE_SIZE;
	s.blocks = (s64)blocks(i);
	s.atime = (s32)i->atime.sec;
	s.atime_nsec = i->atime.nsec;
	s.mtime = (s32)i->mtime.sec;
	s.mtime_nsec = i->mtime.nsec;
	s.ctime = (s32)i->ctime.sec;
	s.ctime_nsec = i->ctime.nsec;
	return copy_to_user(user, &s, sizeof s);
}

static struct statx_time statx_time(struct file_time t)
{
	return (struct statx_time){ .sec = t.sec, .nsec = t.nsec };
}

static long give_statx(const struct inode *i, struct statx *user)
{
	struct statx s;

	memset(&s, 0, sizeof s);
	s.mask = STATX_BASIC_STATS;
	s.blksize = PAGE_SIZE;
	s.nlink = i->nlink;
	s.uid = i->uid;
	s.gid = i->gid;
	s.mode = (u16)i->mode;
	s.ino = i->ino;
	s.size = i->size;
	s.blocks = blocks(i);
	s.atime = statx_time(i->atime);
	s.ctime = statx_time(i->ctime);
	s.mtime = statx_time(i->mtime);
	s.rdev_major = MAJOR(i->rdev);
	s.rdev_minor = MINOR(i->rdev);
	s.dev_major = MAJOR(inode_dev(i));
	s.dev_minor = MINOR(inode_dev(i));
	return copy_to_user(user, &s, sizeof s);
}

static long stat32_at(int dirfd, const char *path, u32 flags, struct stat32 *out)
{
	struct inode *i;
	long result = find_inode(dirfd, path, flags, &i);

	if (result)
		return result;
	result = give_stat32(i, out);
	inode_put(i);
	return result;
}

long sys_stat(const char *path, struct stat32 *out)
{
	return stat32_at(AT_FDCWD, path, 0, out);
}

long sys_lstat(const char *path, struct stat32 *out)
{
	return stat32_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, out);
}

long sys_fstat(int fd, struct stat32 *out)
{
	struct file *f = fd_get(fd);
	long result;

	if (!f)
		return -EBADF;
	result = give_stat32(f->inode, out);
	file_put(f);
	return result;
}

long sys_fstatat64(int dirfd, const char *path, struct stat64 *out, u32 flags)
{
	struct inode *i;
	long result;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH))
		return -EINVAL;
	result = find_inode(dirfd, path, flags, &i);
	if (result)
		return result;
	result = give_stat64(i, out);
	inode_put(i);
	return result;
}

long sys_stat64(const char *path, struct stat64 *out)
{
	return sys_fstatat64(AT_FDCWD, path, out, 0);
}

long sys_lstat64(const char *path, struct stat64 *out)
{
	return sys_fstatat64(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

long sys_fstat64(int fd, struct stat64 *out)
{
	struct file *f = fd_get(fd);
	long result;

	if (!f)
		return -EBADF;
	result = give_stat64(f->inode, out);
	file_put(f);
	return result;
}

long sys_statx(int dirfd, const char *path, u32 flags, u32 mask, struct statx *out)
{
	struct inode *i;
	long result;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE) ||
	    (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE || mask & STATX_RESERVED)
		return -EINVAL;
	result = find_inode(dirfd, path, flags, &i);
	if (result)
		return result;
	result = give_statx(i, out);
	inode_put(i);
	return result;
}

static void fill_statfs(const struct inode *i, struct statfs64 *s)
{
	const struct filesystem *fs = i->fs;

	memset(s, 0, sizeof *s);
	s->bsize = s->frsize = PAGE_SIZE;
	s->namelen = NAME_MAX;
	s->flags = ST_VALID;
	if (!fs)
		return;
	s->type = fs->magic;
	s->fsid[0] = (s32)fs->dev;
	if (fs->read_only)
		s->flags |= ST_RDONLY;
	if (fs->root->inode->ops->make) {
		s->blocks = frame_count;
		s->bfree = s->bavail = frames_free();
		s->files = frame_count;
		s->ffree = frame_count > fs->inodes ? frame_count - fs->inodes : 0;
	}
}

static long give_statfs32(const struct inode *i, struct statfs32 *user)
{
	struct statfs64 s;
	struct statfs32 small;

	fill_statfs(i, &s);
	memset(&small, 0, sizeof small);
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
	return copy_to_user(user, &small, sizeof small);
}

static long give_statfs64(const struct inode *i, struct statfs64 *user)
{
	struct statfs64 s;

	fill_statfs(i, &s);
	return copy_to_user(user, &s, sizeof s);
}

long sys_statfs(const char *path, struct statfs32 *out)
{
	struct inode *i;
	long result = find_inode(AT_FDCWD, path, 0, &i);

	if (result)
		return result;
	result = give_statfs32(i, out);
	inode_put(i);
	return result;
}

long sys_fstatfs(int fd, struct statfs32 *out)
{
	struct file *f = fd_get(fd);
	long result;

	if (!f)
		return -EBADF;
	result = give_statfs32(f->inode, out);
	file_put(f);
	return result;
}

long sys_statfs64(const char *path, size_t size, struct statfs64 *out)
{
	struct inode *i;
	long result;

	if (size != sizeof(struct statfs64))
		return -EINVAL;
	result = find_inode(AT_FDCWD, path, 0, &i);
	if (result)
		return result;
	result = give_statfs64(i, out);
	inode_put(i);
	return result;
}

long sys_fstatfs64(int fd, size_t size, struct statfs64 *out)
{
	struct file *f;
	long result;

	if (size != sizeof(struct statfs64))
		return -EINVAL;
	f = fd_get(fd);
	if (!f)
		return -EBADF;
	result = give_statfs64(f->inode, out);
	file_put(f);
	return result;
}
