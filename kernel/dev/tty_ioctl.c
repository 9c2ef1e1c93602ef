/* Terminal requests, and opening, which can make a terminal the controlling one of a session. */
#include <arch.h>
#include <lib.h>
#include <process.h>
#include <signal.h>
#include <task.h>
#include <uaccess.h>

#include "tty_internal.h"

static u32 change_unlocked(u32 old, u32 new, u32 locked)
{
	return (old & locked) | (new & ~locked);
}

static void take_settings(struct tty *tty, const struct termios *new, bool flush)
{
	const struct termios old = tty->settings, *locked = &tty->locked;

	tty->settings = *new;
	tty->settings.iflag = change_unlocked(old.iflag, new->iflag, locked->iflag);
	tty->settings.oflag = change_unlocked(old.oflag, new->oflag, locked->oflag);
	tty->settings.cflag = change_unlocked(old.cflag, new->cflag, locked->cflag);
	tty->settings.lflag = change_unlocked(old.lflag, new->lflag, locked->lflag);
	if (locked->line)
		tty->settings.line = old.line;
	for (unsigned i = 0; i < NCCS; i++)
		if (locked->cc[i])
			tty->settings.cc[i] = old.cc[i];
	if (flush)
		tty_flush_input(tty);
	tty_settings_changed(tty, &old);
}

static long set_termios(struct tty *tty, uaddr_t argument, bool flush)
{
	struct termios new;
	long result = tty_check_change(tty);

	if (result)
		return result;
	if (copy_from_user(&new, (void *)argument, sizeof(new)))
		return -EFAULT;
	take_settings(tty, &new, flush);
	return 0;
}

static long lock_settings(struct tty *tty, uaddr_t argument)
{
	struct termios new;

	if (!capable())
		return -EPERM;
	if (copy_from_user(&new, (void *)argument, sizeof(new)))
		return -EFAULT;
	tty->locked = new;
	return 0;
}

/* The old structure has the low halves of the flags, and some control characters in an order of its own. */
static const u8 old_order[] = { TERMIO_ORDER };

static long set_termio(struct tty *tty, uaddr_t argument, bool flush)
{
	struct termios new = tty->settings;
	struct termio old;
	long result = tty_check_change(tty);

	if (result)
		return result;
	if (copy_from_user(&old, (void *)argument, sizeof(old)))
		return -EFAULT;
	new.iflag = (new.iflag & 0xffff0000u) | old.iflag;
	new.oflag = (new.oflag & 0xffff0000u) | old.oflag;
	new.cflag = (new.cflag & 0xffff0000u) | old.cflag;
	new.lflag = (new.lflag & 0xffff0000u) | old.lflag;
	for (unsigned i = 0; i < ARRAY_SIZE(old_order); i++)
		new.cc[old_order[i]] = old.cc[i];
	take_settings(tty, &new, flush);
	return 0;
}

static long get_termio(const struct tty *tty, uaddr_t argument)
{
	struct termio old = {
		.iflag = (u16)tty->settings.iflag,
		.oflag = (u16)tty->settings.oflag,
		.cflag = (u16)tty->settings.cflag,
		.lflag = (u16)tty->settings.lflag,
		.line = tty->settings.line,
	};

	for (unsigned i = 0; i < ARRAY_SIZE(old_order); i++)
		old.cc[i] = tty->settings.cc[old_order[i]];
	return copy_to_user((void *)argument, &old, sizeof(old));
}

static long set_foreground(struct tty *tty, uaddr_t argument)
{
	s32 pgid;
	long result;

	if (!tty_is_controlling(tty))
		return -ENOTTY;
	if (get_user(pgid, (s32 *)argument))
		return -EFAULT;
	if (pgid < 0)
		return -EINVAL;
	result = tty_check_change(tty);
	if (result)
		return result;
	if (!pgrp_in_session(pgid, tty->session))
		return -EPERM;
	tty->foreground = pgid;
	return 0;
}

static long tty_set_size(struct tty *tty, uaddr_t argument)
{
	struct winsize size;

	if (copy_from_user(&size, (void *)argument, sizeof(size)))
		return -EFAULT;
	if (!memcmp(&size, &tty->size, sizeof(size)))
		return 0;
	tty->size = size;
	tty_signal(tty, SIGWINCH);
	return 0;
}

static void become_controlling(struct tty *tty)
{
	tty->session = current->process->sid;
	tty->foreground = current->process->pgid;
}

static bool leads_session(void)
{
	return current->process->sid == current->process->pid;
}

static long take_terminal(struct tty *tty, u32 steal)
{
	if (tty_is_controlling(tty))
		return 0;
	if (!leads_session() || tty_of_session(current->process->sid) ||
	    (tty->session && !(steal == 1 && capable())))
		return -EPERM;
	become_controlling(tty);
	return 0;
}

static long give_up_terminal(struct tty *tty)
{
	if (!tty_is_controlling(tty))
		return -ENOTTY;
	if (leads_session())
		tty_disassociate(tty);
	return 0;
}

