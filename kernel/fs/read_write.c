/* read, write and their relatives. */
#include <abi/fs.h>
#include <file.h>
#include <inotify.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

static long do_read(struct file *file, struct iter *it, u64 *position)
{
	if (!FILE_READS(file))
		return -EBADF;
	if (!file->ops->read)
		return -EINVAL;
	return file->ops->read(file, it, position);
}

static long do_write(struct file *file, struct iter *it, u64 *position)
{
	if (!FILE_WRITES(file))
		return -EBADF;
	if (!file->ops->write)
		return -EINVAL;
	return file->ops->write(file, it, position);
}

/* Reads or writes at *position, or (NULL) at the file's own position. */
static inline __attribute__((always_inline)) long file_transfer(struct file *file, struct iter *it, u64 *position,
									bool write)
{
	/* Only one call at a time may move a regular file's own position (POSIX.1-2017, 2.9.7). */
	bool alone = !position && S_ISREG(file->inode->mode);
	long n = alone ? mutex_lock_killable(&file->positioning) : 0;

	if (n)
		return n;
	if (!position)
		position = &file->position;
	n = write ? do_write(file, it, position) : do_read(file, it, position);
	if (alone)
		mutex_unlock(&file->positioning);
	if (n > 0)
		note_file(file->dentry, write ? IN_MODIFY : IN_ACCESS);
	return n;
}

/* Reads or writes one buffer at *at, or (NULL) at the file's own position. */
static inline __attribute__((always_inline)) long transfer_buffer(int fd, void *buffer, size_t count, const s64 *at,
								    bool write)
{
	struct file *file = fd_get_from(current->files, fd);
	struct iter it;
	u64 position = at ? (u64)*at : 0;
	long result;

	if (!file)
		return -EBADF;
	if (at && *at < 0)
		result = -EINVAL;
	else if (at && !file->ops->seek)
		result = -ESPIPE;
	else if (!user_range_ok(buffer, count))
		result = -EFAULT;
	else {
		iter_init(&it, buffer, MIN(count, (size_t)TRANSFER_MAX), false);
		result = file_transfer(file, &it, at ? &position : NULL, write);
	}
	file_put(file);
	return result;
}

long sys_read(int fd, void *buffer, size_t count)
{
	return transfer_buffer(fd, buffer, count, NULL, false);
}

long sys_write(int fd, const void *buffer, size_t count)
{
	return transfer_buffer(fd, (void *)(uintptr_t)buffer, count, NULL, true);
}

long sys_pread64(int fd, void *buffer, size_t count, s64 position)
{
	return transfer_buffer(fd, buffer, count, &position, false);
}

long sys_pwrite64(int fd, const void *buffer, size_t count, s64 position)
{
	return transfer_buffer(fd, (void *)(uintptr_t)buffer, count, &position, true);
}

static long transfer_vector(int fd, const struct iovec *user, size_t count, const u64 *at, bool write)
{
	struct file *file = fd_get(fd);
	struct user_vector vector;
	struct iter it;
	u64 position = at ? *at : 0;
	long result;

	if (!file)
		return -EBADF;
	result = at && !file->ops->seek ? -ESPIPE : user_vector_load(&vector, user, count, &it);
	if (!result) {
		it.left = MIN(it.left, (size_t)TRANSFER_MAX);
		/* For zero bytes no file is asked, not even /dev/full. */
		if (!it.left)
			result = (write ? FILE_WRITES(file) : FILE_READS(file)) ? 0 : -EBADF;
		else
			result = file_transfer(file, &it, at ? &position : NULL, write);
		user_vector_free(&vector);
	}
	file_put(file);
	return result;
}

long sys_readv(int fd, const struct iovec *vector, size_t count)
{
	return transfer_vector(fd, vector, count, NULL, false);
}

long sys_writev(int fd, const struct iovec *vector, size_t count)
{
	return transfer_vector(fd, vector, count, NULL, true);
}

static long transfer_vector_at(int fd, const struct iovec *vector, size_t count, u32 low, u32 high, bool write)
{
	u64 at = (u64)high << 32 | low;

	if ((s64)at < 0)
		return -EINVAL;
	return transfer_vector(fd, vector, count, &at, write);
}

long sys_preadv(int fd, const struct iovec *vector, size_t count, u32 low, u32 high)
{
	return transfer_vector_at(fd, vector, count, low, high, false);
}

long sys_pwritev(int fd, const struct iovec *vector, size_t count, u32 low, u32 high)
{
	return transfer_vector_at(fd, vector, count, low, high, true);
}

/* These flags of preadv2 have no effect here: all data is in memory when a call ends. */
#define RWF_NOTHING_TO_DO (RWF_HIPRI | RWF_DSYNC | RWF_SYNC)

static long transfer_vector_with_flags(int fd, const struct iovec *vector, size_t count, u32 low, u32 high, u32 flags,
				bool write)
{
	if (flags & ~RWF_NOTHING_TO_DO)
		return -EOPNOTSUPP;
	if ((low & high) == ~0u)
		return transfer_vector(fd, vector, count, NULL, write);
	return transfer_vector_at(fd, vector, count, low, high, write);
}

long sys_preadv2(int fd, const struct iovec *vector, size_t count, u32 low, u32 high, u32 flags)
{
	return transfer_vector_with_flags(fd, vector, count, low, high, flags, false);
}

long sys_pwritev2(int fd, const struct iovec *vector, size_t count, u32 low, u32 high, u32 flags)
{
	return transfer_vector_with_flags(fd, vector, count, low, high, flags, true);
}

s64 seek_from(struct file *file, s64 offset, int whence, s64 end)
{
	if (whence == SEEK_CUR)
		offset += (s64)file->position;
	else if (whence == SEEK_END && end >= 0)
		offset += end;
	else if (whence != SEEK_SET)
		return -EINVAL;
	if (offset < 0)
		return -EINVAL;
	file->position = (u64)offset;
	return offset;
}

s64 seek_endless(struct file *file, s64 offset, int whence)
{
	return seek_from(file, offset, whence, -1);
}

static s64 file_seek(int fd, s64 offset, int whence)
{
	struct file *file = fd_get(fd);
	s64 result;
	bool alone;

	if (!file)
		return -EBADF;
	alone = S_ISREG(file->inode->mode);
	result = alone ? mutex_lock_killable(&file->positioning) : 0;
	if (!result) {
		result = file->ops->seek ? file->ops->seek(file, offset, whence) : -ESPIPE;
		if (alone)
			mutex_unlock(&file->positioning);
	}
	file_put(file);
	return result;
}

long sys_lseek(int fd, s32 offset, int whence)
{
	s64 result = file_seek(fd, offset, whence);

	return result > 0x7fffffff ? -EOVERFLOW : (long)result;
}

long sys__llseek(int fd, u32 high, u32 low, s64 *out, int whence)
{
	s64 result = file_seek(fd, (s64)((u64)high << 32 | low), whence);

	if (result < 0)
		return (long)result;
	return put_user(result, out);
}
