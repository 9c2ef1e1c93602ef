/* What the programs need of a C library, over exit and write alone: PSIM has few system calls, and a host's compiler
 * has no library for the i386. ROUNDS is their argument. */
#include <stdarg.h>
#include <stddef.h>

enum { SYS_EXIT = 1, SYS_WRITE = 4 };

int main(int argc, char **argv);

#ifdef __i386__
static void call(long number, long first, long second, long third)
{
	__asm__ volatile("int $0x80" : "+a"(number) : "b"(first), "c"(second), "d"(third) : "memory");
}
#else
static void call(long number, long first, long second, long third)
{
	register long r0 __asm__("r0") = number;
	register long r3 __asm__("r3") = first;
	register long r4 __asm__("r4") = second;
	register long r5 __asm__("r5") = third;

	__asm__ volatile("sc" : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5)
			 : : "memory", "cr0", "ctr", "xer", "r6", "r7", "r8",
			 "r9", "r10", "r11", "r12");
}
#endif

void abort(void)
{
	for (;;)
		call(SYS_EXIT, 134, 0, 0);
}

unsigned long strtoul(const char *text, char **end, int base)
{
	unsigned long value = 0;

	for (; *text; text++)
		value = value * base + *text - '0';
	if (end)
		*end = (char *)text;
	return value;
}

void *memset(void *to, int value, size_t bytes)
{
	volatile char *next = to;

	while (bytes--)
		*next++ = value;
	return to;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
	volatile char *next = to;
	const char *of = from;

	while (bytes--)
		*next++ = *of++;
	return to;
}

/* One number alone, and the end of the line. */
int printf(const char *format, ...)
{
	char text[16];
	int at = sizeof(text);
	unsigned base = format[1] == 'u' ? 10 : 16, value;
	va_list list;

	va_start(list, format);
	value = va_arg(list, unsigned);
	va_end(list);
	text[--at] = '\n';
	do {
		text[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	call(SYS_WRITE, 1, (long)(text + at), sizeof(text) - at);
	return sizeof(text) - at;
}

__attribute__((used)) static void begin(void)
{
	static char *arguments[] = { "bench", ROUNDS, NULL };

	call(SYS_EXIT, main(2, arguments), 0, 0);
}

#ifdef __i386__
__asm__(".globl _start\n"
	"_start:\n"
	"\tandl $-16, %esp\n"
	"\tcall begin\n");
#else
__asm__(".globl _start\n"
	"_start:\n"
	"\tclrrwi 1,1,4\n"
	"\tstwu 1,-64(1)\n"
	"\tbl begin\n");
#endif
