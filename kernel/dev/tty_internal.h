/* The terminal's state, for its files. */
#ifndef TTY_INTERNAL_H
#define TTY_INTERNAL_H

#include <file.h>
#include <tty.h>
#include <wait.h>

#include "termios.h"

#define RING 4096u	/* characters of input kept */
#define ENTRY_END 0x100u	/* this character ends a line */
#define ENTRY_EOF 0x200u	/* ends a read and is not itself delivered */

struct tty {
	struct termios settings;
	struct winsize size;
	u16 ring[RING];
	u32 head, tail, committed;	/* counts of characters; positions are modulo RING */
	u32 column;
	bool literal_next;	/* after VLNEXT */
	bool stopped;		/* after VSTOP */
	s32 session;		/* that it controls; 0: none */
	s32 foreground;		/* process group; 0: none */
	struct waitq readable, writable;
};

extern struct tty console_tty;

void tty_flush_input(struct tty *);
bool tty_is_controlling(const struct tty *);
long tty_check_change(struct tty *);	/* 0, or SIGTTOU was sent to a background caller */
void tty_settings_changed(struct tty *, const struct termios *old);

long tty_read(struct file *, struct iter *, u64 *position);
long tty_write(struct file *, struct iter *, u64 *position);
unsigned tty_poll(struct file *, struct poll_table *);

extern const struct file_ops tty_ops;		/* /dev/ttyS0, /dev/tty */
extern const struct file_ops console_ops;	/* /dev/console: never becomes controlling by itself */
extern const struct file_ops controlling_ops;	/* /dev/tty */

#endif
