/* Files of numbers (counts.h). */
#include "counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define COUNTS_MOST 128
#define COLUMNS_MOST 16

struct count {
	char name[64];
	unsigned long long number;
};

const char *bench_counts = "";
static struct count before[COUNTS_MOST];
static int befores;

static int split(char *line, char *words[COLUMNS_MOST])
{
	int count = 0;

	for (char *word = strtok(line, " \t\n"); word && count < COLUMNS_MOST; word = strtok(NULL, " \t\n"))
		words[count++] = word;
	return count;
}

static int is_number(const char *word)
{
	return word[0] >= '0' && word[0] <= '9' && word[strspn(word, "0123456789")] == 0;
}

/* A line of a policy: the last word names its counter and has the number, name=number. */
static int read_policy(const char *policy, const char *word, struct count *found)
{
	const char *equals = strchr(word, '=');

	if (!equals || !is_number(equals + 1))
		return 0;
	found->number = strtoull(equals + 1, NULL, 10);
	snprintf(found->name, sizeof(found->name), "%.30s.%.*s", policy, (int)(equals - word), word);
	return 1;
}

/* Reads the file's numbers; returns how many there are. Lines that hold none are left out. */
static int read_counts(const char *path, struct count found[COUNTS_MOST])
{
	FILE *file = fopen(path, "r");
	char line[256], head[256], *words[COLUMNS_MOST], *columns[COLUMNS_MOST];
	int count = 0, named = 0;

	if (!file)
		bench_die(path);
	while (fgets(line, sizeof(line), file)) {
		char copy[256];
		int n;

		memcpy(copy, line, sizeof(copy));
		n = split(line, words);
		if (n > 1 && !is_number(words[1])) {
			memcpy(head, copy, sizeof(head));
			named = split(head, columns);
			if (count < COUNTS_MOST)
				count += read_policy(words[0], words[n - 1], &found[count]);
		}
		for (int i = 1; i < n && count < COUNTS_MOST; i++) {
			if (!is_number(words[i]) || (n > 2 && n != named))
				continue;
			found[count].number = strtoull(words[i], NULL, 10);
			if (n == 2)
				snprintf(found[count].name, sizeof(found[count].name), "%.60s", words[0]);
			else
				snprintf(found[count].name, sizeof(found[count].name), "%.30s.%.30s", words[0],
					 columns[i]);
			count++;
		}
	}
	fclose(file);
	return count;
}

static void print(const struct count *count, unsigned long long number)
{
	printf("@value name=%s value=%llu\n", count->name, number);
}

void bench_report(const char *path)
{
	static struct count found[COUNTS_MOST];
	int count = read_counts(path, found);

	for (int i = 0; i < count; i++)
		print(&found[i], found[i].number);
}

void bench_counts_begin(void)
{
	if (*bench_counts)
		befores = read_counts(bench_counts, before);
}

/* 0 if the file did not have it yet: a lock that was not taken, for instance. */
static unsigned long long number_before(const char *name)
{
	for (int i = 0; i < befores; i++)
		if (strcmp(before[i].name, name) == 0)
			return before[i].number;
	return 0;
}

void bench_counts_end(void)
{
	static struct count after[COUNTS_MOST];
	int count = *bench_counts ? read_counts(bench_counts, after) : 0;

	for (int i = 0; i < count; i++)
		print(&after[i], after[i].number - number_before(after[i].name));
}
