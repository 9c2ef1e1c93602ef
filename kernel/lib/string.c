/* Memory and string functions; the compiler may call the first four by itself. */
#include <errno.h>
#include <lib.h>

void *memchr(const void *s, int byte, size_t n)
{
	const u8 *p = s;

	for (; n; n--, p++)
		if (*p == (u8)byte)
			return (void *)p;
	return NULL;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *p = a, *q = b;

	for (; n; n--, p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

size_t strlen(const char *s)
{
	const char *p = s;

	while (*p)
		p++;
	return (size_t)(p - s);
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return (u8)*a - (u8)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n && *a && *a == *b; n--, a++, b++)
		;
	return n ? (u8)*a - (u8)*b : 0;
}

char *strchr(const char *s, int c)
{
	for (;; s++) {
		if (*s == (char)c)
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	do {
		if (*s == (char)c)
			last = s;
	} while (*s++);
	return (char *)last;
}

size_t strlcpy(char *to, const char *from, size_t size)
{
	size_t length = strlen(from);

	if (size) {
		size_t n = MIN(length, size - 1);

		memcpy(to, from, n);
		to[n] = '\0';
	}
	return length;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return 16;
}

int parse_u32(const char *s, u32 *value)
{
	u32 base = 10, v = 0;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	} else if (s[0] == '0' && s[1]) {
		base = 8;
		s++;
	}
	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		u32 d = (u32)digit_value(*s);

		if (d >= base || v > (~0u - d) / base)
			return -EINVAL;
		v = v * base + d;
	}
	*value = v;
	return 0;
}
