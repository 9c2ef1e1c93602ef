/* Terminals. */
#ifndef TTY_H
#define TTY_H

#include <types.h>

/* The UART (dev/uart.c). Output before the terminal exists, and for the kernel's own messages. */
void uart_init(uintptr_t registers);	/* virtual address of the 16550's first register; polled output */
void uart_putc(char);
void uart_write(const char *, size_t);
void uart_enable_receive(void);		/* from the boot's end: received bytes go to the terminal */
void uart_interrupt(void);		/* IRQ 4 */

/* The 8259 pair (dev/i8259.c). */
void i8259_init(uintptr_t ports, uintptr_t acknowledge);	/* virtual addresses of port 0, of the PReP acknowledge byte; 0: poll */
int i8259_acknowledge(void);		/* the pending input, or -1 for a spurious one */
void i8259_end(unsigned irq);
void i8259_mask(unsigned irq, bool masked);
/* The external interrupt (vector 0x500) comes here. */
void irq_dispatch(void);

/* Terminals (dev/tty.c). */
void tty_init(void);
void tty_receive(char);		/* from the UART */
/* For setsid, exit of a session leader and /proc: */
void tty_session_gone(s32 session);
s32 tty_foreground(s32 session);	/* of its terminal: process group, 0 if none; -1 without a terminal */
u32 tty_number(s32 session);		/* its terminal's device number in the ABI's form, 0 without one */

#endif
