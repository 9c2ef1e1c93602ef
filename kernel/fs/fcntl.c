/* fcntl, ioctl, flock, and the calls that ask for data to reach a disk. */
#include "internal.h"

#include <abi/fcntl.h>
#include <abi/ioctl.h>
#include <async.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <file_lock.h>
#include <pipe.h>
#include <syscall.h>
#include <uaccess.h>

#define SETTABLE (O_APPEND | O_NONBLOCK | O_ASYNC | O_DIRECT | O_NOATIME)

static int lock_from_user(struct record_lock *r, uaddr_t user, bool wide)
{
	if (wide) {
		struct flock64 l;

		if (copy_from_user(&l, (void *)user, sizeof l))
			return -EFAULT;
		*r = (struct record_lock){ l.type, l.whence, l.start, l.length, l.pid };
	} else {
		struct flock32 l;

		if (copy_from_user(&l, (void *)user, sizeof l))
			return -EFAULT;
		*r = (struct record_lock){ l.type, l.whence, l.start, l.length, l.pid };
	}
	return 0;
}

static int lock_to_user(const struct record_lock *r, uaddr_t user, bool wide)
{
	if (wide) {
		struct flock64 l;

		/* The padding holds what the program had there. */
		if (copy_from_user(&l, (void *)user, sizeof l))
			return -EFAULT;
		l.type = r->type;
		l.whence = r->whence;
		l.start = r->start;
		l.length = r->length;
		l.pid = r->pid;
		return copy_to_user((void *)user, &l, sizeof l);
	}
	struct flock32 l = { r->type, r->whence, (s32)r->start, (s32)r->length, r->pid };

	if (r->start > 0x7fffffff || r->length > 0x7fffffff)
		return -EOVERFLOW;
	return copy_to_user((void *)user, &l, sizeof l);
}

static long lock_command(struct file *f, int command, uaddr_t argument)
{
	bool wide = command >= F_GETLK64, ofd = command >= F_OFD_GETLK;
	struct record_lock r;
	long result = lock_from_user(&r, argument, wide);

	if (result)
		return result;
	switch (command) {
	case F_GETLK:
	case F_GETLK64:
	case F_OFD_GETLK:
		result = lock_get(f, &r, ofd);
		return result ? result : lock_to_user(&r, argument, wide);
	case F_SETLK:
	case F_SETLK64:
	case F_OFD_SETLK:
		return lock_set(f, &r, ofd, false);
	default:
		return lock_set(f, &r, ofd, true);
	}
}

/* F_SETOWN's and F_GETOWN's form: a process, or minus a process group. */
static long set_owner(struct file *f, s32 id)
{
	struct async_owner owner = { .type = id < 0 ? ASYNC_GROUP : ASYNC_PROCESS, .id = id < 0 ? -id : id };

	return id == INT32_MIN ? -EINVAL : async_set_owner(f, &owner);
}

static long get_owner(const struct file *f)
{
	struct async_owner owner = async_owner(f);

	return owner.type == ASYNC_GROUP ? -owner.id : owner.id;
}

static long set_owner_ex(struct file *f, uaddr_t user)
{
	struct async_owner owner;

	if (copy_from_user(&owner, (void *)user, sizeof owner))
		return -EFAULT;
	if (owner.type < ASYNC_THREAD || owner.type > ASYNC_GROUP)
		return -EINVAL;
	return async_set_owner(f, &owner);
}

static long set_flags(struct file *f, int fd, u32 flags)
{
	int error = 0;

	if (!f->ops->signals)
		flags &= ~(u32)O_ASYNC;		/* without a word, as on Linux */
	if (flags & O_NOATIME && !(f->flags & O_NOATIME) && !may_change(f->inode))
		return -EPERM;
	if ((f->flags ^ flags) & O_ASYNC)
		error = async_switch(f, fd, flags & O_ASYNC);
	if (error)
		return error;
	f->flags = (f->flags & ~(u32)SETTABLE) | (flags & SETTABLE);
	return 0;
}

/* F_GETFL tells of O_LARGEFILE only what open was given, and O_PATH files have little else. */
static long control(int fd, struct file *f, int command, uaddr_t argument)
{
	switch (command) {
	case F_DUPFD:
		return fd_dup_from(fd, argument, false);
	case F_DUPFD_CLOEXEC:
		return fd_dup_from(fd, argument, true);
	case F_GETFD:
		return fd_cloexec(fd);
	case F_SETFD:
		fd_set_cloexec(fd, argument & FD_CLOEXEC);
		return 0;
	case F_GETFL:
		return (long)f->flags;
	}
	if (f->flags & O_PATH)
		return -EBADF;
	switch (command) {
	case F_SETFL:
		return set_flags(f, fd, argument);
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_GETLK64:
	case F_SETLK64:
	case F_SETLKW64:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return lock_command(f, command, argument);
	case F_SETOWN:
		return set_owner(f, (s32)argument);
	case F_GETOWN:
		return get_owner(f);
	case F_SETOWN_EX:
		return set_owner_ex(f, argument);
	case F_GETOWN_EX: {
		struct async_owner owner = async_owner(f);

		return copy_to_user((void *)argument, &owner, sizeof owner);
	}
	case F_SETSIG:
		return async_set_signal(f, fd, argument);
	case F_GETSIG:
		return async_signal(f);
	case F_SETPIPE_SZ:
		return pipe_set_size(f, argument);
	case F_GETPIPE_SZ:
		return pipe_size(f);
	case F_ADD_SEALS:
		return seals_add(f, argument);
	case F_GET_SEALS:
		return seals_get(f);
	}
	return -EINVAL;
}

