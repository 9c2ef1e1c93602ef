/* Pipes and FIFOs. */
#include <abi/ioctl.h>
#include <anon.h>
#include <err.h>
#include <filesystem.h>
#include <ipc.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#include "pipe_transfer.h"

#define PIPE_SIZE 65536u
#define PIPE_BUF 4096u  /* a write of at most this many bytes is never split */

static struct pipe *pipe_new(void)
{
	struct pipe *pipe = kzalloc(sizeof(*pipe));

	if (!pipe)
		return NULL;
	ring_init(&pipe->ring, PIPE_SIZE);
	pipe->ring.buffered = true;
	waitq_init(&pipe->readable);
	waitq_init(&pipe->writable);
	waitq_init(&pipe->opened);
	mutex_init(&pipe->reading, MUTEX_PIPE_READ);
	mutex_init(&pipe->writing, MUTEX_PIPE_WRITE);
	return pipe;
}

static void pipe_free(struct pipe *pipe)
{
	if (!pipe)
		return;
	ring_free(&pipe->ring);
	kfree(pipe);
}

/*
 * Waits for data: returns the bytes in the buffer or those that a writer copied to the sink, 0 at the end, or an
 * error.
 */
static inline __attribute__((always_inline)) long wait_data(struct pipe *pipe, bool wait,
								    const struct pipe_sink *sink)
{
	while (!ring_used(&pipe->ring)) {
		long result;

		if (!pipe->writers)
			return 0;
		if (!wait)
			return -EAGAIN;
		result = wait_event(&pipe->readable, sink->done || ring_used(&pipe->ring) || !pipe->writers);
		if (sink->done)
			return sink->done;
		if (result)
			return result;
	}
	return (long)ring_used(&pipe->ring);
}

long pipe_wait_data(struct file *file, bool wait)
{
	static const struct pipe_sink none;

	return wait_data(file->data, wait, &none);
}

/* *delivered: the bytes that a writer copied to the iterator's memory. */
NOINLINE static long wait_with_sink(struct pipe *pipe, struct iter *it, bool wait, long *delivered)
{
	struct pipe_sink sink = { .to = it, .mm = current->mm };
	long done;

	pipe->sink = &sink;
	pipe->sinks++;
	done = wait_data(pipe, wait, &sink);
	if (pipe->sink == &sink)
		pipe->sink = NULL;
	*delivered = sink.done;
	return done;
}

static long pipe_take(struct pipe *pipe, struct iter *it)
{
	long n = mutex_lock_killable(&pipe->reading);

	if (n)
		return n;
	n = ring_read(&pipe->ring, it, it->left);
	mutex_unlock(&pipe->reading);
	wake_up(&pipe->writable);
	return n;
}

static long pipe_read(struct file *file, struct iter *it, u64 *position)
{
	struct pipe *pipe = file->data;
	bool wait = !(file->flags & O_NONBLOCK);
	long done = (long)ring_used(&pipe->ring), delivered = 0;

	(void)position;
	if (!it->left)
		return 0;
	if (pipe_transfer->sinks && !it->kernel && !pipe->sink) {
		done = wait_with_sink(pipe, it, wait, &delivered);
		if (delivered)
			return delivered;
	} else if (!done) {
		done = pipe_wait_data(file, wait);
	}
	while (done > 0) {
		done = pipe_take(pipe, it);
		if (done)
			break;
		/* Another reader has taken all data meanwhile. */
		done = pipe_wait_data(file, wait);
	}
	return done;
}

static long pipe_broken(void)
{
	signal_task(current, SIGPIPE, NULL);
	return -EPIPE;
}

/* Writes to the buffer, if it has room for `least` bytes: returns the bytes written. */
static long pipe_put(struct pipe *pipe, struct iter *it, u32 least)
{
	long n = mutex_lock_killable(&pipe->writing);

	if (n)
		return n;
	if (ring_room(&pipe->ring) >= least)
		n = ring_write(&pipe->ring, it, it->left);
	mutex_unlock(&pipe->writing);
	return n;
}

static long pipe_write_long(struct pipe *pipe, struct iter *it)
{
	long n = mutex_lock_killable(&pipe->writing);

	if (n)
		return n;
	n = pipe_transfer->long_write(pipe, it);
	mutex_unlock(&pipe->writing);
	return n;
}

/* Writes what does not fit at once: a long message, or a short one without room. */
NOINLINE static long write_on(struct file *file, struct iter *it)
{
	struct pipe *pipe = file->data;
	bool wait = !(file->flags & O_NONBLOCK);
	bool by_transfer = wait && it->left > PIPE_BUF;
	u32 least = it->left <= PIPE_BUF ? (u32)it->left : 1;
	long done = 0, n;

	for (;;) {
		if (!pipe->readers)
			return done ? done : pipe_broken();
		/* An empty pipe means that the reader keeps up, even if it is not asleep yet. */
		if (by_transfer && ring_room(&pipe->ring) &&
		    (waitq_active(&pipe->readable) || !ring_used(&pipe->ring))) {
			n = pipe_write_long(pipe, it);
			if (n < 0)
				return done ? done : n;
			if (n > 0) {
				done += n;
				least = 1;
				if (!it->left || signal_pending())
					return done;
				continue;
			}
		}
		if (ring_room(&pipe->ring) >= least) {
			n = pipe_put(pipe, it, least);
			if (n < 0)
				return done ? done : n;
			if (n == 0)
				continue;       /* another writer took the room */
			wake_up(&pipe->readable);
			done += n;
			if (!it->left)
				return done;
			least = 1;
		}
		if (ring_room(&pipe->ring) >= least)
			continue;       /* the reader has made room; or the copy faulted, and does so again */
		if (!wait)
			return done ? done : -EAGAIN;
		n = wait_event(&pipe->writable, ring_room(&pipe->ring) >= least || !pipe->readers);
		if (n)
			return done ? done : n;
	}
}

