/* The 16550 UART (National Semiconductor PC16550D data sheet): polled output, interrupt-driven input. */
#include <arch.h>
#include <board.h>
#include <tty.h>

enum {
	RBR = 0,        /* receive buffer (read), transmit holding (write) */
	IER = 1,        /* interrupt enable */
	FCR = 2,        /* FIFO control (write) */
	LCR = 3,        /* line control */
	MCR = 4,        /* modem control */
	LSR = 5,        /* line status */
};

#define IER_RECEIVE 0x01
#define FCR_ENABLE_AND_CLEAR 0x07
#define LCR_8N1 0x03
#define MCR_DTR_RTS_OUT2 0x0b   /* OUT2 gates the interrupt on ISA boards */
#define MCR_LOOPBACK 0x10       /* the line is cut off */
#define LSR_DATA_READY 0x01
#define LSR_THR_EMPTY 0x20

#define FIFO_DEPTH 16

static u8 *uart_registers;

/* Bytes received before uart_init. */
static char early_input[FIFO_DEPTH];
static unsigned int early_count;

void uart_init(uintptr_t address)
{
	uart_registers = (u8 *)address;
	/* Enabling the FIFOs clears them (data sheet, 8.4): drain first, in loopback. */
	io_write8(uart_registers + MCR, MCR_LOOPBACK);
	io_write8(uart_registers + LCR, LCR_8N1);
	io_write8(uart_registers + IER, 0);
	while (early_count < FIFO_DEPTH && io_read8(uart_registers + LSR) & LSR_DATA_READY)
		early_input[early_count++] = (char)io_read8(uart_registers + RBR);
	io_write8(uart_registers + FCR, FCR_ENABLE_AND_CLEAR);
	io_write8(uart_registers + MCR, MCR_DTR_RTS_OUT2);
}

void uart_putc(char c)
{
	if (!uart_registers)
		return;
	while (!(io_read8(uart_registers + LSR) & LSR_THR_EMPTY))
		;
	io_write8(uart_registers + RBR, (u8)c);
}

void uart_write(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		uart_putc(text[i]);
}

void uart_enable_receive(void)
{
	for (unsigned int i = 0; i < early_count; i++)
		tty_receive(early_input[i]);
	io_write8(uart_registers + IER, IER_RECEIVE);
}

void uart_interrupt(void)
{
	while (io_read8(uart_registers + LSR) & LSR_DATA_READY)
		tty_receive((char)io_read8(uart_registers + RBR));
}
