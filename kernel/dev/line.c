/*
 * The line discipline of terminals: processing of typed characters (editing, echo, signals, flow control) and of
 * output (POSIX.1, chapter 11). Input is kept in one ring. In canonical mode, the part from `committed` on is the line
 * being edited; readers see only the part before it.
 */
#include <board.h>
#include <signal.h>
#include <window.h>

#include "tty_internal.h"

/* Shows a character to the user of the terminal. */
static void show_character(struct tty *tty, u8 c)
{
	if (tty->pty)
		pty_putc(tty->pty, c);
	else
		uart_putc((char)c);
}

/*
 * Opens a window in the middle of the work on a long line of a pseudoterminal. The console gets none: its characters
 * come by an interrupt, which must not change a line that is being edited.
 */
static void line_window(const struct tty *tty, u32 step)
{
	if (tty->pty)
		interrupt_window_at(step);
}

/* A disabled control character is 0. */
static bool is_control(const struct tty *tty, u8 c, unsigned which)
{
	return c && c == tty->settings.cc[which];
}

void tty_put(struct tty *tty, u8 c)
{
	u32 flags = tty->settings.oflag;

	if (!(flags & OPOST)) {
		show_character(tty, c);
		return;
	}
	switch (c) {
	case '\n':
		if (flags & ONLRET)
			tty->column = 0;
		if (flags & ONLCR) {
			show_character(tty, '\r');
			tty->column = 0;
		}
		break;
	case '\r':
		if (flags & ONOCR && tty->column == 0)
			return;
		if (flags & OCRNL)
			c = '\n';
		tty->column = 0;
		break;
	case '\t':
		if ((flags & TABDLY) == XTABS) {
			do {
				show_character(tty, ' ');
			} while (++tty->column % 8);
			return;
		}
		tty->column = (tty->column | 7) + 1;
		break;
	case '\b':
		if (tty->column)
			tty->column--;
		break;
	default:
		if (c >= ' ' && c != 127 && (c & 0xc0) != 0x80)
			tty->column++;
	}
	show_character(tty, c);
}

static bool shown_as_caret(const struct tty *tty, u8 c)
{
	return tty_local(tty, ECHOCTL) && (c < ' ' || c == 127) && c != '\n' && c != '\t';
}

static void echo_character(struct tty *tty, u8 c)
{
	if (!tty_local(tty, ECHO) && !(c == '\n' && tty_local(tty, ECHONL) && tty_local(tty, ICANON)))
		return;
	if (shown_as_caret(tty, c)) {
		tty_put(tty, '^');
		tty_put(tty, c ^ 0x40);
	} else {
		tty_put(tty, c);
	}
}

static void line_push(struct tty *tty, u16 entry)
{
	if (tty->head - tty->tail < RING) {
		tty->ring[tty->head % RING] = entry;
		tty->head++;
	}
}

void tty_commit(struct tty *tty)
{
	tty->committed = tty->head;
	wake_up_noted(&tty->read_note);
}

/* Erases the last character of the line from the screen. */
static void rub_out_character(struct tty *tty, u8 c)
{
	unsigned width = shown_as_caret(tty, c) ? 2 : 1;

	if (!tty_local(tty, ECHO))
		return;
	if (!tty_local(tty, ECHOE)) {
		echo_character(tty, tty->settings.cc[VERASE]);
		return;
	}
	while (width--) {
		tty_put(tty, '\b');
		tty_put(tty, ' ');
		tty_put(tty, '\b');
	}
}

static bool is_continuation(const struct tty *tty, u8 c)
{
	return tty->settings.iflag & IUTF8 && (c & 0xc0) == 0x80;
}

static bool erase_one(struct tty *tty)
{
	u8 c;

	if (tty->head == tty->committed)
		return false;
	do {
		c = (u8)tty->ring[--tty->head % RING];
	} while (is_continuation(tty, c) && tty->head != tty->committed);
	rub_out_character(tty, c);
	return true;
}

static void erase_word(struct tty *tty)
{
	bool in_word = false;

	while (tty->head != tty->committed) {
		line_window(tty, tty->head);
		u8 c = (u8)tty->ring[(tty->head - 1) % RING];
		bool blank = c == ' ' || c == '\t';

		if (blank && in_word)
			break;
		in_word |= !blank;
		erase_one(tty);
	}
}

static void erase_line(struct tty *tty)
{
	if (tty_local(tty, ECHOKE) && tty_local(tty, ECHOE)) {
		while (erase_one(tty))
			line_window(tty, tty->head);
		return;
	}
	tty->head = tty->committed;
	echo_character(tty, tty->settings.cc[VKILL]);
	if (tty_local(tty, ECHOK))
		tty_put(tty, '\n');
}

