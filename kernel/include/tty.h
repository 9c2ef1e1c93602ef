/* Terminals. */
#ifndef TTY_H
#define TTY_H

#include <types.h>

/* Terminals (dev/tty.c). */
void tty_init(void);
void tty_receive(char);		/* from the UART */
/* For setsid, exit of a session leader and /proc: */
void tty_session_gone(s32 session);
s32 tty_foreground(s32 session);	/* of its terminal: process group, 0 if none; -1 without a terminal */
u32 tty_number(s32 session);		/* its terminal's device number in the ABI's form, 0 without one */

#endif
