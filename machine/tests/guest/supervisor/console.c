/* The UART, polled. */

#include "guest.h"

#define UART ((volatile uint8_t *)0x800003f8)

static void put(char c)
{
	while (!(UART[5] & 0x20)) {
	}
	UART[0] = (uint8_t)c;
	__asm__ volatile("eieio");
}

void print(const char *text)
{
	for (; *text; text++)
		put(*text);
}

void print_hex(uint32_t value)
{
	for (int shift = 28; shift >= 0; shift -= 4)
		put("0123456789abcdef"[value >> shift & 15]);
}

void line(const char *name, uint32_t value)
{
	print(name);
	print(" ");
	print_hex(value);
	print("\n");
}

/* Says how the last probe ended: vector, SRR1's status bits and what else the exception defines. */
void report(const char *name)
{
	const volatile struct record *r = RECORD;
	print(name);
	print(": ");
	switch (r->vector) {
	case 0xc00:
		print("done");
		break;
	case 0x300:
		print("dsi dsisr ");
		print_hex(r->dsisr);
		print(" dar ");
		print_hex(r->dar);
		break;
	case 0x400:
		print("isi srr1 ");
		print_hex(r->srr1 & 0xffff0000);
		print(" srr0 ");
		print_hex(r->srr0);
		break;
	default:
		print("vector ");
		print_hex(r->vector);
		print(" srr1 ");
		print_hex(r->srr1);
	}
	print("\n");
}
