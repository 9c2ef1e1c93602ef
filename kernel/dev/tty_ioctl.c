/* Terminal requests, and opening, which can make a terminal the controlling one of a session. */
#include "tty_internal.h"

#include <arch.h>
#include <err.h>
#include <lib.h>
#include <process.h>
#include <signal.h>
#include <task.h>
#include <uaccess.h>

static void take_settings(struct tty *t, const struct termios *new, bool flush)
{
	struct termios old = t->settings;

	t->settings = *new;
	if (flush)
		tty_flush_input(t);
	tty_settings_changed(t, &old);
}

static long set_termios(struct tty *t, uaddr_t argument, bool flush)
{
	struct termios new;
	long result = tty_check_change(t);

	if (result)
		return result;
	if (copy_from_user(&new, (void *)argument, sizeof(new)))
		return -EFAULT;
	take_settings(t, &new, flush);
	return 0;
}

/* The old structure has the low halves of the flags, and ten control characters in another order. */
static const u8 old_order[10] = { VINTR, VQUIT, VERASE, VKILL, VEOF, VMIN, VEOL, VTIME, VEOL2, VSWTC };

static long set_termio(struct tty *t, uaddr_t argument, bool flush)
{
	struct termios new = t->settings;
	struct termio old;
	long result = tty_check_change(t);

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
	take_settings(t, &new, flush);
	return 0;
}

static long get_termio(const struct tty *t, uaddr_t argument)
{
	struct termio old = {
		.iflag = (u16)t->settings.iflag,
		.oflag = (u16)t->settings.oflag,
		.cflag = (u16)t->settings.cflag,
		.lflag = (u16)t->settings.lflag,
		.line = t->settings.line,
	};

	for (unsigned i = 0; i < ARRAY_SIZE(old_order); i++)
		old.cc[i] = t->settings.cc[old_order[i]];
	return copy_to_user((void *)argument, &old, sizeof(old));
}

static long set_foreground(struct tty *t, uaddr_t argument)
{
	s32 pgid;
	long result;

	if (!tty_is_controlling(t))
		return -ENOTTY;
	if (get_user(pgid, (s32 *)argument))
		return -EFAULT;
	if (pgid < 0)
		return -EINVAL;
	result = tty_check_change(t);
	if (result)
		return result;
	if (!pgrp_in_session(pgid, t->session))
		return -EPERM;
	t->foreground = pgid;
	return 0;
}

static long tty_set_size(struct tty *t, uaddr_t argument)
{
	struct winsize size;

	if (copy_from_user(&size, (void *)argument, sizeof(size)))
		return -EFAULT;
	if (!memcmp(&size, &t->size, sizeof(size)))
		return 0;
	t->size = size;
	if (t->foreground)
		signal_pgrp(t->foreground, SIGWINCH, NULL);
	return 0;
}

static void become_controlling(struct tty *t)
{
	t->session = current->process->sid;
	t->foreground = current->process->pgid;
}

static bool leads_session(void)
{
	return current->process->sid == current->process->pid;
}

static long take_terminal(struct tty *t, u32 steal)
{
	if (tty_is_controlling(t))
		return 0;
	if (!leads_session() || tty_of_session(current->process->sid) ||
	    (t->session && !(steal == 1 && capable())))
		return -EPERM;
	become_controlling(t);
	return 0;
}

static long give_up(struct tty *t)
{
	if (!tty_is_controlling(t))
		return -ENOTTY;
	if (leads_session())
		tty_disassociate(t);
	return 0;
}

static long flush(struct tty *t, u32 which)
{
	long result = tty_check_change(t);

	if (result)
		return result;
	if (which > 2)
		return -EINVAL;
	if (which != 1)		/* TCIFLUSH, TCIOFLUSH; there is no output queue */
		tty_flush_input(t);
	return 0;
}

static long flow(struct tty *t, u32 action)
{
	switch (action) {
	case 0:		/* TCOOFF */
		t->stopped = true;
		return 0;
	case 1:		/* TCOON */
		t->stopped = false;
		wake_up(&t->writable);
		return 0;
	case 2:		/* TCIOFF, TCION: nothing to tell the other end */
	case 3:
		return 0;
	}
	return -EINVAL;
}

