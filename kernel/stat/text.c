/* Text that grows. */
#include <text.h>

#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <window.h>

/* Makes room for n more bytes and a NUL. */
static bool reserve(struct text *t, size_t n)
{
	size_t size = t->size ? t->size : 512;
	char *larger;

	if (t->no_memory)
		return false;
	if (t->len + n + 1 <= t->size)
		return true;
	while (size < t->len + n + 1)
		size *= 2;
	larger = kmalloc(size);
	if (!larger) {
		t->no_memory = true;
		return false;
	}
	for (size_t done = 0, part; done < t->len; done += part) {
		part = MIN(t->len - done, (size_t)PAGE_SIZE);
		memcpy(larger + done, t->buffer + done, part);
		interrupt_window();
	}
	kfree(t->buffer);
	t->buffer = larger;
	t->size = size;
	return true;
}

void text_write(struct text *t, const char *from, size_t n)
{
	if (!reserve(t, n))
		return;
	memcpy(t->buffer + t->len, from, n);
	t->len += n;
}

void text_puts(struct text *t, const char *s)
{
	text_write(t, s, strlen(s));
}

void text_putc(struct text *t, char c)
{
	text_write(t, &c, 1);
}

void text_printf(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	/* Texts are built of many pieces, so this is a good place for a window. */
	interrupt_window();
	if (!reserve(t, 128))
		return;
	va_start(args, format);
	n = vsnprintf(t->buffer + t->len, t->size - t->len, format, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= t->size - t->len) {
		if (!reserve(t, (size_t)n))
			return;
		va_start(args, format);
		n = vsnprintf(t->buffer + t->len, t->size - t->len, format, args);
		va_end(args);
	}
	t->len += (size_t)n;
}
