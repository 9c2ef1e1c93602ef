/* fcntl, ioctl, flock, and the calls that write data to a disk. */
#include <abi/fcntl.h>
#include <abi/ioctl.h>
#include <async.h>
#include <file.h>
#include <file_lock.h>
#include <syscall.h>
#include <uaccess.h>

#include "internal.h"

#define SETTABLE (O_APPEND | O_NONBLOCK | O_ASYNC | O_DIRECT | O_NOATIME)

static int lock_from_user(struct record_lock *lock, uaddr_t user, bool wide)
{
	if (wide) {
		struct flock64 l;

		if (copy_from_user(&l, (void *)user, sizeof(l)))
			return -EFAULT;
		*lock = (struct record_lock){ l.type, l.whence, l.start, l.length, l.pid };
	} else {
		struct flock32 l;

		if (copy_from_user(&l, (void *)user, sizeof(l)))
			return -EFAULT;
		*lock = (struct record_lock){ l.type, l.whence, l.start, l.length, l.pid };
	}
	return 0;
}

static int lock_to_user(const struct record_lock *lock, uaddr_t user, bool wide)
{
	if (wide) {
		struct flock64 l;

		/* Keep the program's bytes in the padding. */
		if (copy_from_user(&l, (void *)user, sizeof(l)))
			return -EFAULT;
		l.type = lock->type;
		l.whence = lock->whence;
		l.start = lock->start;
		l.length = lock->length;
		l.pid = lock->pid;
		return copy_to_user((void *)user, &l, sizeof(l));
	}
	struct flock32 l = { lock->type, lock->whence, (s32)lock->start, (s32)lock->length, lock->pid };

	if (lock->start > 0x7fffffff || lock->length > 0x7fffffff)
		return -EOVERFLOW;
	return copy_to_user((void *)user, &l, sizeof(l));
}

static long lock_command(int fd, struct file *file, int command, uaddr_t argument)
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
		result = lock_get(file, &r, ofd);
		return result ? result : lock_to_user(&r, argument, wide);
	case F_SETLK:
	case F_SETLK64:
	case F_OFD_SETLK:
		return lock_set(fd, file, &r, ofd, false);
	default:
		return lock_set(fd, file, &r, ofd, true);
	}
}

/* F_SETOWN: sets a process, or (negative) a process group, as the owner. */
static long set_owner(struct file *file, s32 id)
{
	struct async_owner owner = { .type = id < 0 ? ASYNC_GROUP : ASYNC_PROCESS, .id = id < 0 ? -id : id };

	return id == INT32_MIN ? -EINVAL : async_set_owner(file, &owner);
}

static long get_owner(const struct file *file)
{
	struct async_owner owner = async_owner(file);

	return owner.type == ASYNC_GROUP ? -owner.id : owner.id;
}

static long set_owner_ex(struct file *file, uaddr_t user)
{
	struct async_owner owner;

	if (copy_from_user(&owner, (void *)user, sizeof(owner)))
		return -EFAULT;
	if (owner.type < ASYNC_THREAD || owner.type > ASYNC_GROUP)
		return -EINVAL;
	return async_set_owner(file, &owner);
}

static long set_flags(struct file *file, int fd, u32 flags)
{
	int error = 0;

	if (!file->ops->signals)
		flags &= ~(u32)O_ASYNC;         /* ignored without an error, as on Linux */
	if (flags & O_NOATIME && !(file->flags & O_NOATIME) && !may_change(file->inode))
		return -EPERM;
	if ((file->flags ^ flags) & O_ASYNC)
		error = async_switch(file, fd, flags & O_ASYNC);
	if (error)
		return error;
	file->flags = (file->flags & ~(u32)SETTABLE) | (flags & SETTABLE);
	return 0;
}

/* F_GETFL reports O_LARGEFILE only if open had it, and little else of an O_PATH file. */
static long fcntl_control(int fd, struct file *file, int command, uaddr_t argument)
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
		return (long)file->flags;
	}
	if (file->flags & O_PATH)
		return -EBADF;
	switch (command) {
	case F_SETFL:
		return set_flags(file, fd, argument);
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_GETLK64:
	case F_SETLK64:
	case F_SETLKW64:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return lock_command(fd, file, command, argument);
	case F_SETOWN:
		return set_owner(file, (s32)argument);
	case F_GETOWN:
		return get_owner(file);
	case F_SETOWN_EX:
		return set_owner_ex(file, argument);
	case F_GETOWN_EX: {
		struct async_owner owner = async_owner(file);

		return copy_to_user((void *)argument, &owner, sizeof(owner));
	}
	case F_SETSIG:
		return async_set_signal(file, fd, argument);
	case F_GETSIG:
		return async_signal(file);
	case F_SETPIPE_SZ:
	case F_GETPIPE_SZ:
		return file->ops->fcntl ? file->ops->fcntl(file, command, argument) : -EBADF;
	case F_ADD_SEALS:
		return seals_add(file, argument);
	case F_GET_SEALS:
		return seals_get(file);
	}
	return -EINVAL;
}

