/* Terminals. */
#ifndef TTY_H
#define TTY_H
#include <types.h>

/* Terminals (dev/tty.c). */
void tty_init(void);
void tty_receive(char);         /* a character from the UART */
/* For the exit of a session leader, and for /proc. */
void tty_session_gone(s32 session);
s32 tty_foreground(s32 session);        /* foreground group of its terminal, 0: none */
u32 tty_number(s32 session);            /* device number of its terminal in the ABI's form; 0: none */

#endif
