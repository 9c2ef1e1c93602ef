/*
 * Pseudo-terminals: opening /dev/ptmx creates one and is its controlling side; /dev/pts/<n> is its terminal
 * (dev/devpts.c has the names). Output of programs waits in a ring for the controlling side to read; whatever the
 * controlling side writes is typed input.
 */
#include "pty.h"

#include <anon.h>
#include <err.h>
#include <filesystem.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <signal.h>
#include <uaccess.h>

struct list_head ptys = LIST_HEAD_INIT(ptys);
u32 pty_count;

void pty_putc(struct pty *p, u8 c)
{
	if (p->head - p->tail < PTY_OUTPUT) {
		p->output[p->head % PTY_OUTPUT] = c;
		p->head++;
		wake_up_noted(&p->show_note);
	}
}

size_t pty_room(const struct pty *p)
{
	return PTY_OUTPUT - (p->head - p->tail);
}

void pty_input_taken(struct pty *p)
{
	wake_up_noted(&p->take_note);
}

void pty_get(struct pty *p)
{
	p->refs++;
	p->open++;
}

static void pty_put(struct pty *p)
{
	if (--p->refs)
		return;
	wake_note_drop(&p->show_note);
	wake_note_drop(&p->take_note);
	wake_note_drop(&p->tty.read_note);
	wake_note_drop(&p->tty.write_note);
	kfree(p);
}

void pty_release(struct pty *p)
{
	if (!--p->open)
		wake_up(&p->shown);
	pty_put(p);
}

/* Whether every file on the terminal has been closed; false before the first open. */
static bool deserted(const struct pty *p)
{
	return p->was_open && !p->open;
}

static long ptmx_read(struct file *f, struct iter *it, u64 *position)
{
	struct pty *p = f->data;
	long done = 0, error;

	(void)position;
	if (!it->left)
		return 0;
	while (p->head == p->tail) {
		if (deserted(p))
			return -EIO;
		error = file_wait_event(f, &p->shown, p->head != p->tail || deserted(p));
		if (error)
			return error;
	}
	while (it->left && p->head != p->tail) {
		u32 at = p->tail % PTY_OUTPUT, part = MIN(p->head - p->tail, PTY_OUTPUT - at);
		u8 chunk[128];
		long n;

		/* Remove the bytes before the copy, which may sleep while others read. */
		part = (u32)MIN((size_t)MIN(part, (u32)sizeof(chunk)), it->left);
		memcpy(chunk, p->output + at, part);
		p->tail += part;
		n = iter_write(it, chunk, part);
		if (n <= 0)
			return done ? done : n;
		done += n;
	}
	wake_up(&p->tty.writable);
	return done;
}

/*
 * Whether more input is accepted: not while the ring is full and a reader will empty it. Without a reader, extra input
 * is dropped.
 */
static bool accepts(const struct pty *p)
{
	const struct tty *t = &p->tty;

	return t->head - t->tail < RING || t->committed == t->tail;
}

static long ptmx_write(struct file *f, struct iter *it, u64 *position)
{
	struct pty *p = f->data;
	long done = 0;

	(void)position;
	while (it->left) {
		long n;
		u8 c;

		if (!accepts(p)) {
			n = file_wait_event(f, &p->taken, accepts(p));
			if (n)
				return done ? done : n;
		}
		n = iter_read(it, &c, 1);
		if (n <= 0)
			return done ? done : n;
		tty_input(&p->tty, c);
		done++;
	}
	return done;
}

static unsigned ptmx_poll(struct file *f, struct poll_table *table)
{
	const struct pty *p = f->data;

	poll_wait(table, (struct waitq *)&p->shown);
	poll_wait(table, (struct waitq *)&p->taken);
	return (p->head != p->tail ? POLLIN | POLLRDNORM : 0) | (deserted(p) ? POLLHUP : 0) |
	       (accepts(p) ? POLLOUT | POLLWRNORM : 0);
}

/*
 * The terminal's dentry under its usual name, or an unnamed one if that name shows the caller another terminal or
 * none.
 */
static struct dentry *peer_dentry(struct pty *p)
{
	struct dentry *d;
	char name[24];
	int len = snprintf(name, sizeof(name), "/dev/pts/%u", p->number);

