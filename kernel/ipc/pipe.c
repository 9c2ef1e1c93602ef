/* Pipes and FIFOs. */
#include "pipe_transfer.h"

#include <abi/ioctl.h>
#include <anon.h>
#include <err.h>
#include <ipc.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#define PIPE_SIZE 65536u
#define PIPE_BUF 4096u	/* a write of at most this many bytes is never split */

static struct pipe *pipe_new(void)
{
	struct pipe *p = kzalloc(sizeof *p);

	if (!p)
		return NULL;
	ring_init(&p->ring, PIPE_SIZE);
	waitq_init(&p->readable);
	waitq_init(&p->writable);
	waitq_init(&p->opened);
	mutex_init(&p->reading);
	mutex_init(&p->writing);
	return p;
}

static void pipe_free(struct pipe *p)
{
	if (!p)
		return;
	ring_free(&p->ring);
	kfree(p);
}

/* Bytes in the buffer, those that a writer has put into the sink meanwhile, 0 at the end, or an error. */
static long wait_data(struct pipe *p, bool wait, const struct pipe_sink *sink)
{
	while (!ring_used(&p->ring)) {
		long result;

		if (!p->writers)
			return 0;
		if (!wait)
			return -EAGAIN;
		result = wait_event(&p->readable, sink->done || ring_used(&p->ring) || !p->writers);
		if (sink->done)
			return sink->done;
		if (result)
			return result;
	}
	return (long)ring_used(&p->ring);
}

long pipe_wait_data(struct file *f, bool wait)
{
	static const struct pipe_sink none;

	return wait_data(f->data, wait, &none);
}

static long take(struct pipe *p, struct iter *it)
{
	long n = mutex_lock_killable(&p->reading);

	if (n)
		return n;
	n = ring_read(&p->ring, it, it->left);
	mutex_unlock(&p->reading);
	wake_up(&p->writable);
	return n;
}

static long pipe_read(struct file *f, struct iter *it, u64 *position)
{
	struct pipe_sink sink = { .to = it, .mm = current->mm };
	struct pipe *p = f->data;
	long done;

	(void)position;
	if (!it->left)
		return 0;
	if (pipe_transfer->sinks && !it->kernel && !p->sink) {
		p->sink = &sink;
		p->sinks++;
	}
	done = wait_data(p, !(f->flags & O_NONBLOCK), &sink);
	if (p->sink == &sink)
		p->sink = NULL;
	if (sink.done)
		return sink.done;
	while (done > 0) {
		done = take(p, it);
		if (done)
			break;
		/* Others have read all of it meanwhile. */
		done = pipe_wait_data(f, !(f->flags & O_NONBLOCK));
	}
	return done;
}

static long broken(void)
{
	signal_task(current, SIGPIPE, NULL);
	return -EPIPE;
}

/* Into the buffer, if there is room for that much: bytes written. */
static long put(struct pipe *p, struct iter *it, u32 least)
{
	long n = mutex_lock_killable(&p->writing);

	if (n)
		return n;
	if (ring_room(&p->ring) >= least)
		n = ring_write(&p->ring, it, it->left);
	mutex_unlock(&p->writing);
	return n;
}

static long transfer(struct pipe *p, struct iter *it)
{
	long n = mutex_lock_killable(&p->writing);

	if (n)
		return n;
	n = pipe_transfer->long_write(p, it);
	mutex_unlock(&p->writing);
	return n;
}

