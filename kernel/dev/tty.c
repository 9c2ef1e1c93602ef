/*
 * Terminals, the UART's and pseudo-terminals: reading, writing, and the session and process group of each (POSIX.1,
 * chapter 11). dev/line.c processes the characters.
 */
#include "tty_internal.h"

#include <arch.h>
#include <err.h>
#include <filesystem.h>
#include <lib.h>
#include <poll.h>
#include <process.h>
#include <signal.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

struct tty console_tty;
static struct list_head terminals = LIST_HEAD_INIT(terminals);

static const struct termios first_settings = {
	.iflag = ICRNL | IXON,
	.oflag = OPOST | ONLCR,
	.cflag = B38400 | CS8 | CREAD | HUPCL,
	.lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
	.cc = {
		[VINTR] = 3, [VQUIT] = 28, [VERASE] = 127, [VKILL] = 21, [VEOF] = 4, [VMIN] = 1,
		[VSUSP] = 26, [VSTART] = 17, [VSTOP] = 19, [VWERASE] = 23, [VREPRINT] = 18, [VLNEXT] = 22,
	},
	.ispeed = B38400,
	.ospeed = B38400,
};

void tty_setup(struct tty *t, u32 device, struct pty *pty)
{
	t->settings = first_settings;
	t->device = device;
	t->pty = pty;
	waitq_init(&t->readable);
	waitq_init(&t->writable);
	wake_note_init(&t->read_note, &t->readable);
	wake_note_init(&t->write_note, &t->writable);
	list_add_tail(&t->link, &terminals);
}

void tty_init(void)
{
	tty_setup(&console_tty, MKDEV(4, 64), NULL);
}

void tty_receive(char c)
{
	tty_input(&console_tty, (u8)c);
}

/* Whether the terminal controls current's session: only then does job control apply. */
bool tty_is_controlling(const struct tty *t)
{
	return t->session && current->process->sid == t->session;
}

/* Sends the signal to a background process that reads (SIGTTIN) or changes the terminal (SIGTTOU); 0: go ahead. */
static long check_background(struct tty *t, int sig)
{
	if (!tty_is_controlling(t) || current->process->pgid == t->foreground || !t->foreground)
		return 0;
	if (signal_ignored_or_blocked(sig))
		return sig == SIGTTIN ? -EIO : 0;
	if (pgrp_orphaned(current->process->pgid))
		return -EIO;
	signal_pgrp(current->process->pgid, sig, NULL);
	return -ERESTARTSYS;
}

long tty_check_change(struct tty *t)
{
	return check_background(t, SIGTTOU);
}

static u32 available(const struct tty *t)
{
	return t->committed - t->tail;
}

/* Whether a wait for input is over. */
static bool tty_readable(const struct tty *t)
{
	return available(t) || t->hung_up;
}

/* Reads one line, or the part that fits. */
static long read_line(struct tty *t, struct iter *it)
{
	long done = 0;

	while (available(t) && it->left) {
		u16 entry = t->ring[t->tail % RING];
		char c = (char)entry;

		/* Remove the character before the copy, which may sleep while others read or flush. */
		t->tail++;
		if (!(entry & ENTRY_EOF)) {
			long n = iter_write(it, &c, 1);

			if (n <= 0)
				return done ? done : n;
			done++;
		}
		if (entry & (ENTRY_EOF | ENTRY_END))
			break;
	}
	return done;
}

static long read_raw(struct tty *t, struct iter *it)
{
	long done = 0;

	while (available(t) && it->left) {
		char c = (char)t->ring[t->tail++ % RING];
		long n = iter_write(it, &c, 1);

		if (n <= 0)
			return done ? done : n;
		done++;
	}
	return done;
}

/* Waits according to VMIN and VTIME (POSIX.1, 11.1.7, cases A to D); 0: read the available input. */
static long wait_raw(struct tty *t, size_t wanted)
{
	u32 least = t->settings.cc[VMIN];
	u64 tenths = t->settings.cc[VTIME] * (NSEC_PER_SEC / 10);
	u32 had;
	long result;

	least = (u32)MIN((size_t)least, wanted);
	if (least == 0) {
		if (!tenths)
			return 0;
		result = wait_event_until(&t->readable, tty_readable(t), time_deadline(tenths));
		return result == -ETIMEDOUT ? 0 : result;
	}
	result = wait_event(&t->readable, tty_readable(t));
	while (!result && !t->hung_up && available(t) < least) {
		had = available(t);
		if (tenths)
			result = wait_event_until(&t->readable, available(t) != had || t->hung_up, time_deadline(tenths));
		else
			result = wait_event(&t->readable, available(t) != had || t->hung_up);
		if (result == -ETIMEDOUT)
			return 0;
	}
	return available(t) ? 0 : result;
}

