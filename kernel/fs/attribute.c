/* Modes, owners, times and sizes: changing them, and asking for permission. */
#include "internal.h"

#include <abi/fs.h>
#include <abi/time.h>
#include <err.h>
#include <file.h>
#include <inotify.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>
#include <window.h>

int lookup_user(int dirfd, const char *user_path, u32 flags, struct dentry **out)
{
	char *path = path_from_user(user_path);
	int error;

	if (IS_ERR(path))
		return (int)PTR_ERR(path);
	if (!*path && flags & AT_EMPTY_PATH) {
		struct file *f = fd_get(dirfd);

		error = f ? 0 : -EBADF;
		if (f)
			*out = dentry_get(f->dentry);
		file_put(f);
	} else {
		error = path_lookup(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW, out);
	}
	kfree(path);
	return error;
}

/* 0 if the inode's file system may be changed. */
static int writable(const struct inode *i)
{
	return i->fs && i->fs->read_only ? -EROFS : 0;
}

static int change_mode(struct dentry *d, u32 mode)
{
	struct inode *i = d->inode;

	if (writable(i))
		return -EROFS;
	if (!may_change(i))
		return -EPERM;
	if (!capable() && !in_group(i->gid))
		mode &= ~(u32)S_ISGID;
	i->mode = (i->mode & S_IFMT) | (mode & 07777);
	i->ctime = file_time_now();
	note_file(d, IN_ATTRIB);
	return 0;
}

long sys_fchmodat(int dirfd, const char *path, u32 mode)
{
	struct dentry *d;
	int error = lookup_user(dirfd, path, 0, &d);

	if (error)
		return error;
	error = change_mode(d, mode);
	dentry_put(d);
	return error;
}

long sys_chmod(const char *path, u32 mode)
{
	return sys_fchmodat(AT_FDCWD, path, mode);
}

long sys_fchmod(int fd, u32 mode)
{
	struct file *f = fd_get(fd);
	int error;

	if (!f)
		return -EBADF;
	error = f->flags & O_PATH ? -EBADF : change_mode(f->dentry, mode);
	file_put(f);
	return error;
}

/* All ones leave an id as it is. */
static int change_owner(struct dentry *d, u32 uid, u32 gid)
{
	struct inode *i = d->inode;

	if (writable(i))
		return -EROFS;
	if (!capable()) {
		if (uid != ~0u && (uid != i->uid || current->cred.fsuid != i->uid))
			return -EPERM;
		if (gid != ~0u && (current->cred.fsuid != i->uid || (gid != i->gid && !in_group(gid))))
			return -EPERM;
	}
	if (uid != ~0u)
		i->uid = uid;
	if (gid != ~0u)
		i->gid = gid;
	if (!S_ISDIR(i->mode) && (uid != ~0u || gid != ~0u)) {
		i->mode &= ~(u32)S_ISUID;
		if (i->mode & 0010)
			i->mode &= ~(u32)S_ISGID;
	}
	i->ctime = file_time_now();
	note_file(d, IN_ATTRIB);
	return 0;
}

long sys_fchownat(int dirfd, const char *path, u32 uid, u32 gid, u32 flags)
{
	struct dentry *d;
	int error;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	error = lookup_user(dirfd, path, flags, &d);
	if (error)
		return error;
	error = change_owner(d, uid, gid);
	dentry_put(d);
	return error;
}

long sys_chown(const char *path, u32 uid, u32 gid)
{
	return sys_fchownat(AT_FDCWD, path, uid, gid, 0);
}

long sys_lchown(const char *path, u32 uid, u32 gid)
{
	return sys_fchownat(AT_FDCWD, path, uid, gid, AT_SYMLINK_NOFOLLOW);
}

long sys_fchown(int fd, u32 uid, u32 gid)
{
	struct file *f = fd_get(fd);
	int error;

	if (!f)
		return -EBADF;
	error = f->flags & O_PATH ? -EBADF : change_owner(f->dentry, uid, gid);
	file_put(f);
	return error;
}

long sys_umask(u32 mask)
{
	u32 old = current->fs->umask;

	current->fs->umask = mask & 0777;
	return (long)old;
}

long sys_faccessat2(int dirfd, const char *path, int mode, u32 flags)
{
	u32 fsuid = current->cred.fsuid, fsgid = current->cred.fsgid;
	struct dentry *d;
	int error;

	if (mode & ~7 || flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!(flags & AT_EACCESS)) {
		current->cred.fsuid = current->cred.uid;
		current->cred.fsgid = current->cred.gid;
	}
	error = lookup_user(dirfd, path, flags, &d);
	if (!error) {
		u32 kind = d->inode->mode & S_IFMT;

		/* A device, FIFO or socket is written to without its file system. */
		if (mode & MAY_WRITE && (kind == S_IFREG || kind == S_IFDIR || kind == S_IFLNK))
			error = writable(d->inode);
		if (!error)
			error = inode_permission(d->inode, (unsigned)mode);
		dentry_put(d);
	}
	current->cred.fsuid = fsuid;
	current->cred.fsgid = fsgid;
	return error;
}

