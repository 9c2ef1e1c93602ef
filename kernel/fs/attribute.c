/* Modes, owners, times and sizes: changing them, and asking for permission. */
#include <abi/fs.h>
#include <abi/time.h>
#include <err.h>
#include <file.h>
#include <frame.h>
#include <inotify.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>
#include <window.h>

#include "internal.h"

int lookup_user(int dirfd, const char *user_path, u32 flags, struct dentry **out)
{
	char *path = path_from_user(user_path);
	int error;

	if (IS_ERR(path))
		return (int)PTR_ERR(path);
	if (!*path && flags & AT_EMPTY_PATH) {
		struct file *file = fd_get(dirfd);

		error = file ? 0 : -EBADF;
		if (file)
			*out = dentry_get(file->dentry);
		file_put(file);
	} else {
		error = path_lookup(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW, out);
	}
	kfree(path);
	return error;
}

/* 0 if the inode's file system can be changed, else -EROFS. */
static int check_writable(const struct inode *inode)
{
	return inode->fs && inode->fs->read_only ? -EROFS : 0;
}

static int change_mode(struct dentry *dentry, u32 mode)
{
	struct inode *inode = dentry->inode;

	if (check_writable(inode))
		return -EROFS;
	if (!may_change(inode))
		return -EPERM;
	if (!capable() && !in_group(inode->gid))
		mode &= ~(u32)S_ISGID;
	inode->mode = (inode->mode & S_IFMT) | (mode & 07777);
	inode->ctime = file_time_now();
	note_file(dentry, IN_ATTRIB);
	return 0;
}

long sys_fchmodat(int dirfd, const char *path, u32 mode)
{
	struct dentry *dentry;
	int error = lookup_user(dirfd, path, 0, &dentry);

	if (error)
		return error;
	error = change_mode(dentry, mode);
	dentry_put(dentry);
	return error;
}

long sys_fchmod(int fd, u32 mode)
{
	struct file *file = fd_get(fd);
	int error;

	if (!file)
		return -EBADF;
	error = file->flags & O_PATH ? -EBADF : change_mode(file->dentry, mode);
	file_put(file);
	return error;
}

/* An ID of all ones stays as it is. */
static int change_owner(struct dentry *dentry, u32 uid, u32 gid)
{
	struct inode *inode = dentry->inode;

	if (check_writable(inode))
		return -EROFS;
	if (!capable()) {
		if (uid != ~0u && (uid != inode->uid || current->cred.fsuid != inode->uid))
			return -EPERM;
		if (gid != ~0u && (current->cred.fsuid != inode->uid || (gid != inode->gid && !in_group(gid))))
			return -EPERM;
	}
	if (uid != ~0u)
		inode->uid = uid;
	if (gid != ~0u)
		inode->gid = gid;
	if (!S_ISDIR(inode->mode) && (uid != ~0u || gid != ~0u)) {
		inode->mode &= ~(u32)S_ISUID;
		if (inode->mode & 0010)
			inode->mode &= ~(u32)S_ISGID;
	}
	inode->ctime = file_time_now();
	note_file(dentry, IN_ATTRIB);
	return 0;
}

long sys_fchownat(int dirfd, const char *path, u32 uid, u32 gid, u32 flags)
{
	struct dentry *dentry;
	int error;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	error = lookup_user(dirfd, path, flags, &dentry);
	if (error)
		return error;
	error = change_owner(dentry, uid, gid);
	dentry_put(dentry);
	return error;
}

