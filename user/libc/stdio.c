/* Formatted output, written line by line, and reading a file line by line. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static FILE out = { .fd = 1 }, error = { .fd = 2 }, opened = { .fd = -1 };
FILE *const stdout = &out, *const stderr = &error;

/* Where characters go: a file, or memory whose last byte is kept for the final 0. */
struct target {
	FILE *file;
	char *memory;
	size_t room, length;
};

int fflush(FILE *file)
{
	unsigned int done = 0;

	while (done < file->at) {
		ssize_t n = write(file->fd, file->buffer + done, file->at - done);

		if (n <= 0)
			break;
		done += (unsigned int)n;
	}
	file->at = 0;
	return 0;
}

int setvbuf(FILE *file, char *buffer, int mode, size_t size)
{
	(void)file, (void)buffer, (void)mode, (void)size;
	return 0;
}

static void put(struct target *target, char character)
{
	FILE *file = target->file;

	target->length++;
	if (file) {
		file->buffer[file->at++] = character;
		if (character == '\n' || file->at == sizeof(file->buffer))
			fflush(file);
	} else if (target->length < target->room) {
		target->memory[target->length - 1] = character;
	}
}

static void put_number(struct target *target, unsigned long long number, unsigned int base)
{
	char digits[24];
	unsigned int count = 0;

	do {
		digits[count++] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	while (count)
		put(target, digits[--count]);
}

/* The argument of %d, %u and %x: `longs` is the number of letters l. */
static unsigned long long take(va_list *arguments, unsigned int longs, int is_signed)
{
	if (longs > 1)
		return va_arg(*arguments, unsigned long long);
	if (is_signed)
		return (unsigned long long)(long long)va_arg(*arguments, long);
	return va_arg(*arguments, unsigned long);
}

static void format_all(struct target *target, const char *format, va_list *arguments)
{
	for (; *format; format++) {
		size_t most = (size_t)-1;
		unsigned int longs = 0;

		if (*format != '%') {
			put(target, *format);
			continue;
		}
		format++;
		if (*format == '.')
			for (most = 0, format++; *format >= '0' && *format <= '9'; format++)
				most = most * 10 + (size_t)(*format - '0');
		for (; *format == 'l' || *format == 'z'; format++)
			longs++;
		switch (*format) {
		case 's':
			for (const char *text = va_arg(*arguments, const char *); most-- && *text; text++)
				put(target, *text);
			break;
		case 'c':
			put(target, (char)va_arg(*arguments, int));
			break;
		case 'd': {
			long long number = (long long)take(arguments, longs, 1);

			if (number < 0)
				put(target, '-');
			put_number(target, number < 0 ? -(unsigned long long)number : (unsigned long long)number, 10);
			break;
		}
		case 'u':
		case 'x':
			put_number(target, take(arguments, longs, 0), *format == 'x' ? 16 : 10);
			break;
		default:
			put(target, *format);
		}
	}
}

int fprintf(FILE *file, const char *format, ...)
{
	struct target target = { .file = file };
	va_list arguments;

	va_start(arguments, format);
	format_all(&target, format, &arguments);
	va_end(arguments);
	return (int)target.length;
}

int printf(const char *format, ...)
{
	struct target target = { .file = stdout };
	va_list arguments;

	va_start(arguments, format);
	format_all(&target, format, &arguments);
	va_end(arguments);
	return (int)target.length;
}

int snprintf(char *text, size_t size, const char *format, ...)
{
	struct target target = { .memory = text, .room = size };
	va_list arguments;

	va_start(arguments, format);
	format_all(&target, format, &arguments);
	va_end(arguments);
	if (size)
		text[target.length < size ? target.length : size - 1] = 0;
	return (int)target.length;
}

FILE *fopen(const char *path, const char *mode)
{
	(void)mode;
	opened.fd = open(path, O_RDONLY);
	opened.at = opened.end = 0;
	return opened.fd < 0 ? NULL : &opened;
}

char *fgets(char *line, int size, FILE *file)
{
	int length = 0;

	while (length < size - 1) {
		if (file->at == file->end) {
			ssize_t n = read(file->fd, file->buffer, sizeof(file->buffer));

			file->at = 0;
			file->end = n > 0 ? (unsigned int)n : 0;
			if (file->end == 0)
				break;
		}
		line[length++] = file->buffer[file->at++];
		if (line[length - 1] == '\n')
			break;
	}
	line[length] = 0;
	return length ? line : NULL;
}

int fclose(FILE *file)
{
	return close(file->fd);
}