static long pipe_write(struct file *file, struct iter *it, u64 *position)
{
	struct pipe *pipe = file->data;
	size_t n = it->left;
	long done;

	(void)position;
	if (!n)
		return 0;
	if (n > PIPE_BUF || !pipe->readers || ring_room(&pipe->ring) < n)
		return write_on(file, it);
	done = pipe_put(pipe, it, (u32)n);
	if (!done)
		return write_on(file, it);      /* another writer took the room */
	if (done > 0)
		wake_up(&pipe->readable);
	return done;
}

static unsigned pipe_poll(struct file *file, struct poll_table *table)
{
	struct pipe *pipe = file->data;
	unsigned ready = 0;

	if (FILE_READS(file)) {
		poll_wait(table, &pipe->readable);
		if (ring_used(&pipe->ring))
			ready |= POLLIN | POLLRDNORM;
		/* No hang-up for a reader that opened a FIFO without a writer, before the first one. */
		if (!pipe->writers && (u32)file->position != pipe->writer_opens)
			ready |= POLLHUP;
	}
	if (FILE_WRITES(file)) {
		poll_wait(table, &pipe->writable);
		if (ring_room(&pipe->ring) >= PIPE_BUF)
			ready |= POLLOUT | POLLWRNORM;
		if (!pipe->readers)
			ready |= POLLERR;
	}
	return ready;
}

static long pipe_ioctl(struct file *file, unsigned command, uintptr_t argument)
{
	struct pipe *pipe = file->data;

	if (command != FIONREAD)
		return -ENOTTY;
	return put_user((s32)ring_used(&pipe->ring), (s32 *)argument);
}

static void count_open(struct file *file, struct pipe *pipe)
{
	if (FILE_READS(file)) {
		pipe->readers++;
		pipe->reader_opens++;
	}
	if (FILE_WRITES(file)) {
		pipe->writers++;
		pipe->writer_opens++;
	}
}

static void count_close(struct file *file, struct pipe *pipe)
{
	if (FILE_READS(file) && --pipe->readers == 0)
		wake_up(&pipe->writable);
	if (FILE_WRITES(file) && --pipe->writers == 0)
		wake_up(&pipe->readable);
}

static void pipe_release(struct file *file)
{
	struct pipe *pipe = file->data;

	count_close(file, pipe);
	if (!pipe->readers && !pipe->writers) {
		file->inode->data = NULL;
		pipe_free(pipe);
	}
}

/* The pipe's memory, divided among its open ends. */
static u32 pipe_pages_held(const struct file *file)
{
	const struct pipe *pipe = file->data;

	return ring_pages(&pipe->ring) / MAX(pipe->readers + pipe->writers, 1u);
}

/* F_GETPIPE_SZ and F_SETPIPE_SZ. */
static long pipe_fcntl(struct file *file, u32 command, u32 bytes)
{
	struct pipe *pipe = file->data;
	long result = (long)pipe->ring.size;

	if (command == F_SETPIPE_SZ) {
		result = ring_resize(&pipe->ring, bytes);
		if (result > 0)
			wake_up(&pipe->writable);
	}
	return result;
}

static const struct file_ops pipe_ops = {
	.read = pipe_read, .write = pipe_write, .poll = pipe_poll, .ioctl = pipe_ioctl, .release = pipe_release,
	.pages_held = pipe_pages_held, .fcntl = pipe_fcntl, .signals = true,
};

static int wait_for_other_side(struct file *file, struct pipe *pipe)
{
	u32 *count = FILE_READS(file) ? &pipe->writer_opens : &pipe->reader_opens;
	u32 *there = FILE_READS(file) ? &pipe->writers : &pipe->readers;
	u32 before = *count;

	return *there ? 0 : (int)wait_event(&pipe->opened, *count != before);
}

/* Opens a FIFO, or a pipe again by /proc/self/fd: then it waits for nobody. */
static int fifo_open(struct file *file)
{
	struct pipe *pipe = file->inode->data;
	bool named = file->inode->fs != NULL, nonblock = file->flags & O_NONBLOCK;
	int result = 0;

	if (!pipe) {
		pipe = pipe_new();
		if (!pipe)
			return -ENOMEM;
		file->inode->data = pipe;
	}
	file->data = pipe;
	if (named && nonblock && !FILE_READS(file) && !pipe->readers) {
		result = -ENXIO;
	} else {
		file->position = named && nonblock && !pipe->writers ? pipe->writer_opens : ~0ull;
		count_open(file, pipe);
		wake_up(&pipe->opened);
		if (named && !nonblock && !(FILE_READS(file) && FILE_WRITES(file)))
			result = wait_for_other_side(file, pipe);
		if (result)
			count_close(file, pipe);
	}
	if (result && !pipe->readers && !pipe->writers) {
		file->inode->data = NULL;
		pipe_free(pipe);
	}
	return result;
}