long sys_fchown(int fd, u32 uid, u32 gid)
{
	struct file *file = fd_get(fd);
	int error;

	if (!file)
		return -EBADF;
	error = file->flags & O_PATH ? -EBADF : change_owner(file->dentry, uid, gid);
	file_put(file);
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
	struct dentry *dentry;
	int error;

	if (mode & ~7 || flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!(flags & AT_EACCESS)) {
		current->cred.fsuid = current->cred.uid;
		current->cred.fsgid = current->cred.gid;
	}
	error = lookup_user(dirfd, path, flags, &dentry);
	if (!error) {
		u32 kind = dentry->inode->mode & S_IFMT;

		/* Writing to a device, FIFO or socket does not change the file system. */
		if (mode & MAY_WRITE && (kind == S_IFREG || kind == S_IFDIR || kind == S_IFLNK))
			error = check_writable(dentry->inode);
		if (!error)
			error = inode_permission(dentry->inode, (unsigned)mode);
		dentry_put(dentry);
	}
	current->cred.fsuid = fsuid;
	current->cred.fsgid = fsgid;
	return error;
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

static int change_times(struct dentry *dentry, const struct new_time t[2])
{
	struct inode *inode = dentry->inode;
	bool both_now = t[0].kind == TIME_IS_NOW && t[1].kind == TIME_IS_NOW;
	struct file_time now = file_time_now();

	if (t[0].kind == TIME_OMITTED && t[1].kind == TIME_OMITTED)
		return 0;
	if (check_writable(inode))
		return -EROFS;
	if (!may_change(inode)) {
		if (!both_now)
			return -EPERM;
		if (inode_permission(inode, MAY_WRITE))
			return -EACCES;
	}
	if (t[0].kind != TIME_OMITTED)
		inode->atime = t[0].kind == TIME_IS_NOW ? now : t[0].time;
	if (t[1].kind != TIME_OMITTED)
		inode->mtime = t[1].kind == TIME_IS_NOW ? now : t[1].time;
	inode->ctime = now;
	note_file(dentry, IN_ATTRIB);
	return 0;
}

/* Sets the times of a path, or (NULL) of the descriptor's own file. */
static long times_at(int dirfd, const char *path, const struct new_time t[2], u32 flags)
{
	struct dentry *dentry;
	int error;

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!path) {
		struct file *file = fd_get(dirfd);

		if (!file)
			return -EBADF;
		error = file->flags & O_PATH ? -EBADF : change_times(file->dentry, t);
		file_put(file);
		return error;
	}
	error = lookup_user(dirfd, path, flags, &dentry);
	if (error)
		return error;
	error = change_times(dentry, t);
	dentry_put(dentry);
	return error;
}

static const struct new_time both_now[2] = { { .kind = TIME_IS_NOW }, { .kind = TIME_IS_NOW } };

long sys_utimensat_by(int dirfd, const char *path, const void *user, u32 flags, bool time64)
{
	struct timespec32 ts[2];
	struct timespec64 wide[2];
	struct new_time t[2];

	if (!user)
		return times_at(dirfd, path, both_now, flags);
	if (time64 ? copy_from_user(wide, user, sizeof(wide)) : copy_from_user(ts, user, sizeof(ts)))
		return -EFAULT;
	/* Use only the low word of the nanoseconds: a 32-bit program may leave rubbish above it. */
	for (u32 i = 0; i < 2; i++)
		if (time64 ? new_time(&t[i], wide[i].sec, (s32)wide[i].nsec) :
			     new_time(&t[i], ts[i].sec, ts[i].nsec))
			return -EINVAL;
	return times_at(dirfd, path, t, flags);
}

long sys_futimesat(int dirfd, const char *path, const struct timeval32 *user)
{
	struct timeval32 tv[2];
	struct new_time t[2];

	if (!user)
		return times_at(dirfd, path, both_now, 0);
	if (copy_from_user(tv, user, sizeof(tv)))
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
	if (copy_from_user(&u, user, sizeof(u)))
		return -EFAULT;
	new_time(&t[0], u.atime, 0);
	new_time(&t[1], u.mtime, 0);
	return times_at(AT_FDCWD, path, t, 0);
}

/* Checks RLIMIT_FSIZE before a file grows. */
static int limit_growth(const struct inode *inode, u64 size)
{
	u32 limit = rlimit(RLIMIT_FSIZE);

	if (limit == RLIM_INFINITY || size <= limit || size <= inode->size)
		return 0;
	signal_process(current->process, SIGXFSZ, NULL);
	return -EFBIG;
}

static int file_set_size(struct dentry *dentry, s64 size)
{
	struct inode *inode = dentry->inode;
	int error;

	if (size < 0)
		return -EINVAL;
	if (S_ISDIR(inode->mode))
		return -EISDIR;
	if (!S_ISREG(inode->mode) || !inode->ops || !inode->ops->truncate)
		return -EINVAL;
	error = limit_growth(inode, (u64)size);
	if (!error)
		error = inode->ops->truncate(inode, (u64)size);
	if (!error) {
		inode_drop_privileges(inode);
		inode_touch(inode, true);
		note_file(dentry, IN_MODIFY);
	}
	return error;
}

long sys_truncate64(const char *path, s64 size)
{
	struct dentry *dentry;
	int error = lookup_user(AT_FDCWD, path, 0, &dentry);

	if (error)
		return error;
	error = S_ISDIR(dentry->inode->mode) ? -EISDIR : inode_permission(dentry->inode, MAY_WRITE);
	if (!error)
		error = check_writable(dentry->inode);
	if (!error)
		error = inode_begin_write(dentry->inode);
	if (!error) {
		error = file_set_size(dentry, size);
		inode_end_write(dentry->inode);
	}
	dentry_put(dentry);
	return error;
}

