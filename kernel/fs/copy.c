/* Copying between files: sendfile and copy_file_range. */
#include <abi/fs.h>
#include <file.h>
#include <frame.h>
#include <inotify.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

long file_copy_through(struct file *file, u64 *from, struct file *out, u64 *to, size_t count)
{
	struct frame *frame;
	size_t done = 0;
	long result = 0;

	if (!FILE_READS(file) || !FILE_WRITES(out))
		return -EBADF;
	if (!file->ops->read || !out->ops->write)
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
		got = file->ops->read(file, &it, from);
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
		preemption_point();
		if (written < want || signal_pending())
			break;
	}
	frame_put(frame);
	if (done) {
		note_file(file->dentry, IN_ACCESS);
		note_file(out->dentry, IN_MODIFY);
	}
	return done ? (long)done : result;
}

static long send_between(int out, int in, u64 *offset, size_t count)
{
	struct file *file = fd_get(out), *from = fd_get(in);
	long result;

	if (!from || !FILE_READS(from))
		result = -EBADF;
	else if (offset && !from->ops->seek)
		result = -ESPIPE;
	else if (!file || !FILE_WRITES(file))
		result = -EBADF;
	else if (!from->ops->seek || file->flags & O_APPEND)
		result = -EINVAL;
	else
		result = file_copy_through(from, offset ? offset : &from->position, file, &file->position,
					   MIN(count, (size_t)TRANSFER_MAX));
	file_put(from);
	file_put(file);
	return result;
}

/* The offset is a loff_t, or an off_t (`wide` false). */
long sys_sendfile_by(int out, int in, void *user, size_t count, bool wide)
{
	s32 narrow;
	s64 offset;
	u64 at;
	long result;

	if (!user)
		return send_between(out, in, NULL, count);
	if (wide ? get_user(offset, (s64 *)user) : get_user(narrow, (s32 *)user))
		return -EFAULT;
	if (!wide)
		offset = narrow;
	if (offset < 0)
		return -EINVAL;
	at = (u64)offset;
	result = send_between(out, in, &at, count);
	if (result >= 0 && (wide ? put_user((s64)at, (s64 *)user) : put_user((s32)at, (s32 *)user)))
		return -EFAULT;
	return result;
}

int offset_from_user(const s64 *user, u64 *at)
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

bool offset_to_user(s64 *user, u64 at)
{
	return !user || put_user((s64)at, user) == 0;
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
	else if ((result = offset_from_user(in_offset, &source)) == 0)
		result = offset_from_user(out_offset, &target);
	if (!result) {
		u64 *a = in_offset ? &source : &from->position, *b = out_offset ? &target : &to->position;

		count = MIN(count, (size_t)TRANSFER_MAX);
		if (from->inode == to->inode && *a < *b + count && *b < *a + count)
			result = -EINVAL;
		else
			result = file_copy_through(from, a, to, b, count);
	}
	if (result >= 0 && (!offset_to_user(in_offset, source) || !offset_to_user(out_offset, target)))
		result = -EFAULT;
	file_put(from);
	file_put(to);
	return result;
}
