/* futex: each operation with values, words and addresses of every kind. No case waits for another task. */
#define _GNU_SOURCE
#include "calltable.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAITERS 0x80000000u
#define OWNER_DIED 0x40000000u
#define PRIVATE 128
#define REALTIME 256

/* A number of a process that has ended and that nobody has again. */
static uint32_t dead;

/* The words lie in the first page of A; the second one is read-only, the third has no rights. */
static void lay_out(void)
{
	uint32_t *words = (uint32_t *)ARENA;
	int flags = (pick(2) ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS | MAP_FIXED;

	arena_clear();
	must((long)mmap(ARENA, 3 * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0), "mmap");
	say("%s", flags & MAP_SHARED ? "shared" : "private");
	if (!dead) {
		pid_t child = fork();
		int status;

		must(child, "fork");
		if (child == 0)
			_exit(0);
		must(waitpid(child, &status, 0), "waitpid");
		dead = (uint32_t)child;
	}
	for (unsigned i = 0; i < 3; i++) {
		static const char *const names[] = {
			"0", "own", "own+w", "dead", "dead+w", "dead+d", "max", "free+d", "w",
		};
		const uint32_t own = (uint32_t)getpid();
		const uint32_t values[] = { 0, own, own | WAITERS, dead, dead | WAITERS, dead | OWNER_DIED, 0xffffffffu,
					    OWNER_DIED, WAITERS };
		unsigned which = pick(sizeof(values) / sizeof(values[0]));

		words[i] = values[which];
		words[i + PAGE / 4] = values[which];
		say(" %s", names[which]);
	}
	must(mprotect(ARENA + PAGE, PAGE, PROT_READ), "mprotect");
	must(mprotect(ARENA + 2 * PAGE, PAGE, PROT_NONE), "mprotect");
}

static uint32_t *pick_word(void)
{
	static const struct {
		const char *name;
		uintptr_t offset;
	} places[] = {
		{ "w0", 0 }, { "w0", 0 }, { "w0", 0 }, { "w1", 4 }, { "w1", 4 }, { "w2", 8 }, { "w0+1", 1 },
		{ "w1+2", 6 }, { "ro", PAGE }, { "none", 2 * PAGE }, { "hole", 5 * PAGE }, { "ro+1", PAGE + 1 },
	};
	unsigned which = pick(sizeof(places) / sizeof(places[0]) + 1);

	if (which == sizeof(places) / sizeof(places[0])) {
		say(" null");
		return NULL;
	}
	say(" %s", places[which].name);
	return (uint32_t *)(ARENA + places[which].offset);
}

/* A number as the case's line may show it: process numbers differ between kernels. */
static void tell_words(void)
{
	const uint32_t *words = (const uint32_t *)ARENA;
	const uint32_t own = (uint32_t)getpid();

	say(" words");
	for (unsigned i = 0; i < 3; i++) {
		uint32_t number = words[i] & 0x3fffffff;

		say(" ");
		if (number == own)
			say("own");
		else if (number == dead)
			say("dead");
		else
			say("%#x", (unsigned)number);
		say("%s%s", words[i] & WAITERS ? "+w" : "", words[i] & OWNER_DIED ? "+d" : "");
	}
}

/* For an operation that counts with a word's value: process numbers are replaced by 1000 and 1001. */
static void without_numbers(void)
{
	uint32_t *words = (uint32_t *)ARENA;

	for (unsigned i = 0; i < 3; i++) {
		uint32_t number = words[i] & 0x3fffffff;

		if (number == (uint32_t)getpid() || number == dead)
			words[i] += (number == dead ? 1001 : 1000) - number;
	}
}

static int may_wait(long operation)
{
	long command = operation & 127;

	return command == 0 || command == 6 || command == 9 || command == 11 || command == 13;
}

void case_futex(void)
{
	static const char *const kinds[] = { "soon", "past", "bad", "negative", "address" };
	struct timespec time = { 0, 1 };
	long command = pick(40) ? (long)pick(15) : 99, operation = command, value, result;
	uint32_t *word, *second, third, value2 = 0;
	const void *timeout = &time;
	unsigned kind;

	lay_out();
	if (pick(2))
		operation |= PRIVATE;
	if (pick(6) == 0)
		operation |= REALTIME;
	say(": %ld%s%s", command, operation & PRIVATE ? "p" : "", operation & REALTIME ? "r" : "");
	word = pick_word();
	value = ONE_OF(0, 1, 1, 2, -1, 0x7fffffff);
	say(" %ld", value);
	if (may_wait(operation)) {
		kind = pick(8);
		if (kind > 4)
			kind = 0;
		say(" %s", kinds[kind]);
		if (kind == 2)
			time.tv_nsec = 1000000000;
		if (kind == 3)
			time.tv_sec = -1;
		if (kind == 4)
			timeout = ARENA + 5 * PAGE;
	} else {
		value2 = (uint32_t)ONE_OF(0, 1, 1, 2, -1);
		timeout = (void *)(uintptr_t)value2;
		say(" %d", (int)value2);
	}
	second = pick_word();
	switch (command) {
	case 4:
	case 12:
		/* The word's value, mostly. */
		third = pick(3) && word == (uint32_t *)ARENA ? *word : (uint32_t)ONE_OF(0, 1, 5);
		say(" %s", word == (uint32_t *)ARENA && third == *word ? "same" : "differs");
		if (third != 0 && third != 1 && third != 5 && word != (uint32_t *)ARENA)
			third = 0;
		break;
	case 5:
		without_numbers();
		third = pick(16) << 28 | pick(8) << 24 | pick(4096) << 12 | pick(3);
		say(" %#x", (unsigned)third);
		break;
	default:
		third = (uint32_t)ONE_OF(0, 1, -1);
		say(" %d", (int)third);
	}
	say("=");
	result = syscall(SYS_futex, word, operation, value, timeout, second, third);
	say_result(result);
	tell_words();
	/* What the case took, no later case and no end of the program may find. */
	arena_clear();
}
