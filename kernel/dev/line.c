/*
 * The line discipline of terminals: processing of typed characters (editing, echo, signals, flow control) and of
 * output (POSIX.1, chapter 11). Input is kept in one ring. In canonical mode, the part from `committed` on is the line
 * being edited; readers see only the part before it.
 */
#include "tty_internal.h"

#include <board.h>
#include <signal.h>

/* Shows a character to the user of the terminal. */
static void out(struct tty *t, u8 c)
{
	if (t->pty)
		pty_putc(t->pty, c);
	else
		uart_putc((char)c);
}

/* A disabled control character is 0. */
static bool is(const struct tty *t, u8 c, unsigned which)
{
	return c && c == t->settings.cc[which];
}

void tty_put(struct tty *t, u8 c)
{
	u32 flags = t->settings.oflag;

	if (!(flags & OPOST)) {
		out(t, c);
		return;
	}
	switch (c) {
	case '\n':
		if (flags & ONLRET)
			t->column = 0;
		if (flags & ONLCR) {
			out(t, '\r');
			t->column = 0;
		}
		break;
	case '\r':
		if (flags & ONOCR && t->column == 0)
			return;
		if (flags & OCRNL)
			c = '\n';
		t->column = 0;
		break;
	case '\t':
		if ((flags & TABDLY) == XTABS) {
			do {
				out(t, ' ');
			} while (++t->column % 8);
			return;
		}
		t->column = (t->column | 7) + 1;
		break;
	case '\b':
		if (t->column)
			t->column--;
		break;
	default:
		if (c >= ' ' && c != 127 && (c & 0xc0) != 0x80)
			t->column++;
	}
	out(t, c);
}

static bool shown_as_caret(const struct tty *t, u8 c)
{
	return tty_local(t, ECHOCTL) && (c < ' ' || c == 127) && c != '\n' && c != '\t';
}

static void echo(struct tty *t, u8 c)
{
	if (!tty_local(t, ECHO) && !(c == '\n' && tty_local(t, ECHONL) && tty_local(t, ICANON)))
		return;
	if (shown_as_caret(t, c)) {
		tty_put(t, '^');
		tty_put(t, c ^ 0x40);
	} else {
		tty_put(t, c);
	}
}

static void line_push(struct tty *t, u16 entry)
{
	if (t->head - t->tail < RING) {
		t->ring[t->head % RING] = entry;
		t->head++;
	}
}

void tty_commit(struct tty *t)
{
	t->committed = t->head;
	wake_up_noted(&t->read_note);
}

/* Erases the last character of the line from the screen. */
static void rub_out(struct tty *t, u8 c)
{
	unsigned width = shown_as_caret(t, c) ? 2 : 1;

	if (!tty_local(t, ECHO))
		return;
	if (!tty_local(t, ECHOE)) {
		echo(t, t->settings.cc[VERASE]);
		return;
	}
	while (width--) {
		tty_put(t, '\b');
		tty_put(t, ' ');
		tty_put(t, '\b');
	}
}

static bool continuation(const struct tty *t, u8 c)
{
	return t->settings.iflag & IUTF8 && (c & 0xc0) == 0x80;
}

static bool erase_one(struct tty *t)
{
	u8 c;

	if (t->head == t->committed)
		return false;
	do {
		c = (u8)t->ring[--t->head % RING];
	} while (continuation(t, c) && t->head != t->committed);
	rub_out(t, c);
	return true;
}

static void erase_word(struct tty *t)
{
	bool in_word = false;

	while (t->head != t->committed) {
		u8 c = (u8)t->ring[(t->head - 1) % RING];
		bool blank = c == ' ' || c == '\t';

		if (blank && in_word)
			break;
		in_word |= !blank;
		erase_one(t);
	}
}

