/* Formatted text. */
#include <lib.h>

struct output {
	char *buffer;
	size_t size;            /* room, with the final NUL */
	size_t length;          /* of the whole text, even if it did not fit */
};

struct field {
	bool left, zero, plus, space, alternate;
	int width, precision;   /* precision -1: none */
};

static void format_put(struct output *out, char c)
{
	if (out->length + 1 < out->size)
		out->buffer[out->length] = c;
	out->length++;
}

static void put_padded(struct output *out, const struct field *field, const char *prefix, const char *text,
		       size_t length, size_t zeros)
{
	size_t all = strlen(prefix) + zeros + length;
	size_t pad = field->width > 0 && (size_t)field->width > all ? (size_t)field->width - all : 0;

	if (!field->left)
		for (; pad; pad--)
			format_put(out, ' ');
	while (*prefix)
		format_put(out, *prefix++);
	for (; zeros; zeros--)
		format_put(out, '0');
	for (; length; length--)
		format_put(out, *text++);
	for (; pad; pad--)
		format_put(out, ' ');
}

static void put_number(struct output *out, const struct field *field, u64 value, unsigned base, bool upper,
		       const char *sign)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char text[24], prefix[4];
	size_t n = 0, zeros = 0;

	strlcpy(prefix, sign, sizeof(prefix));
	if (field->alternate && value && base == 16)
		strlcpy(prefix + strlen(prefix), upper ? "0X" : "0x", sizeof(prefix) - strlen(prefix));
	/* 64-bit division is a library call: use it only for values that need it. */
	while (value >> 32) {
		text[sizeof(text) - ++n] = digits[value % base];
		value /= base;
	}
	for (u32 low = (u32)value; low || (!n && field->precision); low /= base) {
		text[sizeof(text) - ++n] = digits[low % base];
		if (!low)
			break;
	}
	if (field->alternate && base == 8 && (!n || text[sizeof(text) - n] != '0'))
		text[sizeof(text) - ++n] = '0';
	if (field->precision > (int)n)
		zeros = (size_t)field->precision - n;
	else if (field->precision < 0 && field->zero && !field->left && field->width > (int)(n + strlen(prefix)))
		zeros = (size_t)field->width - n - strlen(prefix);
	put_padded(out, field, prefix, text + sizeof(text) - n, n, zeros);
}

/* The length modifier: bytes of the integer that follows. */
static unsigned take_length(const char **format)
{
	unsigned size = sizeof(int);

	for (;; (*format)++) {
		switch (**format) {
		case 'h':
			size /= 2;
			break;
		case 'l':
			size = size == sizeof(int) && (*format)[1] == 'l' ? 8 : MAX(size, (unsigned)sizeof(long));
			break;
		case 'z':
		case 't':
			size = sizeof(size_t);
			break;
		default:
			return size;
		}
	}
}

static int take_int(const char **format, va_list *args)
{
	int value = 0;

	if (**format == '*') {
		(*format)++;
		return va_arg(*args, int);
	}
	while (**format >= '0' && **format <= '9')
		value = value * 10 + *(*format)++ - '0';
	return value;
}

static bool take_flag(char c, struct field *field)
{
	switch (c) {
	case '-': field->left = true; return true;
	case '0': field->zero = true; return true;
	case '+': field->plus = true; return true;
	case ' ': field->space = true; return true;
	case '#': field->alternate = true; return true;
	default: return false;
	}
}

int vsnprintf(char *buffer, size_t size, const char *format, va_list args_)
{
	struct output out = { buffer, size, 0 };
	va_list args;

	va_copy(args, args_);
	for (; *format; format++) {
		struct field field = { .precision = -1 };
		unsigned length;
		u64 value;

		if (*format != '%') {
			format_put(&out, *format);
			continue;
		}
		format++;
		while (take_flag(*format, &field))
			format++;
		field.width = take_int(&format, &args);
		if (field.width < 0) {
			field.left = true;
			field.width = -field.width;
		}
		if (*format == '.') {
			format++;
			field.precision = take_int(&format, &args);
		}
		length = take_length(&format);
		switch (*format) {
		case 'd':
		case 'i': {
			s64 number = length == 8 ? va_arg(args, s64) : (s64)va_arg(args, int);

			if (length == 2)
				number = (s16)number;
			else if (length == 1)
				number = (s8)number;
			put_number(&out, &field, number < 0 ? -(u64)number : (u64)number, 10, false,
				   number < 0 ? "-" : field.plus ? "+" : field.space ? " " : "");
			break;
		}
		case 'u':
		case 'x':
		case 'X':
		case 'o':
			value = length == 8 ? va_arg(args, u64) : (u64)va_arg(args, unsigned);
			if (length == 2)
				value = (u16)value;
			else if (length == 1)
				value = (u8)value;
			put_number(&out, &field, value, *format == 'u' ? 10 : *format == 'o' ? 8 : 16, *format == 'X',
				   "");
			break;
		case 'p':
			field.alternate = true;
			put_number(&out, &field, (vaddr_t)va_arg(args, void *), 16, false, "");
			break;
		case 'c': {
			char c = (char)va_arg(args, int);

			put_padded(&out, &field, "", &c, 1, 0);
			break;
		}
		case 's': {
			const char *text = va_arg(args, const char *);

			if (!text)
				text = "(null)";
			put_padded(&out, &field, "", text,
				   field.precision >= 0 ? strnlen(text, (size_t)field.precision) : strlen(text), 0);
			break;
		}
		case '%':
			format_put(&out, '%');
			break;
		case '\0':
			format--;
			break;
		default:
			format_put(&out, '%');
			format_put(&out, *format);
		}
	}
	va_end(args);
	if (size)
		buffer[MIN(out.length, size - 1)] = '\0';
	return (int)out.length;
}

int snprintf(char *buffer, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(buffer, size, format, args);
	va_end(args);
	return length;
}
