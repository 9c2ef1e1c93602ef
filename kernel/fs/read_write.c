/* read, write and their relatives. */
#include "internal.h"

#include <err.h>
#include <file.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <proc.h>
#include <signal.h>
#include <syscall.h>
#include <uaccess.h>

#define TRANSFER_MAX 0x7ffff000u	/* bytes one call moves at most, as Linux's MAX_RW_COUNT */
#define VECTOR_INLINE 8

static long do_read(struct file *f, struct iter *it, u64 *position)
{
	if (!FILE_READS(f))
		return -EBADF;
	if (!f->ops->read)
		return -EINVAL;
	return f->ops->read(f, it, position);
}

static long do_write(struct file *f, struct iter *it, u64 *position)
{
	if (!FILE_WRITES(f))
		return -EBADF;
	if (!f->ops->write)
		return -EINVAL;
	return f->ops->write(f, it, position);
}

long sys_read(int fd, void *buffer, size_t count)
{
	struct file *f = fd_get(fd);
	struct iter it;
	long result;

	if (!f)
		return -EBADF;
	if (!user_range_ok(buffer, count)) {
		file_put(f);
		return -EFAULT;
	}
	iter_init(&it, buffer, MIN(count, (size_t)TRANSFER_MAX), false);
	result = do_read(f, &it, &f->position);
	file_put(f);
	return result;
}

long sys_write(int fd, const void *buffer, size_t count)
{
	struct file *f = fd_get(fd);
	struct iter it;
	long result;

	if (!f)
		return -EBADF;
	if (!user_range_ok(buffer, count)) {
		file_put(f);
		return -EFAULT;
	}
	iter_init(&it, (void *)(uintptr_t)buffer, MIN(count, (size_t)TRANSFER_MAX), false);
	result = do_write(f, &it, &f->position);
	file_put(f);
	return result;
}

/* The vector in kernel memory: `inline_` if it fits, else allocated. ERR_PTR on error. */
static struct iovec *vector_from_user(const struct iovec *user, size_t count, struct iovec *inline_)
{
	struct iovec *vector = inline_;

	if (count > IOV_MAX)
		return ERR_PTR(-EINVAL);
	if (count > VECTOR_INLINE) {
		vector = kmalloc(count * sizeof *vector);
		if (!vector)
			return ERR_PTR(-ENOMEM);
	}
	if (copy_from_user(vector, user, count * sizeof *vector)) {
		if (vector != inline_)
			kfree(vector);
		return ERR_PTR(-EFAULT);
	}
	return vector;
}

static long vectored(int fd, const struct iovec *user, size_t count, const u64 *at, bool write)
{
	struct file *f = fd_get(fd);
	struct iovec inline_[VECTOR_INLINE], *vector;
	struct iter it;
	u64 position = at ? *at : 0;
	long result;

	if (!f)
		return -EBADF;
	vector = vector_from_user(user, count, inline_);
	if (IS_ERR(vector)) {
		file_put(f);
		return PTR_ERR(vector);
	}
	result = iter_init_vector(&it, vector, count, false);
	if (!result && at && !f->ops->seek)
		result = -ESPIPE;
	if (!result) {
		it.left = MIN(it.left, (size_t)TRANSFER_MAX);
		result = (write ? do_write : do_read)(f, &it, at ? &position : &f->position);
	}
	if (vector != inline_)
		kfree(vector);
	file_put(f);
	return result;
}

long sys_readv(int fd, const struct iovec *vector, size_t count)
{
	return vectored(fd, vector, count, NULL, false);
}

long sys_writev(int fd, const struct iovec *vector, size_t count)
{
	return vectored(fd, vector, count, NULL, true);
}

static long at_position(int fd, void *buffer, size_t count, s64 position, bool write)
{
	struct file *f = fd_get(fd);
	struct iter it;
	u64 at = (u64)position;
	long result;

	if (!f)
		return -EBADF;
	if (position < 0)
		result = -EINVAL;
	else if (!f->ops->seek)
		result = -ESPIPE;
	else if (!user_range_ok(buffer, count))
		result = -EFAULT;
	else {
		iter_init(&it, buffer, MIN(count, (size_t)TRANSFER_MAX), false);
		result = (write ? do_write : do_read)(f, &it, &at);
	}
	file_put(f);
	return result;
}

long sys_pread64(int fd, void *buffer, size_t count, s64 position)
{
	return at_position(fd, buffer, count, position, false);
}

long sys_pwrite64(int fd, const void *buffer, size_t count, s64 position)
{
	return at_position(fd, (void *)(uintptr_t)buffer, count, position, true);
}

static long vectored_at(int fd, const struct iovec *vector, size_t count, u32 low, u32 high, bool write)
{
	u64 at = (u64)high << 32 | low;

	if ((s64)at < 0)
		return -EINVAL;
	return vectored(fd, vector, count, &at, write);
}

long sys_preadv(int fd, const struct iovec *vector, size_t count, u32 low, u32 high)
{
	return vectored_at(fd, vector, count, low, high, false);
}

long sys_pwritev(int fd, const struct iovec *vector, size_t count, u32 low, u32 high)
{
	return vectored_at(fd, vector, count, low, high, true);
}