long sys_faccessat(int dirfd, const char *path, int mode)
{
	return sys_faccessat2(dirfd, path, mode, 0);
}

long sys_access(const char *path, int mode)
{
	return sys_faccessat2(AT_FDCWD, path, mode, 0);
}

/* One of the two times of a utimensat. */
struct new_time {
	enum { TIME_SET, TIME_IS_NOW, TIME_OMITTED } kind;
	struct file_time time;
};

static int new_time(struct new_time *t, s64 sec, s64 nsec)
{
	t->kind = nsec == UTIME_NOW ? TIME_IS_NOW : nsec == UTIME_OMIT ? TIME_OMITTED : TIME_SET;
	if (t->kind == TIME_SET && (nsec < 0 || nsec > 999999999))
		return -EINVAL;
	t->time = (struct file_time){ .sec = sec, .nsec = (u32)nsec };
	return 0;
}

static int change_times(struct dentry *d, const struct new_time t[2])
{
	struct inode *i = d->inode;
	bool both_now = t[0].kind == TIME_IS_NOW && t[1].kind == TIME_IS_NOW;
	struct file_time now = file_time_now();

	if (t[0].kind == TIME_OMITTED && t[1].kind == TIME_OMITTED)
		return 0;
	if (writable(i))
		return -EROFS;
	if (!may_change(i)) {
		if (!both_now)
			return -EPERM;
		if (inode_permission(i, MAY_WRITE))
			return -EACCES;
	}
	if (t[0].kind != TIME_OMITTED)
		i->atime = t[0].kind == TIME_IS_NOW ? now : t[0].time;
	if (t[1].kind != TIME_OMITTED)
		i->mtime = t[1].kind == TIME_IS_NOW ? now : t[1].time;
	i->ctime = now;
	note_file(d, IN_ATTRIB);
	return 0;
}

/* A NULL path: the descriptor's own file. */
static long times_at(int dirfd, const char *path, const struct new_time t[2], u32 flags)
{
	struct dentry *d;
	int error;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!path) {
		struct file *f = fd_get(dirfd);

		if (!f)
			return -EBADF;
		error = f->flags & O_PATH ? -EBADF : change_times(f->dentry, t);
		file_put(f);
		return error;
	}
	error = lookup_user(dirfd, path, flags, &d);
	if (error)
		return error;
	error = change_times(d, t);
	dentry_put(d);
	return error;
}

static const struct new_time both_now[2] = { { .kind = TIME_IS_NOW }, { .kind = TIME_IS_NOW } };

long sys_utimensat(int dirfd, const char *path, const struct timespec32 *user, u32 flags)
{
	struct timespec32 ts[2];
	struct new_time t[2];

	if (!user)
		return times_at(dirfd, path, both_now, flags);
	if (copy_from_user(ts, user, sizeof ts))
		return -EFAULT;
	if (new_time(&t[0], ts[0].sec, ts[0].nsec) || new_time(&t[1], ts[1].sec, ts[1].nsec))
		return -EINVAL;
	return times_at(dirfd, path, t, flags);
}

long sys_utimensat_time64(int dirfd, const char *path, const struct timespec64 *user, u32 flags)
{
	struct timespec64 ts[2];
	struct new_time t[2];

	if (!user)
		return times_at(dirfd, path, both_now, flags);
	if (copy_from_user(ts, user, sizeof ts))
		return -EFAULT;
	/* Only the low word of the nanoseconds counts: 32-bit programs may leave rubbish above it. */
	if (new_time(&t[0], ts[0].sec, (s32)ts[0].nsec) || new_time(&t[1], ts[1].sec, (s32)ts[1].nsec))
		return -EINVAL;
	return times_at(dirfd, path, t, flags);
}

long sys_futimesat(int dirfd, const char *path, const struct timeval32 *user)
{
	struct timeval32 tv[2];
	struct new_time t[2];

	if (!user)
		return times_at(dirfd, path, both_now, 0);
	if (copy_from_user(tv, user, sizeof tv))
		return -EFAULT;
	for (int i = 0; i < 2; i++) {
		if (tv[i].usec < 0 || tv[i].usec > 999999)
			return -EINVAL;
		new_time(&t[i], tv[i].sec, (s64)tv[i].usec * 1000);
	}
	return times_at(dirfd, path, t, 0);
}

long sys_utimes(const char *path, const struct timeval32 *user)
{
	if (!path)
		return -EFAULT;
	return sys_futimesat(AT_FDCWD, path, user);
}

long sys_utime(const char *path, const struct utimbuf32 *user)
{
	struct utimbuf32 u;
	struct new_time t[2];

	if (!path)
		return -EFAULT;
	if (!user)
		return times_at(AT_FDCWD, path, both_now, 0);
	if (copy_from_user(&u, user, sizeof u))
		return -EFAULT;
	new_time(&t[0], u.atime, 0);
	new_time(&t[1], u.mtime, 0);
	return times_at(AT_FDCWD, path, t, 0);
}

