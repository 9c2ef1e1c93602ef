/* splice, tee and vmsplice: they move data into, out of and between pipes. */
#include <abi/fs.h>
#include <file.h>
#include <frame.h>
#include <lib.h>
#include <pipe.h>
#include <syscall.h>
#include <window.h>

#include "socket.h"

static bool splice_waits(const struct file *pipe, u32 flags)
{
	return !(flags & SPLICE_F_NONBLOCK || pipe->flags & O_NONBLOCK);
}

/* `more`: the output is a socket, and more data will come. */
static long splice_pages(struct file *pipe, struct frame *frame, struct file *out, u64 *to, size_t count, bool more)
{
	size_t done = 0;
	long n = 1;

	while (n > 0 && done < count) {
		struct iter it;

		iter_init(&it, frame_kva(frame), PAGE_SIZE, true);
		n = pipe_peek(pipe, &it, 0, MIN(count - done, (size_t)PAGE_SIZE));
		if (n <= 0)
			break;
		iter_init(&it, frame_kva(frame), (size_t)n, true);
		n = more ? socket_write_more(out, &it) : out->ops->write(out, &it, to);
		if (n <= 0)
			break;
		pipe_skip(pipe, (u32)n);
		done += (size_t)n;
		preemption_point();
	}
	return done ? (long)done : n;
}

/* From a pipe: bytes that the output accepts leave the pipe, the rest stays. */
static long splice_out(struct file *pipe, struct file *out, u64 *to, size_t count, u32 flags)
{
	struct frame *frame = frame_alloc(FRAME_KERNEL);
	long n = frame ? pipe_lock_data(pipe, splice_waits(pipe, flags)) : -ENOMEM;

	if (n > 0) {
		n = splice_pages(pipe, frame, out, to, count, flags & SPLICE_F_MORE && socket_of(out));
		pipe_unlock_data(pipe);
	}
	if (frame)
		frame_put(frame);
	return n;
}

/* Into a pipe: reads no more than there is room for. */
static long splice_in(struct file *file, u64 *from, struct file *pipe, size_t count, u32 flags)
{
	long room = pipe_wait_room(pipe, splice_waits(pipe, flags));

	return room < 0 ? room : file_copy_through(file, from, pipe, &pipe->position, MIN(count, (size_t)room));
}

/* Between pipes; removes the input's data or (tee) leaves it. */
static long splice_pipes(struct file *file, struct file *out, size_t count, u32 flags, bool take)
{
	struct frame *frame;
	size_t done = 0;
	bool locked;
	long room, n;
	u32 part;

	if (pipe_same(file, out))
		return -EINVAL;
	room = pipe_wait_data(file, splice_waits(file, flags));
	if (room > 0)
		room = pipe_wait_room(out, splice_waits(out, flags));
	if (room <= 0)
		return room;
	frame = frame_alloc(FRAME_KERNEL);
	if (!frame)
		return -ENOMEM;
	count = MIN(count, (size_t)room);
	n = pipe_lock_data(file, splice_waits(file, flags));
	locked = n > 0;
	while (locked && done < count) {
		struct iter it;

		iter_init(&it, frame_kva(frame), PAGE_SIZE, true);
		/* Other writers may have taken the room meanwhile: having moved some bytes, do not wait for more. */
		part = done ? MIN(pipe_room(out), PAGE_SIZE) : PAGE_SIZE;
		n = pipe_peek(file, &it, take ? 0 : done, MIN(count - done, (size_t)part));
		if (n <= 0)
			break;
		iter_init(&it, frame_kva(frame), (size_t)n, true);
		n = out->ops->write(out, &it, &out->position);
		if (n <= 0)
			break;
		if (take)
			pipe_skip(file, (u32)n);
		done += (size_t)n;
		preemption_point();
	}
	if (locked)
		pipe_unlock_data(file);
	frame_put(frame);
	return done ? (long)done : n;
}

