/* Text that grows. */
#include <text.h>

#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <window.h>

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
	for (size_t done = 0, part; done < text->len; done += part) {
		part = MIN(text->len - done, (size_t)PAGE_SIZE);
		memcpy(larger + done, text->buffer + done, part);
		interrupt_window();
	}
	kfree(text->buffer);
	text->buffer = larger;
	text->size = size;
	return true;
}

void text_write(struct text *text, const char *from, size_t n)
{
	if (!text_reserve(text, n))
		return;
	memcpy(text->buffer + text->len, from, n);
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
