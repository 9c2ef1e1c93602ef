/* The state of a terminal, shared by the files of dev/. */
#ifndef TTY_INTERNAL_H
#define TTY_INTERNAL_H
#include <abi/termios.h>
#include <file.h>
#include <signal.h>
#include <tty.h>
#include <wait.h>

#define RING 4096u      /* characters of input kept */
#define ENTRY_END 0x100u        /* this character ends a line */
#define ENTRY_EOF 0x200u        /* ends a read, and is not delivered */

struct pty;

struct tty {
	struct list_head link;          /* all terminals that are not hung up */
	u32 device;
	struct pty *pty;                /* the other end of a pseudo-terminal; NULL: the UART */
	struct termios settings;
	struct termios locked;          /* where a bit or a character is not 0, `settings` does not change */
	struct winsize size;
	u16 ring[RING];
	u32 head, tail, committed;      /* counts of characters; positions are modulo RING */
	u32 column;
	bool literal_next;      /* after VLNEXT */
	bool stopped;           /* after VSTOP */
	bool hung_up;           /* the other end was closed */
	s32 session;            /* the session that it controls; 0: none */
	s32 foreground;         /* process group; 0: none */
	struct deferred signalling;     /* of the group, which an interrupt handler leaves to a task */
	sigset signals;         /* that the group then gets */
	struct waitq readable, writable;
	struct wake_note read_note, write_note; /* of these queues */
};

extern struct tty console_tty;

/* dev/line.c: processing characters by the settings. */
static inline bool tty_local(const struct tty *tty, u32 flag)
{
	return (tty->settings.lflag & flag) != 0;
}
void tty_input(struct tty *, u8 character);     /* processes a typed character */
void tty_flush_input(struct tty *);
void tty_commit(struct tty *);                  /* makes all input readable */
void tty_put(struct tty *, u8 character);       /* processes a program's output */
void tty_set_stopped(struct tty *, bool stopped);

/* dev/tty.c */
void tty_setup(struct tty *, u32 device, struct pty *);
struct tty *tty_of_session(s32 session);        /* the session's controlling terminal, or NULL */
/* The foreground group, if it still has members: its number may be another session's by now. */
void tty_signal(const struct tty *, int sig);
void tty_disassociate(struct tty *);    /* from its session; its foreground gets SIGHUP, SIGCONT */
void tty_hang_up(struct tty *);         /* the session's leader gets SIGHUP and SIGCONT */
bool tty_is_controlling(const struct tty *);
long tty_check_change(struct tty *);    /* 0, or SIGTTOU was sent to a background caller */
void tty_settings_changed(struct tty *, const struct termios *old);

long tty_read(struct file *, struct iter *, u64 *position);
long tty_write(struct file *, struct iter *, u64 *position);
unsigned tty_poll(struct file *, struct poll_table *);
long tty_request(struct tty *, unsigned command, uintptr_t argument);
long tty_ioctl(struct file *, unsigned command, uintptr_t argument);
void tty_opened(struct file *);         /* may make it controlling; f->data is a struct tty */

/* dev/pty.c: the controlling side of output and input. */
void pty_putc(struct pty *, u8);        /* dropped if there is no room */
size_t pty_room(const struct pty *);
void pty_input_taken(struct pty *);     /* a reader made room for input */
void pty_get(struct pty *);             /* a file on the terminal is opened */
void pty_release(struct pty *);         /* a file on the terminal is closed */

extern const struct file_ops tty_ops;           /* /dev/ttyS0, /dev/tty */
extern const struct file_ops console_ops;       /* /dev/console: never becomes controlling by itself */
extern const struct file_ops controlling_ops;   /* /dev/tty */
extern const struct file_ops ptmx_ops;          /* /dev/ptmx */

#endif
