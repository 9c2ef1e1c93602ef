/* The devices of every board: the UART and the interrupt controllers. */
#ifndef BOARD_H
#define BOARD_H

#include <types.h>

/* The 16550 UART (dev/uart.c) prints the kernel's own messages, also before the terminal exists. */
void uart_init(uintptr_t registers);	/* virtual address of its first register; output is polled */
void uart_putc(char c);
void uart_write(const char *text, size_t size);
void uart_enable_receive(void);		/* at the end of the boot: received bytes go to the terminal */
void uart_interrupt(void);		/* IRQ 4 */

/*
 * The pair of 8259 interrupt controllers (dev/i8259.c). `ports` is the virtual address of I/O port 0, `acknowledge` that
 * of the PReP byte that acknowledges an interrupt; without it (0) the controllers are polled.
 */
void i8259_init(uintptr_t ports, uintptr_t acknowledge);
int i8259_acknowledge(void);		/* the pending input; -1: a spurious interrupt */
void i8259_end(unsigned irq);
void i8259_mask(unsigned irq, bool masked);
/* Handles an external interrupt (vector 0x500). */
void irq_dispatch(void);

#endif