long tty_read(struct file *f, struct iter *it, u64 *position)
{
	struct tty *t = f->data;
	long result;

	(void)position;
	if (!it->left)
		return 0;
	for (;;) {
		if (t->hung_up)
			return 0;
		result = check_background(t, SIGTTIN);
		if (result)
			return result;
		if (!available(t)) {
			if (f->flags & O_NONBLOCK)
				return !tty_local(t, ICANON) && !t->settings.cc[VMIN] ? 0 : -EAGAIN;
			result = tty_local(t, ICANON) ? wait_event(&t->readable, tty_readable(t)) : wait_raw(t, it->left);
			if (result)
				return result;
			if (t->hung_up || (tty_local(t, ICANON) && !available(t)))
				continue;
		}
		result = tty_local(t, ICANON) ? read_line(t, it) : read_raw(t, it);
		if (t->pty)
			pty_input_taken(t->pty);
		return result;
	}
}

/* The number of characters that fit: each becomes at most EXPANSION (a tab, eight blanks). */
#define EXPANSION 8u

static size_t output_room(const struct tty *t)
{
	return t->pty ? pty_room(t->pty) / EXPANSION : TRANSFER_MAX;
}

/* A signal ends a write early after each so many bytes. */
#define SIGNAL_BYTES 2048

static bool tty_writable(const struct tty *t)
{
	return t->hung_up || (!t->stopped && output_room(t));
}

long tty_write(struct file *f, struct iter *it, u64 *position)
{
	struct tty *t = f->data;
	long done = 0, result;
	char chunk[128];

	(void)position;
	if (tty_local(t, TOSTOP)) {
		result = tty_check_change(t);
		if (result)
			return result;
	}
	while (it->left) {
		long n;

		if (!tty_writable(t)) {
			result = file_wait_event(f, &t->writable, tty_writable(t));
			if (result)
				return done ? done : result;
		}
		if (t->hung_up)
			return done ? done : -EIO;
		n = iter_read(it, chunk, MIN(sizeof(chunk), output_room(t)));
		if (n <= 0)
			return done ? done : n;
		for (long i = 0; i < n; i++)
			tty_put(t, (u8)chunk[i]);
		done += n;
		interrupt_window();
		if (done % SIGNAL_BYTES == 0 && signal_pending())
			break;
	}
	return done;
}

unsigned tty_poll(struct file *f, struct poll_table *table)
{
	struct tty *t = f->data;
	unsigned ready = t->hung_up ? POLLIN | POLLRDNORM | POLLERR | POLLHUP : 0;

	poll_wait(table, &t->readable);
	poll_wait(table, &t->writable);
	if (available(t))
		ready |= POLLIN | POLLRDNORM;
	if (tty_writable(t))
		ready |= POLLOUT | POLLWRNORM;
	return ready;
}

/* Leaving canonical mode makes the unfinished line readable. */
void tty_settings_changed(struct tty *t, const struct termios *old)
{
	if (old->lflag & ICANON && !tty_local(t, ICANON)) {
		for (u32 at = t->tail; at != t->head; at++)
			t->ring[at % RING] &= 0xff;
		tty_commit(t);
	}
	if (!(t->settings.iflag & IXON))
		tty_set_stopped(t, false);
}

struct tty *tty_of_session(s32 session)
{
	struct tty *t;

	list_for_each_entry(t, &terminals, link)
		if (session && t->session == session)
			return t;
	return NULL;
}

void tty_disassociate(struct tty *t)
{
	if (t->foreground) {
		signal_pgrp(t->foreground, SIGHUP, NULL);
		signal_pgrp(t->foreground, SIGCONT, NULL);
	}
	t->session = 0;
	t->foreground = 0;
}

void tty_session_gone(s32 session)
{
	struct tty *t = tty_of_session(session);

	if (t)
		tty_disassociate(t);
}

void tty_hang_up(struct tty *t)
{
	struct process *leader = t->session ? process_find(t->session) : NULL;

	t->hung_up = true;
	t->session = 0;
	t->foreground = 0;
	list_del(&t->link);
	if (leader) {
		signal_process(leader, SIGHUP, NULL);
		signal_process(leader, SIGCONT, NULL);
	}
	wake_up(&t->readable);
	wake_up(&t->writable);
}

s32 tty_foreground(s32 session)
{
	const struct tty *t = tty_of_session(session);

	return t ? t->foreground : -1;
}

u32 tty_number(s32 session)
{
	const struct tty *t = tty_of_session(session);

	return t ? device_to_user(t->device) : 0;
}