static long pipe_write(struct file *f, struct iter *it, u64 *position)
{
	struct pipe *p = f->data;
	bool wait = !(f->flags & O_NONBLOCK);
	bool by_transfer = wait && it->left > PIPE_BUF;
	u32 least = it->left <= PIPE_BUF ? (u32)it->left : 1;
	long done = 0, n;

	(void)position;
	if (!it->left)
		return 0;
	for (;;) {
		if (!p->readers)
			return done ? done : broken();
		/* A reader that has emptied the pipe keeps up, be it that it runs and does not wait yet. */
		if (by_transfer && ring_room(&p->ring) && (waitq_active(&p->readable) || !ring_used(&p->ring))) {
			n = transfer(p, it);
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
		if (ring_room(&p->ring) >= least) {
			n = put(p, it, least);
			if (n < 0)
				return done ? done : n;
			if (n == 0)
				continue;	/* another has taken the room meanwhile */
			wake_up(&p->readable);
			done += n;
			if (!it->left)
				return done;
			least = 1;
		}
		if (ring_room(&p->ring) >= least)
			return done;	/* a fault stopped the copy */
		if (!wait)
			return done ? done : -EAGAIN;
		n = wait_event(&p->writable, ring_room(&p->ring) >= least || !p->readers);
		if (n)
			return done ? done : n;
	}
}

static unsigned pipe_poll(struct file *f, struct poll_table *table)
{
	struct pipe *p = f->data;
	unsigned ready = 0;

	if (FILE_READS(f)) {
		poll_wait(table, &p->readable);
		if (ring_used(&p->ring))
			ready |= POLLIN | POLLRDNORM;
		/* A FIFO's reader that has never had a writer since it opened has lost none. */
		if (!p->writers && (u32)f->position != p->writer_opens)
			ready |= POLLHUP;
	}
	if (FILE_WRITES(f)) {
		poll_wait(table, &p->writable);
		if (ring_room(&p->ring) >= PIPE_BUF)
			ready |= POLLOUT | POLLWRNORM;
		if (!p->readers)
			ready |= POLLERR;
	}
	return ready;
}

static long pipe_ioctl(struct file *f, unsigned command, uintptr_t argument)
{
	struct pipe *p = f->data;

	if (command != FIONREAD)
		return -ENOTTY;
	return put_user((s32)ring_used(&p->ring), (s32 *)argument);
}

static void count_open(struct file *f, struct pipe *p)
{
	if (FILE_READS(f)) {
		p->readers++;
		p->reader_opens++;
	}
	if (FILE_WRITES(f)) {
		p->writers++;
		p->writer_opens++;
	}
}

static void count_close(struct file *f, struct pipe *p)
{
	if (FILE_READS(f) && --p->readers == 0)
		wake_up(&p->writable);
	if (FILE_WRITES(f) && --p->writers == 0)
		wake_up(&p->readable);
}

static void pipe_release(struct file *f)
{
	struct pipe *p = f->data;

	count_close(f, p);
	if (!p->readers && !p->writers) {
		f->inode->data = NULL;
		pipe_free(p);
	}
}

/* Each open end's share. */
static u32 pipe_pages_held(const struct file *f)
{
	const struct pipe *p = f->data;

	return ring_pages(&p->ring) / MAX(p->readers + p->writers, 1u);
}

static const struct file_ops pipe_ops = {
	.read = pipe_read, .write = pipe_write, .poll = pipe_poll, .ioctl = pipe_ioctl, .release = pipe_release,
	.pages_held = pipe_pages_held, .signals = true,
};

static int wait_for_other_side(struct file *f, struct pipe *p)
{
	u32 *count = FILE_READS(f) ? &p->writer_opens : &p->reader_opens;
	u32 *there = FILE_READS(f) ? &p->writers : &p->readers;
	u32 before = *count;

	return *there ? 0 : (int)wait_event(&p->opened, *count != before);
}

static int fifo_open(struct file *f)
{
	struct pipe *p = f->inode->data;
	int result = 0;

	if (!p) {
		p = pipe_new();
		if (!p)
			return -ENOMEM;
		f->inode->data = p;
	}
	f->data = p;
	if (!FILE_READS(f) && f->flags & O_NONBLOCK && !p->readers) {
		result = -ENXIO;
	} else {
		f->position = p->writer_opens;
		count_open(f, p);
		wake_up(&p->opened);
		if (!(f->flags & O_NONBLOCK) && !(FILE_READS(f) && FILE_WRITES(f)))
			result = wait_for_other_side(f, p);
		if (!result && !(f->flags & O_NONBLOCK))
			f->position = ~0ull;
		if (result)
			count_close(f, p);
	}
	if (result && !p->readers && !p->writers) {
		f->inode->data = NULL;
		pipe_free(p);
	}
	return result;
}

const struct file_ops fifo_ops = {
	.open = fifo_open, .read = pipe_read, .write = pipe_write, .poll = pipe_poll, .ioctl = pipe_ioctl,
	.release = pipe_release, .pages_held = pipe_pages_held, .signals = true,
};

void fifo_inode_gone(struct inode *i)
{
	pipe_free(i->data);
}

/* One end of a new pipe. */
static struct file *pipe_end(struct inode *i, struct pipe *p, u32 flags)
{
	struct file *f = file_on_inode(i, "pipe", flags, &pipe_ops, p);

	if (!IS_ERR(f)) {
		f->position = ~0ull;
		count_open(f, p);
	}
	return f;
}

static int pipe_files(u32 flags, struct file *end[2])
{
	struct inode *i = inode_nameless(S_IFIFO | 0600);
	struct pipe *p = i ? pipe_new() : NULL;
	int error = 0;

	if (!p) {
		inode_put(i);
		return -ENOMEM;
	}
	i->fops = &fifo_ops;	/* /proc/self/fd/n opens it anew */
	i->data = p;
	end[0] = pipe_end(i, p, O_RDONLY | flags);
	if (IS_ERR(end[0])) {
		pipe_free(p);
		error = -ENFILE;
	} else {
		end[1] = pipe_end(i, p, O_WRONLY | flags);
		if (IS_ERR(end[1])) {
			file_put(end[0]);
			error = -ENFILE;
		}
	}
	inode_put(i);
	return error;
}

long sys_pipe2(s32 *user, u32 flags)
{
	struct file *end[2];
	int error;

	if (flags & ~(u32)(O_CLOEXEC | O_NONBLOCK | O_DIRECT))
		return -EINVAL;
	if (flags & O_DIRECT)
		return -EINVAL;		/* packet mode is not offered */
	error = pipe_files(flags & O_NONBLOCK, end);
	return error ? error : fd_add_pair(end[0], end[1], flags & O_CLOEXEC, user);
}

long sys_pipe(s32 *user)
{
	return sys_pipe2(user, 0);
}

static struct pipe *pipe_of(const struct file *f)
{
	return f->ops == &pipe_ops || f->ops == &fifo_ops ? f->data : NULL;
}

long pipe_size(struct file *f)
{
	const struct pipe *p = pipe_of(f);

	return p ? (long)p->ring.size : -EBADF;
}

long pipe_set_size(struct file *f, u32 bytes)
{
	struct pipe *p = pipe_of(f);
	long result;

	if (!p)
		return -EBADF;
	result = ring_resize(&p->ring, bytes);
	if (result > 0)
		wake_up(&p->writable);
	return result;
}

bool file_is_pipe(const struct file *f)
{
	return pipe_of(f) != NULL;
}

bool pipe_same(const struct file *a, const struct file *b)
{
	return a->data == b->data;
}

long pipe_wait_room(struct file *f, bool wait)
{
	struct pipe *p = f->data;

	for (;;) {
		long result;

		if (!p->readers)
			return broken();
		if (ring_room(&p->ring))
			return (long)ring_room(&p->ring);
		if (!wait)
			return -EAGAIN;
		result = wait_event(&p->writable, ring_room(&p->ring) || !p->readers);
		if (result)
			return result;
	}
}

long pipe_peek(struct file *f, struct iter *it, u32 skip, size_t n)
{
	struct pipe *p = f->data;

	return skip < ring_used(&p->ring) ? ring_peek(&p->ring, it, skip, n) : 0;
}

void pipe_skip(struct file *f, u32 n)
{
	struct pipe *p = f->data;

	ring_skip(&p->ring, MIN(n, ring_used(&p->ring)));
	wake_up(&p->writable);
}