static void reprint_line(struct tty *tty)
{
	echo_character(tty, tty->settings.cc[VREPRINT]);
	tty_put(tty, '\n');
	/* Stops when the output is full: one typed character may show a line of thousands again. */
	for (u32 at = tty->committed; at != tty->head && (!tty->pty || pty_room(tty->pty)); at++) {
		line_window(tty, at);
		echo_character(tty, (u8)tty->ring[at % RING]);
	}
}

void tty_flush_input(struct tty *tty)
{
	tty->head = tty->tail = tty->committed = 0;
	if (tty->pty)
		pty_input_taken(tty->pty);
}

static void signal_foreground(struct deferred *work)
{
	struct tty *tty = container_of(work, struct tty, signalling);
	static const int all[] = { SIGINT, SIGQUIT, SIGTSTP };

	for (u32 i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (tty->signals & SIGBIT(all[i]))
			tty_signal(tty, all[i]);
	tty->signals = 0;
}

/* Sends the signal of a control character; true: it was one. */
static bool signal_character(struct tty *tty, u8 c)
{
	int sig;

	if (is_control(tty, c, VINTR))
		sig = SIGINT;
	else if (is_control(tty, c, VQUIT))
		sig = SIGQUIT;
	else if (is_control(tty, c, VSUSP))
		sig = SIGTSTP;
	else
		return false;
	if (!tty_local(tty, NOFLSH))
		tty_flush_input(tty);
	echo_character(tty, c);
	tty->signals |= SIGBIT(sig);
	note_work(&tty->signalling, signal_foreground);
	return true;
}

static bool edit_character(struct tty *tty, u8 c)
{
	if (is_control(tty, c, VERASE))
		erase_one(tty);
	else if (is_control(tty, c, VKILL))
		erase_line(tty);
	else if (tty_local(tty, IEXTEN) && is_control(tty, c, VWERASE))
		erase_word(tty);
	else if (tty_local(tty, IEXTEN) && is_control(tty, c, VREPRINT))
		reprint_line(tty);
	else
		return false;
	return true;
}

static void line_character(struct tty *tty, u8 c)
{
	if (edit_character(tty, c))
		return;
	if (is_control(tty, c, VEOF)) {
		line_push(tty, c | ENTRY_EOF);
		tty_commit(tty);
		return;
	}
	/* The last place in the ring is reserved for a character that ends the line. */
	if (c == '\n' || is_control(tty, c, VEOL) || (tty_local(tty, IEXTEN) && is_control(tty, c, VEOL2))) {
		echo_character(tty, c);
		line_push(tty, c | ENTRY_END);
		tty_commit(tty);
	} else if (tty->head - tty->tail < RING - 1) {
		echo_character(tty, c);
		line_push(tty, c);
	}
}

void tty_set_stopped(struct tty *tty, bool stopped)
{
	tty->stopped = stopped;
	if (!stopped)
		wake_up_noted(&tty->write_note);
}

static bool flow_character(struct tty *tty, u8 c)
{
	if (is_control(tty, c, VSTOP)) {
		tty_set_stopped(tty, true);
		return true;
	}
	if (is_control(tty, c, VSTART)) {
		tty_set_stopped(tty, false);
		return true;
	}
	if (tty->stopped && tty->settings.iflag & IXANY)
		tty_set_stopped(tty, false);
	return false;
}

void tty_input(struct tty *tty, u8 c)
{
	u32 flags = tty->settings.iflag;

	if (flags & ISTRIP)
		c &= 0x7f;
	if (tty->literal_next) {
		tty->literal_next = false;
		echo_character(tty, c);
		line_push(tty, c);
		if (!tty_local(tty, ICANON))
			tty_commit(tty);
		return;
	}
	if (flags & IXON && flow_character(tty, c))
		return;
	if (tty_local(tty, ISIG) && signal_character(tty, c))
		return;
	if (c == '\r') {
		if (flags & IGNCR)
			return;
		if (flags & ICRNL)
			c = '\n';
	} else if (c == '\n' && flags & INLCR) {
		c = '\r';
	}
	if (tty_local(tty, IEXTEN) && tty_local(tty, ICANON) && is_control(tty, c, VLNEXT)) {
		tty->literal_next = true;
		if (tty_local(tty, ECHO)) {
			tty_put(tty, '^');
			tty_put(tty, '\b');
		}
		return;
	}
	if (tty_local(tty, ICANON)) {
		line_character(tty, c);
		return;
	}
	echo_character(tty, c);
	line_push(tty, c);
	tty_commit(tty);
}