long sys_fcntl64(int fd, int command, uaddr_t argument)
{
	struct file *file = fd_get(fd);
	long result;

	if (!file)
		return -EBADF;
	result = fcntl_control(fd, file, command, argument);
	file_put(file);
	return result;
}

long sys_fcntl(int fd, int command, uaddr_t argument)
{
	if (command >= F_GETLK64 && command <= F_SETLKW64)
		return -EINVAL;
	return sys_fcntl64(fd, command, argument);
}

static long bytes_to_read(struct file *file, uaddr_t argument)
{
	return put_user((s32)(file->inode->size - file->position), (s32 *)argument);
}

static long set_flag(struct file *file, int fd, u32 flag, uaddr_t argument)
{
	s32 on;

	if (get_user(on, (s32 *)argument))
		return -EFAULT;
	return set_flags(file, fd, on ? file->flags | flag : file->flags & ~flag);
}

static long generic_ioctl(int fd, struct file *file, u32 command, uaddr_t argument)
{
	if (file->flags & O_PATH)
		return -EBADF;
	switch (command) {
	case FIOCLEX:
	case FIONCLEX:
		fd_set_cloexec(fd, command == FIOCLEX);
		return 0;
	case FIONBIO:
		return set_flag(file, fd, O_NONBLOCK, argument);
	case FIOASYNC:
		return set_flag(file, fd, O_ASYNC, argument);
	case FIOSETOWN:
	case SIOCSPGRP: {
		s32 owner;

		if (!S_ISSOCK(file->inode->mode))
			break;
		return get_user(owner, (s32 *)argument) ? -EFAULT : set_owner(file, owner);
	}
	case FIOGETOWN:
	case SIOCGPGRP:
		if (!S_ISSOCK(file->inode->mode))
			break;
		return put_user((s32)get_owner(file), (s32 *)argument);
	case FIONREAD:
		if (S_ISREG(file->inode->mode))
			return bytes_to_read(file, argument);
		break;
	}
	return file->ops->ioctl ? file->ops->ioctl(file, command, argument) : -ENOTTY;
}

long sys_ioctl(int fd, u32 command, uaddr_t argument)
{
	struct file *file = fd_get(fd);
	long result;

	if (!file)
		return -EBADF;
	result = generic_ioctl(fd, file, command, argument);
	file_put(file);
	return result;
}

long sys_flock(int fd, int operation)
{
	struct file *file = fd_get(fd);
	long result;

	if (!file)
		return -EBADF;
	result = file->flags & O_PATH ? -EBADF : lock_flock(fd, file, operation);
	file_put(file);
	return result;
}

static long file_advise(int fd, int advice)
{
	struct file *file = fd_get(fd);
	long result = 0;

	if (!file)
		return -EBADF;
	if (file->flags & O_PATH)
		result = -EBADF;
	else if (S_ISFIFO(file->inode->mode))
		result = -ESPIPE;
	else if (advice < 0 || advice > 5)
		result = -EINVAL;
	file_put(file);
	return result;
}

long sys_fadvise64(int fd, s64 offset, size_t length, int advice)
{
	(void)offset;
	(void)length;
	return file_advise(fd, advice);
}

long sys_fadvise64_64(int fd, int advice, s64 offset, s64 length)
{
	(void)offset;
	return length < 0 ? -EINVAL : file_advise(fd, advice);
}

long sys_readahead(int fd, s64 offset, size_t count)
{
	struct file *file = fd_get(fd);
	long result = 0;

	(void)offset;
	(void)count;
	if (!file)
		return -EBADF;
	if (!FILE_READS(file) || file->flags & O_PATH)
		result = -EBADF;
	else if (!S_ISREG(file->inode->mode))
		result = -EINVAL;
	file_put(file);
	return result;
}
