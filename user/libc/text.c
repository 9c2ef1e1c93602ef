/* Memory and text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *memset(void *memory, int byte, size_t size)
{
	unsigned char *at = memory;

	while (size--)
		*at++ = (unsigned char)byte;
	return memory;
}

void *memcpy(void *to, const void *from, size_t size)
{
	unsigned char *out = to;
	const unsigned char *in = from;

	while (size--)
		*out++ = *in++;
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *left = a, *right = b;

	for (; size; size--, left++, right++)
		if (*left != *right)
			return *left - *right;
	return 0;
}

size_t strlen(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return length;
}

int strncmp(const char *a, const char *b, size_t most)
{
	for (; most; most--, a++, b++)
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, (size_t)-1);
}

char *strchr(const char *text, int character)
{
	for (; *text != (char)character; text++)
		if (!*text)
			return NULL;
	return (char *)text;
}

char *strcat(char *to, const char *from)
{
	memcpy(to + strlen(to), from, strlen(from) + 1);
	return to;
}

size_t strspn(const char *text, const char *accepted)
{
	size_t length = 0;

	while (text[length] && strchr(accepted, text[length]))
		length++;
	return length;
}

size_t strcspn(const char *text, const char *refused)
{
	size_t length = 0;

	while (text[length] && !strchr(refused, text[length]))
		length++;
	return length;
}

char *strtok(char *text, const char *separators)
{
	static char *rest;
	char *word;

	if (text)
		rest = text;
	word = rest + strspn(rest, separators);
	if (!*word)
		return NULL;
	rest = word + strcspn(word, separators);
	if (*rest)
		*rest++ = 0;
	return word;
}

static unsigned int digit(char character)
{
	if (character >= '0' && character <= '9')
		return (unsigned int)(character - '0');
	character |= 0x20;
	return character >= 'a' && character <= 'f' ? (unsigned int)(character - 'a' + 10) : 99;
}

unsigned long long strtoull(const char *text, char **end, int base)
{
	unsigned long long value = 0;
	const char *at = text;

	if (base == 0) {
		base = at[0] == '0' && (at[1] | 0x20) == 'x' && digit(at[2]) < 16 ? 16 : 10;
		at += base == 16 ? 2 : 0;
	}
	for (text = at; digit(*at) < (unsigned int)base; at++)
		value = value * (unsigned int)base + digit(*at);
	if (end)
		*end = (char *)at;
	return value;
}

char *strerror(int number)
{
	static char text[24];

	snprintf(text, sizeof(text), "error %d", number);
	return text;
}