/* RLIMIT_FSIZE, where a file is to become longer. */
static int limit_growth(const struct inode *i, u64 size)
{
	u32 limit = rlimit(RLIMIT_FSIZE);

	if (limit == RLIM_INFINITY || size <= limit || size <= i->size)
		return 0;
	signal_process(current->process, SIGXFSZ, NULL);
	return -EFBIG;
}

static int file_set_size(struct dentry *d, s64 size)
{
	struct inode *i = d->inode;
	int error;

	if (size < 0)
		return -EINVAL;
	if (S_ISDIR(i->mode))
		return -EISDIR;
	if (!S_ISREG(i->mode) || !i->ops || !i->ops->truncate)
		return -EINVAL;
	error = limit_growth(i, (u64)size);
	if (!error)
		error = i->ops->truncate(i, (u64)size);
	if (!error) {
		inode_drop_privileges(i);
		inode_touch(i, true);
		note_file(d, IN_MODIFY);
	}
	return error;
}

long sys_truncate64(const char *path, s64 size)
{
	struct dentry *d;
	int error = lookup_user(AT_FDCWD, path, 0, &d);

	if (error)
		return error;
	error = S_ISDIR(d->inode->mode) ? -EISDIR : inode_permission(d->inode, MAY_WRITE);
	if (!error)
		error = writable(d->inode);
	if (!error && d->inode->denied_writes)
		error = -ETXTBSY;
	if (!error)
		error = file_set_size(d, size);
	dentry_put(d);
	return error;
}

long sys_truncate(const char *path, s32 size)
{
	return sys_truncate64(path, size);
}

long sys_ftruncate64(int fd, s64 size)
{
	struct file *f = fd_get(fd);
	int error;

	if (!f)
		return -EBADF;
	error = f->flags & O_PATH ? -EBADF : FILE_WRITES(f) ? file_set_size(f->dentry, size) : -EINVAL;
	file_put(f);
	return error;
}

long sys_ftruncate(int fd, s32 size)
{
	return sys_ftruncate64(fd, size);
}

static long allocate(struct inode *i, int mode, u64 from, u64 to)
{
	u64 end = mode & FALLOC_KEEP_SIZE ? MIN(to, i->size) : to;
	/* Room changes nothing that a reader sees, but where the file grows. */
	int error = mode & (FALLOC_PUNCH_HOLE | FALLOC_ZERO_RANGE) ? seals_check_write(i, end) :
								     seals_check_size(i, MAX(end, i->size));

	if (!error && !(mode & FALLOC_KEEP_SIZE))
		error = limit_growth(i, to);
	if (error)
		return error;
	inode_drop_privileges(i);
	if (mode & (FALLOC_PUNCH_HOLE | FALLOC_ZERO_RANGE)) {
		inode_punch(i, from, to);
	} else {
		for (u64 at = from & ~(u64)(PAGE_SIZE - 1); at < to; at += PAGE_SIZE) {
			struct frame *frame;

			if (frames_short() ||
			    inode_page(i, (u32)(at >> PAGE_SHIFT), PAGE_FILL, &frame))
				return -ENOSPC;
			frame_put(frame);
			preemption_point();
			if (signal_fatal_pending())
				return -EINTR;
		}
	}
	if (!(mode & FALLOC_KEEP_SIZE) && to > i->size)
		i->size = to;
	inode_touch(i, true);
	return 0;
}

static long allocate_alone(struct inode *i, int mode, u64 from, u64 to)
{
	long result = mutex_lock_killable(&i->writing);

	if (result)
		return result;
	result = allocate(i, mode, from, to);
	mutex_unlock(&i->writing);
	return result;
}

long sys_fallocate(int fd, int mode, s64 offset, s64 length)
{
	struct file *f = fd_get(fd);
	long result;

	if (!f)
		return -EBADF;
	if (offset < 0 || length <= 0)
		result = -EINVAL;
	else if (mode & ~(FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE | FALLOC_ZERO_RANGE) ||
		 (mode & FALLOC_PUNCH_HOLE && !(mode & FALLOC_KEEP_SIZE)))
		result = -EOPNOTSUPP;
	else if (!FILE_WRITES(f) || f->flags & O_PATH)
		result = -EBADF;
	else if (S_ISFIFO(f->inode->mode))
		result = -ESPIPE;
	else if (!S_ISREG(f->inode->mode) || f->ops != &ramfs_file_ops)
		result = -ENODEV;
	else if ((u64)offset + (u64)length > FILE_SIZE_MAX)
		result = -EFBIG;
	else
		result = allocate_alone(f->inode, mode, (u64)offset, (u64)offset + (u64)length);
	file_put(f);
	return result;
}
