/* The devices of every board: the UART and the interrupt controllers. */
#ifndef BOARD_H
#define BOARD_H
#include <types.h>

/* The 16550 UART (dev/uart.c) prints the kernel's own messages, also before the terminal exists. */
void uart_init(uintptr_t registers);    /* virtual address of its first register; output is polled */
void uart_putc(char c);
void uart_write(const char *text, size_t size);
void uart_enable_receive(void);         /* at the end of the boot: received bytes go to the terminal */
void uart_interrupt(void);              /* its interrupt */

/*
 * The pair of 8259 interrupt controllers (dev/i8259.c). `ports` is the virtual address of I/O port 0. `acknowledge` is
 * the virtual address of the PReP byte that acknowledges an interrupt; if it is 0, the controllers are polled.
 */
void i8259_init(uintptr_t ports, uintptr_t acknowledge);
void i8259_unmask(unsigned irq);
void i8259_dispatch(void);              /* handles the pending input, if there is one */

/*
 * The OpenPIC of a board that has one (dev/openpic.c). `registers` is the virtual address of its registers, `cascade`
 * the number of the source that the 8259 pair drives, active high.
 */
void openpic_init(uintptr_t registers, unsigned cascade);
void openpic_start_cpu(u32 number);     /* lets another processor begin, at its reset vector; the other holds it */
void openpic_stop_cpu(u32 number);
void openpic_init_cpu(void);            /* each processor for itself: it takes interrupts from now on */
void openpic_handle(u32 vector);        /* an interrupt that the caller has acknowledged by itself */

/* What code that acknowledges by itself must know: registers of the processor that accesses them, and vectors. */
#define OPENPIC_ACKNOWLEDGE 0xa0u
#define OPENPIC_END         0xb0u
#define OPENPIC_VECTOR_IPI  0x20u       /* plus the kind */

struct irq_controller;
extern const struct irq_controller i8259_controller, openpic_controller;

#endif
