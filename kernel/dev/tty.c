/*
 * Terminals, the UART's and pseudo-terminals: reading, writing, and the session and process group of each (POSIX.1,
 * chapter 11). dev/line.c processes the characters.
 */
#include <arch.h>
#include <filesystem.h>
#include <lib.h>
#include <poll.h>
#include <process.h>
#include <signal.h>
#include <task.h>
#include <window.h>

#include "tty_internal.h"

struct tty console_tty;
static struct list_head all_terminals = LIST_HEAD_INIT(all_terminals);

static const struct termios first_settings = {
	.iflag = ICRNL | IXON,
	.oflag = OPOST | ONLCR,
	.cflag = B38400 | CS8 | CREAD | HUPCL,
	.lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
	.cc = {
		[VINTR] = 3, [VQUIT] = 28, [VERASE] = 127, [VKILL] = 21, [VEOF] = 4, [VMIN] = 1,
		[VSUSP] = 26, [VSTART] = 17, [VSTOP] = 19, [VWERASE] = 23, [VREPRINT] = 18, [VLNEXT] = 22,
	},
	TERMIOS_SPEEDS(B38400)
};

void tty_setup(struct tty *tty, u32 device, struct pty *pty)
{
	tty->settings = first_settings;
	tty->device = device;
	tty->pty = pty;
	waitq_init(&tty->readable);
	waitq_init(&tty->writable);
	wake_note_init(&tty->read_note, &tty->readable);
	wake_note_init(&tty->write_note, &tty->writable);
	list_init(&tty->signalling.link);
	list_add_tail(&tty->link, &all_terminals);
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
bool tty_is_controlling(const struct tty *tty)
{
	return tty->session && current->process->sid == tty->session;
}

/* Sends the signal to a background process that reads (SIGTTIN) or changes the terminal (SIGTTOU); 0: go ahead. */
static long check_background(struct tty *tty, int sig)
{
	if (!tty_is_controlling(tty) || current->process->pgid == tty->foreground || !tty->foreground)
		return 0;
	if (signal_ignored_or_blocked(sig))
		return sig == SIGTTIN ? -EIO : 0;
	if (pgrp_orphaned(current->process->pgid))
		return -EIO;
	signal_pgrp(current->process->pgid, sig, NULL);
	return -ERESTARTSYS;
}

long tty_check_change(struct tty *tty)
{
	return check_background(tty, SIGTTOU);
}

static u32 tty_available(const struct tty *tty)
{
	return tty->committed - tty->tail;
}

/* Whether a wait for input is over. */
static bool tty_readable(const struct tty *tty)
{
	return tty_available(tty) || tty->hung_up;
}

/* Reads one line, or the part that fits. */
static long read_line(struct tty *tty, struct iter *it)
{
	long done = 0;

	while (tty_available(tty) && it->left) {
		u16 entry = tty->ring[tty->tail % RING];
		char c = (char)entry;

		/* Remove the character before the copy, which may sleep while others read or flush. */
		tty->tail++;
		if (!(entry & ENTRY_EOF)) {
			long n = iter_write(it, &c, 1);

			if (n <= 0)
				return done ? done : n;
			interrupt_window_at((u32)++done);
		}
		if (entry & (ENTRY_EOF | ENTRY_END))
			break;
	}
	return done;
}

static long read_raw(struct tty *tty, struct iter *it)
{
	long done = 0;

	while (tty_available(tty) && it->left) {
		char c = (char)tty->ring[tty->tail++ % RING];
		long n = iter_write(it, &c, 1);

		if (n <= 0)
			return done ? done : n;
		interrupt_window_at((u32)++done);
	}
	return done;
}

/* Waits according to VMIN and VTIME (POSIX.1, 11.1.7, cases A to D); 0: read the available input. */
static long wait_raw(struct tty *tty, size_t wanted)
{
	u32 least = tty->settings.cc[VMIN];
	u64 tenths = tty->settings.cc[VTIME] * (NSEC_PER_SEC / 10);
	u32 had;
	long result;

	least = (u32)MIN((size_t)least, wanted);
	if (least == 0) {
		if (!tenths)
			return 0;
		result = wait_event_until(&tty->readable, tty_readable(tty), time_deadline(tenths));
		return result == -ETIMEDOUT ? 0 : result;
	}
	result = wait_event(&tty->readable, tty_readable(tty));
	while (!result && !tty->hung_up && tty_available(tty) < least) {
		had = tty_available(tty);
		if (tenths)
			result = wait_event_until(&tty->readable, tty_available(tty) != had || tty->hung_up,
						  time_deadline(tenths));
		else
			result = wait_event(&tty->readable, tty_available(tty) != had || tty->hung_up);
		if (result == -ETIMEDOUT)
			return 0;
	}
	return tty_available(tty) ? 0 : result;
}

long tty_read(struct file *file, struct iter *it, u64 *position)
{
	struct tty *tty = file->data;
	long result;

	(void)position;
	if (!it->left)
		return 0;
	for (;;) {
		if (tty->hung_up)
			return 0;
		result = check_background(tty, SIGTTIN);
		if (result)
			return result;
		if (!tty_available(tty)) {
			if (file->flags & O_NONBLOCK)
				return !tty_local(tty, ICANON) && !tty->settings.cc[VMIN] ? 0 : -EAGAIN;
			result = tty_local(tty, ICANON) ? wait_event(&tty->readable, tty_readable(tty)) :
				wait_raw(tty, it->left);
			if (result)
				return result;
			if (tty->hung_up || (tty_local(tty, ICANON) && !tty_available(tty)))
				continue;
		}
		result = tty_local(tty, ICANON) ? read_line(tty, it) : read_raw(tty, it);
		if (tty->pty)
			pty_input_taken(tty->pty);
		return result;
	}
}

/* The number of characters that fit: each becomes at most EXPANSION (a tab, eight blanks). */
#define EXPANSION 8u

static size_t output_room(const struct tty *tty)
{
	return tty->pty ? pty_room(tty->pty) / EXPANSION : TRANSFER_MAX;
}

/* After this many bytes of a write, other tasks may run and a signal may end it. */
#define WRITTEN_TOGETHER 2048

static bool tty_writable(const struct tty *tty)
{
	return tty->hung_up || (!tty->stopped && output_room(tty));
}

long tty_write(struct file *file, struct iter *it, u64 *position)
{
	struct tty *tty = file->data;
	long done = 0, together = 0, result;
	char chunk[128];

	(void)position;
	if (tty_local(tty, TOSTOP)) {
		result = tty_check_change(tty);
		if (result)
			return result;
	}
	while (it->left) {
		long n;

		if (!tty_writable(tty)) {
			result = file_wait_event(file, &tty->writable, tty_writable(tty));
			if (result)
				return done ? done : result;
		}
		if (tty->hung_up)
			return done ? done : -EIO;
		n = iter_read(it, chunk, MIN(sizeof(chunk), output_room(tty)));
		if (n <= 0)
			return done ? done : n;
		for (long i = 0; i < n; i++)
			tty_put(tty, (u8)chunk[i]);
		done += n;
		together += n;
		if (together < WRITTEN_TOGETHER) {
			interrupt_window();
			continue;
		}
		together = 0;
		preemption_point();
		if (signal_pending())
			break;
	}
	return done;
}

unsigned tty_poll(struct file *file, struct poll_table *table)
{
	struct tty *tty = file->data;
	unsigned ready = tty->hung_up ? POLLIN | POLLRDNORM | POLLERR | POLLHUP : 0;

	poll_wait(table, &tty->readable);
	poll_wait(table, &tty->writable);
	if (tty_available(tty))
		ready |= POLLIN | POLLRDNORM;
	if (tty_writable(tty))
		ready |= POLLOUT | POLLWRNORM;
	return ready;
}

/* Leaving canonical mode makes the unfinished line readable. */
void tty_settings_changed(struct tty *tty, const struct termios *old)
{
	if (old->lflag & ICANON && !tty_local(tty, ICANON)) {
		for (u32 at = tty->tail; at != tty->head; at++)
			tty->ring[at % RING] &= 0xff;
		tty_commit(tty);
	}
	if (!(tty->settings.iflag & IXON))
		tty_set_stopped(tty, false);
}

struct tty *tty_of_session(s32 session)
{
	struct tty *tty;

	list_for_each_entry(tty, &all_terminals, link)
		if (session && tty->session == session)
			return tty;
	return NULL;
}

void tty_signal(const struct tty *tty, int sig)
{
	if (tty->foreground && pgrp_in_session(tty->foreground, tty->session))
		signal_pgrp(tty->foreground, sig, NULL);
}

void tty_disassociate(struct tty *tty)
{
	tty_signal(tty, SIGHUP);
	tty_signal(tty, SIGCONT);
	tty->session = 0;
	tty->foreground = 0;
}

void tty_session_gone(s32 session)
{
	struct tty *tty = tty_of_session(session);

	if (tty)
		tty_disassociate(tty);
}

void tty_hang_up(struct tty *tty)
{
	struct process *leader = tty->session ? process_find(tty->session) : NULL;

	tty->hung_up = true;
	tty->session = 0;
	tty->foreground = 0;
	list_del(&tty->link);
	if (leader) {
		signal_process(leader, SIGHUP, NULL);
		signal_process(leader, SIGCONT, NULL);
	}
	wake_up(&tty->readable);
	wake_up(&tty->writable);
}

s32 tty_foreground(s32 session)
{
	const struct tty *tty = tty_of_session(session);

	return tty ? tty->foreground : -1;
}

u32 tty_number(s32 session)
{
	const struct tty *tty = tty_of_session(session);

	return tty ? device_to_user(tty->device) : 0;
}
