/* Text that grows. */
#include <cpu.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <text.h>
#include <window.h>

/* Opens a window after each page but the last. */
static void text_copy(const struct text *text, char *to, const char *from, size_t n)
{
	for (; n > PAGE_SIZE; n -= PAGE_SIZE, to += PAGE_SIZE, from += PAGE_SIZE) {
		memcpy(to, from, PAGE_SIZE);
		if (text->preemptible)
			preemption_point();
		else
			interrupt_window();
	}
	memcpy(to, from, n);
}

/* Makes room for n more bytes and a NUL. */
static bool text_reserve(struct text *text, size_t n)
{
	size_t size = text->size ? text->size : 512;
	char *larger;

	if (text->no_memory)
		return false;
	if (text->len + n + 1 <= text->size)
		return true;
	while (size < text->len + n + 1)
		size *= 2;
	larger = kmalloc(size);
	if (!larger) {
		text->no_memory = true;
		return false;
	}
	text_copy(text, larger, text->buffer, text->len);
	kfree(text->buffer);
	text->buffer = larger;
	text->size = size;
	return true;
}

void text_write(struct text *text, const char *from, size_t n)
{
	if (!text_reserve(text, n))
		return;
	text_copy(text, text->buffer + text->len, from, n);
	text->len += n;
}

void text_puts(struct text *text, const char *s)
{
	text_write(text, s, strlen(s));
}

void text_putc(struct text *text, char c)
{
	text_write(text, &c, 1);
}

void text_printf(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	/* Texts are built of many pieces, so this is a good place for a window. */
	interrupt_window();
	if (!text_reserve(text, 128))
		return;
	va_start(args, format);
	n = vsnprintf(text->buffer + text->len, text->size - text->len, format, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= text->size - text->len) {
		if (!text_reserve(text, (size_t)n))
			return;
		va_start(args, format);
		n = vsnprintf(text->buffer + text->len, text->size - text->len, format, args);
		va_end(args);
	}
	text->len += (size_t)n;
}

void text_cpus(struct text *text, u32 cpus)
{
	const char *between = "";

	for (u32 first = 0, end; first < CPUS; first = end + 1) {
		for (end = first; end < CPUS && cpus & 1u << end; end++)
			;
		if (end == first)
			continue;
		text_printf(text, end == first + 1 ? "%s%u" : "%s%u-%u", between, first, end - 1);
		between = ",";
	}
}
