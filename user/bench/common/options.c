/* Parameters of a benchmark row. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(const struct bench_option *list)
{
	for (; list && list->name; list++) {
		if (list->number)
			fprintf(stderr, "  %s=<%lu..%lu>  %s\n", list->name, list->least, list->most, list->meaning);
		else
			fprintf(stderr, "  %s=<%s>  %s\n", list->name, list->choices ? list->choices : "word",
				list->meaning);
	}
}

static const struct bench_option *find(const struct bench_option *list, const char *name, size_t length)
{
	for (; list && list->name; list++)
		if (strlen(list->name) == length && memcmp(list->name, name, length) == 0)
			return list;
	return NULL;
}

static int parse_number(const char *text, unsigned long least, unsigned long most, unsigned long *value)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (end == text || *text == '-' || errno)
		return 0;
	if (*end == 'k' || *end == 'K') {
		number <<= 10;
		end++;
	} else if (*end == 'm' || *end == 'M') {
		number <<= 20;
		end++;
	}
	if (*end || number < least || number > most)
		return 0;
	*value = (unsigned long)number;
	return 1;
}

static int allowed(const char *choices, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = choices; at; at = strchr(at, '|')) {
		if (*at == '|')
			at++;
		if (strncmp(at, word, length) == 0 && (at[length] == 0 || at[length] == '|'))
			return length > 0;
	}
	return 0;
}

void bench_parse_options(const char *program, int argc, char **argv, const struct bench_option *common,
			 const struct bench_option *own)
{
	for (int i = 1; i < argc; i++) {
		const char *equals = strchr(argv[i], '=');
		const struct bench_option *option = NULL;

		if (equals) {
			size_t length = (size_t)(equals - argv[i]);

			option = find(common, argv[i], length);
			if (!option)
				option = find(own, argv[i], length);
		}
		if (option && option->number && parse_number(equals + 1, option->least, option->most, option->number))
			continue;
		if (option && option->word && (!option->choices || allowed(option->choices, equals + 1))) {
			*option->word = equals + 1;
			continue;
		}
		fprintf(stderr, "%s: %s parameter '%s'; allowed:\n", program, option ? "bad value in" : "unknown",
			argv[i]);
		usage(common);
		usage(own);
		exit(2);
	}
}