static const struct file_ops fifo_ops = {
	.open = fifo_open, .read = pipe_read, .write = pipe_write, .poll = pipe_poll, .ioctl = pipe_ioctl,
	.release = pipe_release, .pages_held = pipe_pages_held, .fcntl = pipe_fcntl, .signals = true,
};

static const struct file_ops *fifo_kind_ops(u32 mode, u32 rdev)
{
	(void)mode;
	(void)rdev;
	return &fifo_ops;
}

static void fifo_inode_gone(struct inode *inode)
{
	pipe_free(inode->data);
}

void pipe_init(void)
{
	static const struct special_kind fifo_kind = { .ops = fifo_kind_ops, .gone = fifo_inode_gone };

	special_kinds[S_IFIFO / S_IFIFO] = &fifo_kind;
}

/* One end of a new pipe. */
static struct file *pipe_end(struct inode *inode, struct pipe *pipe, u32 flags)
{
	struct file *file = file_on_inode(inode, "pipe", flags, &pipe_ops, pipe);

	if (!IS_ERR(file)) {
		file->position = ~0ull;
		count_open(file, pipe);
	}
	return file;
}

static int pipe_files(u32 flags, struct file *end[2])
{
	struct inode *inode = inode_nameless(S_IFIFO | 0600);
	struct pipe *pipe = inode ? pipe_new() : NULL;
	int error = 0;

	if (!pipe) {
		inode_put(inode);
		return -ENOMEM;
	}
	inode->fops = &fifo_ops;        /* so that opening /proc/self/fd/n opens the pipe again */
	inode->data = pipe;
	end[0] = pipe_end(inode, pipe, O_RDONLY | flags);
	if (IS_ERR(end[0])) {
		inode->data = NULL;
		pipe_free(pipe);
		error = -ENFILE;
	} else {
		end[1] = pipe_end(inode, pipe, O_WRONLY | flags);
		if (IS_ERR(end[1])) {
			file_put(end[0]);
			error = -ENFILE;
		}
	}
	inode_put(inode);
	return error;
}

long sys_pipe2(s32 *user, u32 flags)
{
	struct file *end[2];
	int error;

	if (flags & ~(u32)(O_CLOEXEC | O_NONBLOCK | O_DIRECT))
		return -EINVAL;
	if (flags & O_DIRECT)
		return -EINVAL;         /* packet mode is not supported */
	error = pipe_files(flags & O_NONBLOCK, end);
	return error ? error : fd_add_pair(end[0], end[1], flags & O_CLOEXEC, user);
}

static struct pipe *pipe_of(const struct file *file)
{
	return file->ops == &pipe_ops || file->ops == &fifo_ops ? file->data : NULL;
}

bool file_is_pipe(const struct file *file)
{
	return pipe_of(file) != NULL;
}

bool pipe_same(const struct file *a, const struct file *b)
{
	return a->data == b->data;
}

u32 pipe_room(const struct file *file)
{
	const struct pipe *pipe = file->data;

	return ring_room(&pipe->ring);
}

long pipe_wait_room(struct file *file, bool wait)
{
	struct pipe *pipe = file->data;

	for (;;) {
		long result;

		if (!pipe->readers)
			return pipe_broken();
		if (ring_room(&pipe->ring))
			return (long)ring_room(&pipe->ring);
		if (!wait)
			return -EAGAIN;
		result = wait_event(&pipe->writable, ring_room(&pipe->ring) || !pipe->readers);
		if (result)
			return result;
	}
}

long pipe_lock_data(struct file *file, bool wait)
{
	struct pipe *pipe = file->data;

	for (;;) {
		long n = pipe_wait_data(file, wait);

		if (n <= 0)
			return n;
		n = mutex_lock_killable(&pipe->reading);
		if (n)
			return n;
		if (ring_used(&pipe->ring))
			return (long)ring_used(&pipe->ring);
		mutex_unlock(&pipe->reading);   /* other readers have taken all data meanwhile */
	}
}

void pipe_unlock_data(struct file *file)
{
	struct pipe *pipe = file->data;

	mutex_unlock(&pipe->reading);
}

long pipe_peek(struct file *file, struct iter *it, u32 skip, size_t n)
{
	struct pipe *pipe = file->data;

	return skip < ring_used(&pipe->ring) ? ring_peek(&pipe->ring, it, skip, n) : 0;
}

void pipe_skip(struct file *file, u32 n)
{
	struct pipe *pipe = file->data;

	ring_skip(&pipe->ring, MIN(n, ring_used(&pipe->ring)));
	wake_up(&pipe->writable);
}