	if (path_lookup(AT_FDCWD, name, 0, &d) == 0) {
		if (d->inode == p->inode)
			return d;
		dentry_put(d);
	}
	return dentry_new(NULL, name, (size_t)len, p->inode);
}

static long open_peer(struct pty *p, u32 flags)
{
	struct dentry *d;
	struct file *f;

	if (flags & ~(u32)(O_ACCMODE | O_NOCTTY | O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	d = peer_dentry(p);
	if (!d)
		return -ENOMEM;
	f = file_open_dentry(d, flags);
	dentry_put(d);
	return fd_add(f, flags & O_CLOEXEC);
}

static long pty_send(struct pty *p, u32 sig)
{
	if (sig != SIGINT && sig != SIGQUIT && sig != SIGTSTP)
		return -EINVAL;
	if (p->tty.foreground)
		signal_pgrp(p->tty.foreground, (int)sig, NULL);
	return 0;
}

static long ptmx_ioctl(struct file *f, unsigned command, uintptr_t argument)
{
	struct pty *p = f->data;
	s32 locked;

	switch (command) {
	case TIOCGPTN:
		return put_user(p->number, (u32 *)argument);
	case TIOCSPTLCK:
		if (get_user(locked, (s32 *)argument))
			return -EFAULT;
		p->locked = locked != 0;
		return 0;
	case TIOCGPTLCK:
		return put_user((s32)p->locked, (s32 *)argument);
	case TIOCGPTPEER:
		return open_peer(p, (u32)argument);
	case TIOCSIG:
		return pty_send(p, (u32)argument);
	case FIONREAD:
		return put_user((s32)(p->head - p->tail), (s32 *)argument);
	/* On the controlling side these report the terminal's session, which is not the caller's. */
	case TIOCGPGRP:
		return put_user(p->tty.foreground, (s32 *)argument);
	case TIOCGSID:
		return p->tty.session ? put_user(p->tty.session, (s32 *)argument) : -ENOTTY;
	case TIOCSCTTY:
	case TIOCNOTTY:
	case TIOCSTI:
		return -ENOTTY;
	}
	return tty_request(&p->tty, command, argument);
}

static u32 free_number(void)
{
	const struct pty *p;
	u32 number = 0;

	/* Keep the list in order of numbers. */
	list_for_each_entry(p, &ptys, link) {
		if (p->number != number)
			break;
		number++;
	}
	return number;
}

static void pty_insert(struct pty *new)
{
	struct pty *p;

	list_for_each_entry(p, &ptys, link)
		if (p->number > new->number)
			break;
	list_add_tail(&new->link, &p->link);
}

static int ptmx_open(struct file *f)
{
	struct pty *p;

	if (pty_count >= PTY_MAX)
		return -ENOSPC;
	p = kzalloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->number = free_number();
	p->refs = 1;
	p->locked = true;
	p->inode = pts_inode(p);
	if (!p->inode) {
		kfree(p);
		return -ENOMEM;
	}
	waitq_init(&p->shown);
	waitq_init(&p->taken);
	wake_note_init(&p->show_note, &p->shown);
	wake_note_init(&p->take_note, &p->taken);
	tty_setup(&p->tty, p->inode->rdev, p);
	pty_insert(p);
	pty_count++;
	f->data = p;
	return 0;
}

static void ptmx_release(struct file *f)
{
	struct pty *p = f->data;

	tty_hang_up(&p->tty);
	list_del(&p->link);
	pty_count--;
	/* A path may still hold the inode. */
	p->inode->data = NULL;
	p->inode->nlink = 0;
	inode_put(p->inode);
	p->inode = NULL;
	pty_put(p);
}

const struct file_ops ptmx_ops = {
	.open = ptmx_open, .read = ptmx_read, .write = ptmx_write, .poll = ptmx_poll, .ioctl = ptmx_ioctl,
	.release = ptmx_release, .signals = true,
};

static int pts_open(struct file *f)
{
	struct pty *p = f->inode->data;

	if (!p || p->locked)
		return -EIO;
	pty_get(p);
	p->was_open = true;
	f->data = &p->tty;
	tty_opened(f);
	return 0;
}

static void pts_release(struct file *f)
{
	pty_release(((struct tty *)f->data)->pty);
}

const struct file_ops pts_ops = {
	.open = pts_open, .read = tty_read, .write = tty_write, .poll = tty_poll, .ioctl = tty_ioctl,
	.release = pts_release, .signals = true,
};
