/*
 * Pseudo-terminals: opening /dev/ptmx creates one and is its controlling side; /dev/pts/<n> is its terminal
 * (dev/devpts.c has the names). Output of programs waits in a ring for the controlling side to read; whatever the
 * controlling side writes is typed input.
 */
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <signal.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "pty.h"

struct list_head ptys = LIST_HEAD_INIT(ptys);
u32 pty_count;

void pty_putc(struct pty *pty, u8 c)
{
	if (pty->head - pty->tail < PTY_OUTPUT) {
		pty->output[pty->head % PTY_OUTPUT] = c;
		pty->head++;
		wake_up_noted(&pty->show_note);
	}
}

size_t pty_room(const struct pty *pty)
{
	return PTY_OUTPUT - (pty->head - pty->tail);
}

void pty_input_taken(struct pty *pty)
{
	wake_up_noted(&pty->take_note);
}

void pty_get(struct pty *pty)
{
	pty->refs++;
	pty->open++;
}

static void pty_put(struct pty *pty)
{
	if (--pty->refs)
		return;
	wake_note_drop(&pty->show_note);
	wake_note_drop(&pty->take_note);
	wake_note_drop(&pty->tty.read_note);
	wake_note_drop(&pty->tty.write_note);
	list_del(&pty->tty.signalling.link);
	kfree(pty);
}

void pty_release(struct pty *pty)
{
	if (!--pty->open)
		wake_up(&pty->shown);
	pty_put(pty);
}

/* Whether every file on the terminal has been closed; false before the first open. */
static bool pty_deserted(const struct pty *pty)
{
	return pty->was_open && !pty->open;
}

static long ptmx_read(struct file *file, struct iter *it, u64 *position)
{
	struct pty *pty = file->data;
	long done = 0, error;

	(void)position;
	if (!it->left)
		return 0;
	while (pty->head == pty->tail) {
		if (pty_deserted(pty))
			return -EIO;
		error = file_wait_event(file, &pty->shown, pty->head != pty->tail || pty_deserted(pty));
		if (error)
			return error;
	}
	while (it->left && pty->head != pty->tail) {
		u32 at = pty->tail % PTY_OUTPUT, part = MIN(pty->head - pty->tail, PTY_OUTPUT - at);
		u8 chunk[128];
		long n;

		/* Remove the bytes before the copy, which may sleep while others read. */
		part = (u32)MIN((size_t)MIN(part, (u32)sizeof(chunk)), it->left);
		memcpy(chunk, pty->output + at, part);
		pty->tail += part;
		n = iter_write(it, chunk, part);
		if (n <= 0)
			return done ? done : n;
		done += n;
	}
	wake_up(&pty->tty.writable);
	return done;
}

/*
 * Whether more input is accepted: not while the ring is full and a reader will empty it. Without a reader, extra input
 * is dropped.
 */
static bool pty_accepts(const struct pty *pty)
{
	const struct tty *tty = &pty->tty;

	return tty->head - tty->tail < RING || tty->committed == tty->tail;
}

/* After this many bytes of a write, other tasks may run and a signal may end it. */
#define TYPED_TOGETHER 32u

static long ptmx_write(struct file *file, struct iter *it, u64 *position)
{
	struct pty *pty = file->data;
	long done = 0;

	(void)position;
	while (it->left) {
		long n;
		u8 c;

		if (!pty_accepts(pty)) {
			n = file_wait_event(file, &pty->taken, pty_accepts(pty));
			if (n)
				return done ? done : n;
		}
		n = iter_read(it, &c, 1);
		if (n <= 0)
			return done ? done : n;
		tty_input(&pty->tty, c);
		done++;
		if ((size_t)done % TYPED_TOGETHER == 0 && it->left) {
			preemption_point();
			if (signal_pending())
				break;
		}
	}
	return done;
}

static unsigned ptmx_poll(struct file *file, struct poll_table *table)
{
	const struct pty *pty = file->data;

	poll_wait(table, (struct waitq *)&pty->shown);
	poll_wait(table, (struct waitq *)&pty->taken);
	return (pty->head != pty->tail ? POLLIN | POLLRDNORM : 0) | (pty_deserted(pty) ? POLLHUP : 0) |
	       (pty_accepts(pty) ? POLLOUT | POLLWRNORM : 0);
}

/*
 * The terminal's dentry under its usual name, or an unnamed one if that name shows the caller another terminal or
 * none.
 */
static struct dentry *peer_dentry(struct pty *pty)
{
	struct dentry *dentry;
	char name[24];
	int len = snprintf(name, sizeof(name), "/dev/pts/%u", pty->number);