static s64 seek(int fd, s64 offset, int whence)
{
	struct file *f = fd_get(fd);
	s64 result;

	if (!f)
		return -EBADF;
	result = f->ops->seek ? f->ops->seek(f, offset, whence) : -ESPIPE;
	file_put(f);
	return result;
}

long sys_lseek(int fd, s32 offset, int whence)
{
	s64 result = seek(fd, offset, whence);

	return result > 0x7fffffff ? -EOVERFLOW : (long)result;
}

long sys__llseek(int fd, u32 high, u32 low, s64 *out, int whence)
{
	s64 result = seek(fd, (s64)((u64)high << 32 | low), whence);

	if (result < 0)
		return (long)result;
	return put_user(result, out);
}

/*
 * Copies between files through one page of kernel memory. `from` is the input's
 * position; both advance by what was written.
 */
static long copy_through(struct file *in, u64 *from, struct file *out, u64 *to, size_t count)
{
	struct frame *frame;
	size_t done = 0;
	long result = 0;

	if (!FILE_READS(in) || !FILE_WRITES(out))
		return -EBADF;
	if (!in->ops->read || !out->ops->write)
		return -EINVAL;
	frame = frame_alloc(FRAME_KERNEL);
	if (!frame)
		return -ENOMEM;
	while (done < count && !result) {
		size_t want = MIN(count - done, (size_t)PAGE_SIZE), written = 0;
		struct iter it;
		u64 start = *from;
		long got;

		iter_init(&it, frame_kva(frame), want, true);
		got = in->ops->read(in, &it, from);
		if (got <= 0) {
			result = got;
			break;
		}
		while (written < (size_t)got) {
			iter_init(&it, (char *)frame_kva(frame) + written, (size_t)got - written, true);
			result = out->ops->write(out, &it, to);
			if (result <= 0)
				break;
			written += (size_t)result;
			result = 0;
		}
		done += written;
		*from = start + written;
		if (written < want || signal_pending())
			break;
	}
	frame_put(frame);
	return done ? (long)done : result;
}

static long send_between(int out, int in, u64 *offset, size_t count)
{
	struct file *to = fd_get(out), *from = fd_get(in);
	long result = -EBADF;

	if (to && from) {
		if (!from->ops->seek)
			result = offset ? -ESPIPE : -EINVAL;
		else if (to->flags & O_APPEND)
			result = -EINVAL;
		else
			result = copy_through(from, offset ? offset : &from->position, to, &to->position,
					      MIN(count, (size_t)TRANSFER_MAX));
	}
	file_put(from);
	file_put(to);
	return result;
}

long sys_sendfile(int out, int in, s32 *user_offset, size_t count)
{
	s32 offset;
	u64 at;
	long result;

	if (!user_offset)
		return send_between(out, in, NULL, count);
	if (get_user(offset, user_offset))
		return -EFAULT;
	if (offset < 0)
		return -EINVAL;
	at = (u64)offset;
	result = send_between(out, in, &at, count);
	if (result >= 0 && put_user((s32)at, user_offset))
		return -EFAULT;
	return result;
}

long sys_sendfile64(int out, int in, s64 *user_offset, size_t count)
{
	s64 offset;
	u64 at;
	long result;

	if (!user_offset)
		return send_between(out, in, NULL, count);
	if (get_user(offset, user_offset))
		return -EFAULT;
	if (offset < 0)
		return -EINVAL;
	at = (u64)offset;
	result = send_between(out, in, &at, count);
	if (result >= 0 && put_user((s64)at, user_offset))
		return -EFAULT;
	return result;
}

static int optional_offset(const s64 *user, u64 *at)
{
	s64 value;

	if (!user)
		return 0;
	if (get_user(value, user))
		return -EFAULT;
	if (value < 0)
		return -EINVAL;
	*at = (u64)value;
	return 0;
}

long sys_copy_file_range(int in, s64 *in_offset, int out, s64 *out_offset, size_t count, u32 flags)
{
	struct file *from = fd_get(in), *to = fd_get(out);
	u64 source = 0, target = 0;
	long result = 0;

	if (!from || !to)
		result = -EBADF;
	else if (flags)
		result = -EINVAL;
	else if (!S_ISREG(from->inode->mode) || !S_ISREG(to->inode->mode))
		result = S_ISDIR(from->inode->mode) || S_ISDIR(to->inode->mode) ? -EISDIR : -EINVAL;
	else if (to->flags & O_APPEND)
		result = -EBADF;
	else if ((result = optional_offset(in_offset, &source)) == 0)
		result = optional_offset(out_offset, &target);
	if (!result) {
		u64 *a = in_offset ? &source : &from->position, *b = out_offset ? &target : &to->position;

		count = MIN(count, (size_t)TRANSFER_MAX);
		if (from->inode == to->inode && *a < *b + count && *b < *a + count)
			result = -EINVAL;
		else
			result = copy_through(from, a, to, b, count);
	}
	if (result >= 0 && ((in_offset && put_user((s64)source, in_offset)) ||
			    (out_offset && put_user((s64)target, out_offset))))
		result = -EFAULT;
	file_put(from);
	file_put(to);
	return result;
}