static long tty_flush(struct tty *tty, u32 which)
{
	long result = tty_check_change(tty);

	if (result)
		return result;
	if (which > 2)
		return -EINVAL;
	if (which != 1)         /* TCIFLUSH, TCIOFLUSH; there is no output queue */
		tty_flush_input(tty);
	return 0;
}

static long tty_flow(struct tty *tty, u32 action)
{
	switch (action) {
	case 0:         /* TCOOFF */
		tty->stopped = true;
		return 0;
	case 1:         /* TCOON */
		tty->stopped = false;
		wake_up(&tty->writable);
		return 0;
	case 2:         /* TCIOFF, TCION: no effect, the sender cannot be stopped */
	case 3:
		return 0;
	}
	return -EINVAL;
}

static long tty_insert(struct tty *tty, uaddr_t argument)
{
	char c;

	if (!tty_is_controlling(tty) && !capable())
		return -EPERM;
	if (get_user(c, (char *)argument))
		return -EFAULT;
	tty_input(tty, (u8)c);
	return 0;
}

/* The bytes that FIONREAD counts: in canonical mode those of finished lines, without end-of-file marks. */
static s32 bytes_ready(const struct tty *tty)
{
	s32 n = 0;

	for (u32 at = tty->tail; at != tty->committed; at++)
		n += !(tty->ring[at % RING] & ENTRY_EOF);
	return n;
}

long tty_request(struct tty *tty, unsigned command, uintptr_t argument)
{
	uaddr_t user = argument;

	switch (command) {
	case TCGETS:
		return copy_to_user((void *)user, &tty->settings, sizeof(tty->settings));
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
		return set_termios(tty, user, command == TCSETSF);
	case TCGETA:
		return get_termio(tty, user);
	case TCSETA:
	case TCSETAW:
	case TCSETAF:
		return set_termio(tty, user, command == TCSETAF);
	case TIOCGLCKTRMIOS:
		return copy_to_user((void *)user, &tty->locked, sizeof(tty->locked));
	case TIOCSLCKTRMIOS:
		return lock_settings(tty, user);
	case TIOCGWINSZ:
		return copy_to_user((void *)user, &tty->size, sizeof(tty->size));
	case TIOCSWINSZ:
		return tty_set_size(tty, user);
	case TIOCGPGRP:
		return tty_is_controlling(tty) ? put_user(tty->foreground, (s32 *)user) : -ENOTTY;
	case TIOCSPGRP:
		return set_foreground(tty, user);
	case TIOCGSID:
		return tty_is_controlling(tty) ? put_user(tty->session, (s32 *)user) : -ENOTTY;
	case TIOCSCTTY:
		return take_terminal(tty, user);
	case TIOCNOTTY:
		return give_up_terminal(tty);
	case TCFLSH:
		return tty_flush(tty, user);
	case TCXONC:
		return tty_flow(tty, user);
	case TCSBRK:
	case TCSBRKP:
		return tty_check_change(tty);
	case TIOCSTI:
		return tty_insert(tty, user);
	case TIOCOUTQ:
		return put_user(0, (s32 *)user);
	case FIONREAD:
		return put_user(bytes_ready(tty), (s32 *)user);
	case TIOCGETD:
		return put_user(0, (s32 *)user);
	case TIOCMGET:
		return put_user(0x126, (s32 *)user);    /* DTR, RTS, CTS, DSR */
	case TIOCEXCL:
	case TIOCNXCL:
		return 0;
	}
	return -ENOTTY;
}

long tty_ioctl(struct file *file, unsigned command, uintptr_t argument)
{
	struct tty *tty = file->data;

	return tty->hung_up ? -EIO : tty_request(tty, command, argument);
}

void tty_opened(struct file *file)
{
	struct tty *tty = file->data;

	if (!(file->flags & O_NOCTTY) && leads_session() && !tty->session && !tty_of_session(current->process->sid))
		become_controlling(tty);
}

static int tty_open(struct file *file)
{
	file->data = &console_tty;
	tty_opened(file);
	return 0;
}

static int console_open(struct file *file)
{
	file->data = &console_tty;
	return 0;
}

static int controlling_open(struct file *file)
{
	struct tty *tty = tty_of_session(current->process->sid);

	if (!tty)
		return -ENXIO;
	if (tty->pty)
		pty_get(tty->pty);
	file->data = tty;
	return 0;
}

static void controlling_release(struct file *file)
{
	struct tty *tty = file->data;

	if (tty->pty)
		pty_release(tty->pty);
}

const struct file_ops tty_ops = {
	.open = tty_open, .read = tty_read, .write = tty_write, .poll = tty_poll, .ioctl = tty_ioctl, .signals = true,
};

const struct file_ops console_ops = {
	.open = console_open, .read = tty_read, .write = tty_write, .poll = tty_poll, .ioctl = tty_ioctl,
	.signals = true,
};

const struct file_ops controlling_ops = {
	.open = controlling_open, .read = tty_read, .write = tty_write, .poll = tty_poll, .ioctl = tty_ioctl,
	.signals = true,
	.release = controlling_release,
};