long sys_ftruncate64(int fd, s64 size)
{
	struct file *file = fd_get(fd);
	int error;

	if (!file)
		return -EBADF;
	error = file->flags & O_PATH ? -EBADF : FILE_WRITES(file) ? file_set_size(file->dentry, size) : -EINVAL;
	file_put(file);
	return error;
}

/* The number of absent pages; counting ends when there are more than frames. */
static u32 absent_pages(const struct inode *inode, u32 page, u32 end)
{
	u32 count = 0;

	for_each_window(at, page, at < end && count <= frame_count)
		count += !page_find(&inode->pages, at);
	return count;
}

/* A list of frames, one for each absent page. */
static int collect_frames(const struct inode *inode, u32 page, u32 end, struct list_head *list)
{
	u32 count = 0, wanted;

	/* Other tasks run between two frames and may shorten the file. So count again. */
	while ((wanted = absent_pages(inode, page, end)) > count)
		for (; count < wanted; count++) {
			struct frame *frame = frames_short() ? NULL : frame_alloc_zeroed(FRAME_CACHE);

			if (!frame)
				return -ENOSPC;
			list_add(&frame->link, list);
			preemption_point();
			if (signal_fatal_pending())
				return -EINTR;
		}
	return 0;
}

/* Adds the absent pages: all or none. No other task runs between the allocation of the last frame and the end. */
static int fill_range(struct inode *inode, u32 first, u32 end)
{
	struct list_head list = LIST_HEAD_INIT(list);
	struct frame *frame;
	int error = collect_frames(inode, first, end, &list);

	if (!error && page_prepare(&inode->pages, first, end))
		error = -ENOSPC;
	for_each_window(page, first, page < end && !error) {
		if (page_find(&inode->pages, page))
			continue;
		frame = list_first_entry(&list, struct frame, link);
		list_del(&frame->link);
		error = inode_add_page(inode, page, frame);
		ASSERT(!error);
	}
	/* Free the frames that were not needed: all of them if the call fails. */
	list_until_empty_window(frame, &list, link) {
		list_del(&frame->link);
		frame_put(frame);
	}
	return error;
}

static long file_allocate(struct inode *inode, int mode, u64 from, u64 to)
{
	u64 end = mode & FALLOC_KEEP_SIZE ? MIN(to, inode->size) : to;
	/* Reserving space changes nothing that a reader sees, unless the file grows. */
	int error = mode & (FALLOC_PUNCH_HOLE | FALLOC_ZERO_RANGE) ? seals_check_write(inode, end) :
								     seals_check_size(inode, MAX(end, inode->size));

	if (!error && !(mode & FALLOC_KEEP_SIZE))
		error = limit_growth(inode, to);
	if (error)
		return error;
	inode_drop_privileges(inode);
	if (mode & (FALLOC_PUNCH_HOLE | FALLOC_ZERO_RANGE)) {
		inode_punch(inode, from, to);
	} else {
		error = fill_range(inode, (u32)(from >> PAGE_SHIFT), (u32)((to + PAGE_SIZE - 1) >> PAGE_SHIFT));
		if (error)
			return error;
	}
	if (!(mode & FALLOC_KEEP_SIZE) && to > inode->size)
		inode->size = to;
	inode_touch(inode, true);
	return 0;
}

static long allocate_alone(struct inode *inode, int mode, u64 from, u64 to)
{
	long result = mutex_lock_killable(&inode->writing);

	if (result)
		return result;
	result = file_allocate(inode, mode, from, to);
	mutex_unlock(&inode->writing);
	return result;
}

long inode_punch_alone(struct inode *inode, u64 from, u64 to)
{
	return allocate_alone(inode, FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE, from, to);
}

long sys_fallocate(int fd, int mode, s64 offset, s64 length)
{
	struct file *file = fd_get(fd);
	long result;

	if (!file)
		return -EBADF;
	if (offset < 0 || length <= 0)
		result = -EINVAL;
	else if (mode & ~(FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE | FALLOC_ZERO_RANGE) ||
		 (mode & FALLOC_PUNCH_HOLE && !(mode & FALLOC_KEEP_SIZE)))
		result = -EOPNOTSUPP;
	else if (!FILE_WRITES(file) || file->flags & O_PATH)
		result = -EBADF;
	else if (S_ISFIFO(file->inode->mode))
		result = -ESPIPE;
	else if (!S_ISREG(file->inode->mode) || file->ops != &ramfs_file_ops)
		result = -ENODEV;
	else if ((u64)offset + (u64)length > FILE_SIZE_MAX)
		result = -EFBIG;
	else
		result = allocate_alone(file->inode, mode, (u64)offset, (u64)offset + (u64)length);
	file_put(file);
	return result;
}