static long splice_files(struct file *file, u64 *from, struct file *out, u64 *to, size_t count, u32 flags)
{
	bool from_pipe = file_is_pipe(file), to_pipe = file_is_pipe(out);

	if (!FILE_READS(file) || !FILE_WRITES(out))
		return -EBADF;
	if (!from_pipe && !to_pipe)
		return -EINVAL;
	if ((from && from_pipe) || (to && to_pipe))
		return -ESPIPE;
	if ((from && !file->ops->seek) || (to && !out->ops->seek))
		return -EINVAL;
	if (!file->ops->read || !out->ops->write || (!to_pipe && out->flags & O_APPEND))
		return -EINVAL;
	if (!count)
		return 0;
	if (from_pipe && to_pipe)
		return splice_pipes(file, out, count, flags, true);
	if (from_pipe)
		return splice_out(file, out, to ? to : &out->position, count, flags);
	return splice_in(file, from ? from : &file->position, out, count, flags);
}

long sys_splice(int in, s64 *in_offset, int out, s64 *out_offset, size_t count, u32 flags)
{
	struct file *from = fd_get(in), *to = fd_get(out);
	u64 source = 0, target = 0;
	long result = 0;

	if (flags & ~SPLICE_F_ALL)
		result = -EINVAL;
	else if (!from || !to)
		result = -EBADF;
	else if ((file_is_pipe(from) && in_offset) || (file_is_pipe(to) && out_offset))
		result = -ESPIPE;
	else if ((result = offset_from_user(in_offset, &source)) == 0)
		result = offset_from_user(out_offset, &target);
	if (!result)
		result = splice_files(from, in_offset ? &source : NULL, to, out_offset ? &target : NULL,
				      MIN(count, (size_t)TRANSFER_MAX), flags);
	if (result >= 0 && (!offset_to_user(in_offset, source) || !offset_to_user(out_offset, target)))
		result = -EFAULT;
	file_put(from);
	file_put(to);
	return result;
}

long sys_tee(int in, int out, size_t count, u32 flags)
{
	struct file *from = fd_get(in), *to = fd_get(out);
	long result;

	if (flags & ~SPLICE_F_ALL)
		result = -EINVAL;
	else if (!from || !to || !FILE_READS(from) || !FILE_WRITES(to))
		result = -EBADF;
	else if (!file_is_pipe(from) || !file_is_pipe(to))
		result = -EINVAL;
	else
		result = count ? splice_pipes(from, to, MIN(count, (size_t)TRANSFER_MAX), flags, false) : 0;
	file_put(from);
	file_put(to);
	return result;
}

/* Copies memory to a pipe, piece by piece as room comes, or once from a pipe to memory. */
static long splice_memory(struct file *pipe, struct iter *it, u32 flags)
{
	long done = 0, n;

	if (!FILE_WRITES(pipe)) {
		n = it->left ? pipe_wait_data(pipe, splice_waits(pipe, flags)) : 0;
		return n > 0 ? pipe->ops->read(pipe, it, &pipe->position) : n;
	}
	while (it->left) {
		n = pipe_wait_room(pipe, !done && splice_waits(pipe, flags));
		if (n > 0) {
			size_t part, later;
			const char *at = iter_place(it, &part);

			/* A page that cannot be read ends the call, but not the copy of the pages before it. */
			part = MIN(part, PAGE_SIZE - (uaddr_t)at % PAGE_SIZE);
			later = it->left - MIN(MIN(it->left, part), (size_t)n);
			it->left -= later;
			n = pipe->ops->write(pipe, it, &pipe->position);
			it->left += later;
		}
		if (n <= 0)
			return done ? done : n;
		done += n;
	}
	return done;
}

long sys_vmsplice(int fd, const struct iovec *user, size_t count, u32 flags)
{
	struct file *file = fd_get(fd);
	struct user_vector vector;
	struct iter it;
	long result;

	if (!file)
		return -EBADF;
	if (flags & ~SPLICE_F_ALL)
		result = -EINVAL;
	else if (!file_is_pipe(file))
		result = -EBADF;
	else {
		result = user_vector_load(&vector, user, count, &it);
		if (!result) {
			result = splice_memory(file, &it, flags);
			user_vector_free(&vector);
		}
	}
	file_put(file);
	return result;
}