static void erase_line(struct tty *t)
{
	if (tty_local(t, ECHOKE) && tty_local(t, ECHOE)) {
		while (erase_one(t))
			;
		return;
	}
	t->head = t->committed;
	echo(t, t->settings.cc[VKILL]);
	if (tty_local(t, ECHOK))
		tty_put(t, '\n');
}

static void reprint(struct tty *t)
{
	echo(t, t->settings.cc[VREPRINT]);
	tty_put(t, '\n');
	for (u32 at = t->committed; at != t->head; at++)
		echo(t, (u8)t->ring[at % RING]);
}

void tty_flush_input(struct tty *t)
{
	t->head = t->tail = t->committed = 0;
	if (t->pty)
		pty_input_taken(t->pty);
}

/* Sends the signal of a control character; true: it was one. */
static bool signal_character(struct tty *t, u8 c)
{
	int sig;

	if (is(t, c, VINTR))
		sig = SIGINT;
	else if (is(t, c, VQUIT))
		sig = SIGQUIT;
	else if (is(t, c, VSUSP))
		sig = SIGTSTP;
	else
		return false;
	if (!tty_local(t, NOFLSH))
		tty_flush_input(t);
	echo(t, c);
	if (t->foreground)
		signal_pgrp(t->foreground, sig, NULL);
	return true;
}

static bool edit_character(struct tty *t, u8 c)
{
	if (is(t, c, VERASE))
		erase_one(t);
	else if (is(t, c, VKILL))
		erase_line(t);
	else if (tty_local(t, IEXTEN) && is(t, c, VWERASE))
		erase_word(t);
	else if (tty_local(t, IEXTEN) && is(t, c, VREPRINT))
		reprint(t);
	else
		return false;
	return true;
}

static void line_character(struct tty *t, u8 c)
{
	if (edit_character(t, c))
		return;
	if (is(t, c, VEOF)) {
		line_push(t, c | ENTRY_EOF);
		tty_commit(t);
		return;
	}
	/* The last place in the ring is reserved for a character that ends the line. */
	if (c == '\n' || is(t, c, VEOL) || (tty_local(t, IEXTEN) && is(t, c, VEOL2))) {
		echo(t, c);
		line_push(t, c | ENTRY_END);
		tty_commit(t);
	} else if (t->head - t->tail < RING - 1) {
		echo(t, c);
		line_push(t, c);
	}
}

void tty_set_stopped(struct tty *t, bool stopped)
{
	t->stopped = stopped;
	if (!stopped)
		wake_up_noted(&t->write_note);
}

static bool flow_character(struct tty *t, u8 c)
{
	if (is(t, c, VSTOP)) {
		tty_set_stopped(t, true);
		return true;
	}
	if (is(t, c, VSTART)) {
		tty_set_stopped(t, false);
		return true;
	}
	if (t->stopped && t->settings.iflag & IXANY)
		tty_set_stopped(t, false);
	return false;
}

void tty_input(struct tty *t, u8 c)
{
	u32 flags = t->settings.iflag;

	if (flags & ISTRIP)
		c &= 0x7f;
	if (t->literal_next) {
		t->literal_next = false;
		echo(t, c);
		line_push(t, c);
		if (!tty_local(t, ICANON))
			tty_commit(t);
		return;
	}
	if (flags & IXON && flow_character(t, c))
		return;
	if (tty_local(t, ISIG) && signal_character(t, c))
		return;
	if (c == '\r') {
		if (flags & IGNCR)
			return;
		if (flags & ICRNL)
			c = '\n';
	} else if (c == '\n' && flags & INLCR) {
		c = '\r';
	}
	if (tty_local(t, IEXTEN) && tty_local(t, ICANON) && is(t, c, VLNEXT)) {
		t->literal_next = true;
		if (tty_local(t, ECHO)) {
			tty_put(t, '^');
			tty_put(t, '\b');
		}
		return;
	}
	if (tty_local(t, ICANON)) {
		line_character(t, c);
		return;
	}
	echo(t, c);
	line_push(t, c);
	tty_commit(t);
}