static long tty_insert(struct tty *t, uaddr_t argument)
{
	char c;

	if (!tty_is_controlling(t) && !capable())
		return -EPERM;
	if (get_user(c, (char *)argument))
		return -EFAULT;
	tty_input(t, (u8)c);
	return 0;
}

/* The bytes that FIONREAD counts: in canonical mode those of finished lines, without end-of-file marks. */
static s32 bytes_ready(const struct tty *t)
{
	s32 n = 0;

	for (u32 at = t->tail; at != t->committed; at++)
		n += !(t->ring[at % RING] & ENTRY_EOF);
	return n;
}

long tty_request(struct tty *t, unsigned command, uintptr_t argument)
{
	uaddr_t user = argument;

	switch (command) {
	case TCGETS:
		return copy_to_user((void *)user, &t->settings, sizeof(t->settings));
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
		return set_termios(t, user, command == TCSETSF);
	case TCGETA:
		return get_termio(t, user);
	case TCSETA:
	case TCSETAW:
	case TCSETAF:
		return set_termio(t, user, command == TCSETAF);
	case TIOCGWINSZ:
		return copy_to_user((void *)user, &t->size, sizeof(t->size));
	case TIOCSWINSZ:
		return tty_set_size(t, user);
	case TIOCGPGRP:
		return tty_is_controlling(t) ? put_user(t->foreground, (s32 *)user) : -ENOTTY;
	case TIOCSPGRP:
		return set_foreground(t, user);
	case TIOCGSID:
		return tty_is_controlling(t) ? put_user(t->session, (s32 *)user) : -ENOTTY;
	case TIOCSCTTY:
		return take_terminal(t, user);
	case TIOCNOTTY:
		return give_up(t);
	case TCFLSH:
		return flush(t, user);
	case TCXONC:
		return flow(t, user);
	case TCSBRK:
	case TCSBRKP:
		return tty_check_change(t);
	case TIOCSTI:
		return tty_insert(t, user);
	case TIOCOUTQ:
		return put_user(0, (s32 *)user);
	case FIONREAD:
		return put_user(bytes_ready(t), (s32 *)user);
	case TIOCGETD:
		return put_user(0, (s32 *)user);
	case TIOCMGET:
		return put_user(0x126, (s32 *)user);	/* DTR, RTS, CTS, DSR */
	case TIOCEXCL:
	case TIOCNXCL:
		return 0;
	}
	return -ENOTTY;
}

long tty_ioctl(struct file *f, unsigned command, uintptr_t argument)
{
	struct tty *t = f->data;

	return t->hung_up ? -EIO : tty_request(t, command, argument);
}

void tty_opened(struct file *f)
{
	struct tty *t = f->data;

	if (!(f->flags & O_NOCTTY) && leads_session() && !t->session && !tty_of_session(current->process->sid))
		become_controlling(t);
}

static int tty_open(struct file *f)
{
	f->data = &console_tty;
	tty_opened(f);
	return 0;
}

static int console_open(struct file *f)
{
	f->data = &console_tty;
	return 0;
}

static int controlling_open(struct file *f)
{
	struct tty *t = tty_of_session(current->process->sid);

	if (!t)
		return -ENXIO;
	if (t->pty)
		pty_get(t->pty);
	f->data = t;
	return 0;
}

static void controlling_release(struct file *f)
{
	struct tty *t = f->data;

	if (t->pty)
		pty_release(t->pty);
}

const struct file_ops tty_ops = {
	.open = tty_open, .read = tty_read, .write = tty_write, .poll = tty_poll, .ioctl = tty_ioctl, .signals = true,
};

const struct file_ops console_ops = {
	.open = console_open, .read = tty_read, .write = tty_write, .poll = tty_poll, .ioctl = tty_ioctl, .signals = true,
};

const struct file_ops controlling_ops = {
	.open = controlling_open, .read = tty_read, .write = tty_write, .poll = tty_poll, .ioctl = tty_ioctl, .signals = true,
	.release = controlling_release,
};
