/* Words of the command line: name=value, policies included; after "--", init's arguments. */
#include <arch.h>
#include <command_line.h>
#include <context.h>
#include <errno.h>
#include <file.h>
#include <lib.h>
#include <policy.h>
#include <random.h>

#define LINE_MAX 2048
#define ARGUMENTS_MAX 64

static char own_line[LINE_MAX];
static char *line_words[ARGUMENTS_MAX];
static unsigned word_count;
static const char *init_arguments[ARGUMENTS_MAX + 1];

static NORETURN void refuse_word(const char *word, const char *allowed)
{
	fatal(EXIT_COMMAND_LINE, "command line: \"%s\": %s", word, allowed);
}

/* Cuts the line at spaces. Double quotes hold words together. */
static void split_line(void)
{
	char *p = own_line, *to;
	unsigned arguments_used = 0;
	bool after = false;

	if (strlcpy(own_line, boot.command_line, sizeof(own_line)) >= sizeof(own_line))
		fatal(EXIT_COMMAND_LINE, "command line: longer than %d bytes", LINE_MAX - 1);
	for (;;) {
		bool quoted = false;

		while (*p == ' ' || *p == '\t' || *p == '\n')
			p++;
		if (!*p)
			break;
		char *start = to = p;

		for (; *p && (quoted || (*p != ' ' && *p != '\t' && *p != '\n')); p++) {
			if (*p == '"')
				quoted = !quoted;
			else
				*to++ = *p;
		}
		if (*p)
			p++;
		*to = '\0';
		if (word_count == ARGUMENTS_MAX || arguments_used == ARGUMENTS_MAX)
			fatal(EXIT_COMMAND_LINE, "command line: more than %d words", ARGUMENTS_MAX);
		if (after)
			init_arguments[arguments_used++] = start;
		else if (strcmp(start, "--") == 0)
			after = true;
		else
			line_words[word_count++] = start;
	}
	init_arguments[arguments_used] = NULL;
}

static bool on_off(const char *word, const char *value)
{
	if (strcmp(value, "on") == 0)
		return true;
	if (strcmp(value, "off") != 0)
		refuse_word(word, "on or off");
	return false;
}

static u32 number_of(const char *word, const char *value)
{
	u32 n;

	if (parse_u32(value, &n))
		refuse_word(word, "a number");
	return n;
}

/* The value of "name=value" when the word has this name. */
static const char *value_of(const char *word, const char *name)
{
	size_t length = strlen(name);

	return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

void command_line_early(void)
{
	u32 seed = 1;

	split_line();
	for (unsigned i = 0; i < word_count; i++) {
		const char *word = line_words[i], *value;

		if (strcmp(word, "quiet") == 0) {
			boot.quiet = true;
		} else if ((value = value_of(word, "init"))) {
			if (*value != '/')
				refuse_word(word, "an absolute path");
			boot.init = value;
		} else if ((value = value_of(word, "console"))) {
			if (strcmp(value, "uart") != 0)
				refuse_word(word, "uart");
		} else if ((value = value_of(word, "check"))) {
			boot.check_sleeps = strcmp(value, "sleep") == 0;
			boot.check = boot.check_sleeps || on_off(word, value);
		} else if ((value = value_of(word, "failalloc"))) {
			boot.failalloc = number_of(word, value);
		} else if ((value = value_of(word, "contexts"))) {
			context_limit = number_of(word, value);
			if (context_limit < CONTEXTS_LEAST || context_limit > CONTEXT_NUMBERS)
				refuse_word(word, "4 to 1048576");
		} else if ((value = value_of(word, "ramdisk_size"))) {
			ramdisk_kilobytes = number_of(word, value);
		} else if ((value = value_of(word, "seed"))) {
			seed = number_of(word, value);
		} else {
			char name[32];
			const char *equals = strchr(word, '=');

			strlcpy(name, word, MIN(sizeof(name), equals ? (size_t)(equals - word) + 1 : sizeof(name)));
			if (!equals || !policy_choices(name, name, 0))
				refuse_word(word, "no such word; known are init=<path> console=uart check=on|off|sleep "
					    "failalloc=<n> contexts=<n> ramdisk_size=<n> seed=<n> quiet, the policies (/proc/policy), and -- before "
					    "init's arguments");
		}
	}
	random_seed(seed);
	boot.init_arguments = init_arguments;
}

void command_line_policies(void)
{
	for (unsigned i = 0; i < word_count; i++) {
		char name[32], choices[256];
		char *equals = strchr(line_words[i], '=');

		if (!equals || (size_t)(equals - line_words[i]) >= sizeof(name))
			continue;
		strlcpy(name, line_words[i], (size_t)(equals - line_words[i]) + 1);
		if (!policy_choices(name, choices, sizeof(choices)))
			continue;
		switch (policy_choose(name, equals + 1)) {
		case 0:
			break;
		case -ENODEV:
			refuse_word(line_words[i], "not on this processor");
		default:
			fatal(EXIT_COMMAND_LINE, "command line: \"%s\": choices are %s", line_words[i], choices);
		}
	}
}