	if (path_lookup(AT_FDCWD, name, 0, &dentry) == 0) {
		if (dentry->inode == pty->inode)
			return dentry;
		dentry_put(dentry);
	}
	return dentry_new(NULL, name, (size_t)len, pty->inode);
}

static long open_peer(struct pty *pty, u32 flags)
{
	struct dentry *dentry;
	struct file *file;

	if (flags & ~(u32)(O_ACCMODE | O_NOCTTY | O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	dentry = peer_dentry(pty);
	if (!dentry)
		return -ENOMEM;
	file = file_open_dentry(dentry, flags);
	dentry_put(dentry);
	return fd_add(file, flags & O_CLOEXEC);
}

static long pty_send(struct pty *pty, u32 sig)
{
	if (sig != SIGINT && sig != SIGQUIT && sig != SIGTSTP)
		return -EINVAL;
	tty_signal(&pty->tty, (int)sig);
	return 0;
}

static long ptmx_ioctl(struct file *file, unsigned command, uintptr_t argument)
{
	struct pty *pty = file->data;
	s32 locked;

	switch (command) {
	case TIOCGPTN:
		return put_user(pty->number, (u32 *)argument);
	case TIOCSPTLCK:
		if (get_user(locked, (s32 *)argument))
			return -EFAULT;
		pty->locked = locked != 0;
		return 0;
	case TIOCGPTLCK:
		return put_user((s32)pty->locked, (s32 *)argument);
	case TIOCGPTPEER:
		return open_peer(pty, (u32)argument);
	case TIOCSIG:
		return pty_send(pty, (u32)argument);
	case FIONREAD:
		return put_user((s32)(pty->head - pty->tail), (s32 *)argument);
	/* On the controlling side these report the terminal's session, which is not the caller's. */
	case TIOCGPGRP:
		return put_user(pty->tty.foreground, (s32 *)argument);
	case TIOCGSID:
		return pty->tty.session ? put_user(pty->tty.session, (s32 *)argument) : -ENOTTY;
	case TIOCSCTTY:
	case TIOCNOTTY:
	case TIOCSTI:
		return -ENOTTY;
	}
	return tty_request(&pty->tty, command, argument);
}

static u32 free_number(void)
{
	const struct pty *pty;
	u32 number = 0;

	/* Keep the list in order of numbers. */
	list_for_each_entry(pty, &ptys, link) {
		if (pty->number != number)
			break;
		number++;
	}
	return number;
}

static void pty_insert(struct pty *new)
{
	struct pty *pty;

	list_for_each_entry(pty, &ptys, link)
		if (pty->number > new->number)
			break;
	list_add_tail(&new->link, &pty->link);
}

static int ptmx_open(struct file *file)
{
	struct pty *pty;

	if (pty_count >= PTY_MAX)
		return -ENOSPC;
	pty = kzalloc(sizeof(*pty));
	if (!pty)
		return -ENOMEM;
	pty->number = free_number();
	pty->refs = 1;
	pty->locked = true;
	pty->inode = pts_inode(pty);
	if (!pty->inode) {
		kfree(pty);
		return -ENOMEM;
	}
	waitq_init(&pty->shown);
	waitq_init(&pty->taken);
	wake_note_init(&pty->show_note, &pty->shown);
	wake_note_init(&pty->take_note, &pty->taken);
	tty_setup(&pty->tty, pty->inode->rdev, pty);
	pty_insert(pty);
	pty_count++;
	file->data = pty;
	return 0;
}

static void ptmx_release(struct file *file)
{
	struct pty *pty = file->data;

	tty_hang_up(&pty->tty);
	list_del(&pty->link);
	pty_count--;
	/* A path may still hold the inode. */
	pty->inode->data = NULL;
	pty->inode->nlink = 0;
	inode_put(pty->inode);
	pty->inode = NULL;
	pty_put(pty);
}

const struct file_ops ptmx_ops = {
	.open = ptmx_open, .read = ptmx_read, .write = ptmx_write, .poll = ptmx_poll, .ioctl = ptmx_ioctl,
	.release = ptmx_release, .signals = true,
};

static int pts_open(struct file *file)
{
	struct pty *pty = file->inode->data;

	if (!pty || pty->locked)
		return -EIO;
	pty_get(pty);
	pty->was_open = true;
	file->data = &pty->tty;
	tty_opened(file);
	return 0;
}

static void pts_release(struct file *file)
{
	pty_release(((struct tty *)file->data)->pty);
}

const struct file_ops pts_ops = {
	.open = pts_open, .read = tty_read, .write = tty_write, .poll = tty_poll, .ioctl = tty_ioctl,
	.release = pts_release, .signals = true,
};