long sys_fcntl64(int fd, int command, uaddr_t argument)
{
	struct file *f = fd_get(fd);
	long result;

	if (!f)
		return -EBADF;
	result = control(fd, f, command, argument);
	file_put(f);
	return result;
}

long sys_fcntl(int fd, int command, uaddr_t argument)
{
	if (command >= F_GETLK64 && command <= F_SETLKW64)
		return -EINVAL;
	return sys_fcntl64(fd, command, argument);
}

static long bytes_to_read(struct file *f, uaddr_t argument)
{
	u64 left = f->inode->size > f->position ? f->inode->size - f->position : 0;

	return put_user((s32)left, (s32 *)argument);
}

static long set_flag(struct file *f, int fd, u32 flag, uaddr_t argument)
{
	s32 on;

	if (get_user(on, (s32 *)argument))
		return -EFAULT;
	return set_flags(f, fd, on ? f->flags | flag : f->flags & ~flag);
}

static long generic_ioctl(int fd, struct file *f, u32 command, uaddr_t argument)
{
	if (f->flags & O_PATH)
		return -EBADF;
	switch (command) {
	case FIOCLEX:
	case FIONCLEX:
		fd_set_cloexec(fd, command == FIOCLEX);
		return 0;
	case FIONBIO:
		return set_flag(f, fd, O_NONBLOCK, argument);
	case FIOASYNC:
		return set_flag(f, fd, O_ASYNC, argument);
	case FIOSETOWN:
	case SIOCSPGRP: {
		s32 owner;

		if (!S_ISSOCK(f->inode->mode))
			break;
		return get_user(owner, (s32 *)argument) ? -EFAULT : set_owner(f, owner);
	}
	case FIOGETOWN:
	case SIOCGPGRP:
		if (!S_ISSOCK(f->inode->mode))
			break;
		return put_user((s32)get_owner(f), (s32 *)argument);
	case FIONREAD:
		if (S_ISREG(f->inode->mode))
			return bytes_to_read(f, argument);
		break;
	}
	return f->ops->ioctl ? f->ops->ioctl(f, command, argument) : -ENOTTY;
}

long sys_ioctl(int fd, u32 command, uaddr_t argument)
{
	struct file *f = fd_get(fd);
	long result;

	if (!f)
		return -EBADF;
	result = generic_ioctl(fd, f, command, argument);
	file_put(f);
	return result;
}

long sys_flock(int fd, int operation)
{
	struct file *f = fd_get(fd);
	long result;

	if (!f)
		return -EBADF;
	result = f->flags & O_PATH ? -EBADF : lock_flock(f, operation);
	file_put(f);
	return result;
}

/* There is no disk: what was written has arrived. */
static long check_syncable(int fd, bool any)
{
	struct file *f = fd_get(fd);
	long result = 0;

	if (!f)
		return -EBADF;
	if (f->flags & O_PATH)
		result = -EBADF;
	else if (!any && !S_ISREG(f->inode->mode) && !S_ISDIR(f->inode->mode) && !S_ISBLK(f->inode->mode))
		result = -EINVAL;
	file_put(f);
	return result;
}

long sys_fsync(int fd)
{
	return check_syncable(fd, false);
}

long sys_fdatasync(int fd)
{
	return check_syncable(fd, false);
}

long sys_sync(void)
{
	return 0;
}

long sys_syncfs(int fd)
{
	return check_syncable(fd, true);
}

long sys_sync_file_range2(int fd, u32 flags, s64 offset, s64 length)
{
	if (flags & ~7u || offset < 0 || length < 0)
		return -EINVAL;
	return check_syncable(fd, false);
}

static long advise(int fd, int advice)
{
	struct file *f = fd_get(fd);
	long result = 0;

	if (!f)
		return -EBADF;
	if (f->flags & O_PATH)
		result = -EBADF;
	else if (S_ISFIFO(f->inode->mode))
		result = -ESPIPE;
	else if (advice < 0 || advice > 5)
		result = -EINVAL;
	file_put(f);
	return result;
}

long sys_fadvise64(int fd, s64 offset, size_t length, int advice)
{
	(void)offset;
	(void)length;
	return advise(fd, advice);
}

long sys_fadvise64_64(int fd, int advice, s64 offset, s64 length)
{
	(void)offset;
	return length < 0 ? -EINVAL : advise(fd, advice);
}

long sys_readahead(int fd, s64 offset, size_t count)
{
	struct file *f = fd_get(fd);
	long result = 0;

	(void)offset;
	(void)count;
	if (!f)
		return -EBADF;
	if (!FILE_READS(f) || f->flags & O_PATH)
		result = -EBADF;
	else if (!S_ISREG(f->inode->mode))
		result = -EINVAL;
	file_put(f);
	return result;
}
