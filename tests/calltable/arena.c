/* The two ranges of pages that the calls of the memory groups work on. */
#define _GNU_SOURCE
#include "calltable.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_PAGES 64
/* What lies behind the ranges stays free, so that calls may go beyond them. */
#define CLEARED (ARENA_PAGES * 4 * PAGE)

static int file, file_read_only, maps, status;
static sigjmp_buf back;
/* What the kernel has put elsewhere. */
static struct {
	char *at;
	size_t size;
} also[8];
static unsigned also_count;

static void on_fault(int number)
{
	siglongjmp(back, number);
}

static void open_own(void)
{
	maps = open("/proc/self/maps", O_RDONLY);
	must(maps, "/proc/self/maps");
	status = open("/proc/self/status", O_RDONLY);
	must(status, "/proc/self/status");
}

void arena_start_child(void)
{
	open_own();
}

void arena_start(void)
{
	struct sigaction action;
	char page[PAGE];

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_fault;
	action.sa_flags = SA_NODEFER;
	must(sigaction(SIGSEGV, &action, NULL), "sigaction");
	must(sigaction(SIGBUS, &action, NULL), "sigaction");
	mkdir("/tmp", 01777);
	file = open("/tmp/calltable", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(file, "/tmp/calltable");
	file_read_only = open("/tmp/calltable", O_RDONLY);
	must(file_read_only, "/tmp/calltable");
	must(unlink("/tmp/calltable"), "unlink");
	open_own();
	memset(page, 0, sizeof(page));
	for (unsigned i = 0; i < FILE_PAGES; i++)
		must(pwrite(file, page, PAGE, (off_t)(i * PAGE)), "write");
}

/* A kind of area: its letter in the line, and how it is mapped. */
static const struct kind {
	char letter;
	int protection, flags;
	int *file;
	int later;      /* the protection after the pages are filled */
} kinds[] = {
	{ '.', 0, 0, NULL, 0 },
	{ 'a', 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 3 },
	{ 'a', 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 3 },
	{ 'a', 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 3 },
	{ 'r', 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 1 },
	{ 'n', 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 0 },
	{ 'x', 3, MAP_PRIVATE | MAP_ANONYMOUS, NULL, 5 },
	{ 's', 3, MAP_SHARED | MAP_ANONYMOUS, NULL, 3 },
	{ 't', 3, MAP_SHARED | MAP_ANONYMOUS, NULL, 1 },
	{ 'f', 3, MAP_PRIVATE, &file_read_only, 3 },
	{ 'g', 3, MAP_PRIVATE, &file, 1 },
	{ 'F', 3, MAP_SHARED, &file, 3 },
	{ 'G', 1, MAP_SHARED, &file_read_only, 1 },
	{ 'd', 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, NULL, 3 },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Half of the pages are written, each with its letter; those of a file show the file's place otherwise. */
static void lay_out(const char *name, char *at, char tag, int file_page)
{
	unsigned page = 0;

	say("%s=", name);
	while (page < ARENA_PAGES) {
		unsigned count = 1 + pick(4);
		const struct kind *kind = &kinds[pick(5) ? pick(KINDS) : 1];

		if (count > ARENA_PAGES - page)
			count = ARENA_PAGES - page;
		/* What grows down has room below it. */
		if (kind->flags & MAP_GROWSDOWN && page == 0)
			kind = &kinds[0];
		if (kind->letter != '.') {
			char *start = at + page * PAGE;
			int fd = kind->file ? *kind->file : -1;
			off_t offset = kind->file ? (off_t)((unsigned)(file_page + (int)page) * PAGE) : 0;

			must((long)mmap(start, count * PAGE, kind->protection, kind->flags | MAP_FIXED, fd, offset),
			     "mmap");
			for (unsigned i = 0; i < count; i++)
				if (kind->protection & PROT_WRITE && pick(2))
					start[i * PAGE] = (char)(tag + (char)(page + i));
			if (kind->later != kind->protection)
				must(mprotect(start, count * PAGE, kind->later), "mprotect");
		}
		for (unsigned i = 0; i < count; i++)
			say("%c", kind->letter);
		page += count;
	}
	say(" ");
}

void arena_lay_out(void)
{
	static const char zeros[FILE_PAGES];

	for (unsigned i = 0; i < FILE_PAGES; i++)
		must(pwrite(file, zeros + i, 1, (off_t)(i * PAGE)), "write");
	arena_clear();
	lay_out("A", ARENA, 'a', 4);
	lay_out("T", TARGET, 'A', 36);
}

void arena_clear(void)
{
	must(munmap(ARENA - CLEARED, 2 * CLEARED + ARENA_PAGES * PAGE), "munmap");
	must(munmap(TARGET - CLEARED, 2 * CLEARED + ARENA_PAGES * PAGE), "munmap");
	while (also_count) {
		also_count--;
		must(munmap(also[also_count].at, also[also_count].size), "munmap");
	}
}

void arena_clear_also(char *at, size_t size)
{
	also[also_count].at = at;
	also[also_count].size = size;
	also_count++;
}

/* What a page holds: its letter, '0', or '!' if a load faults by SIGBUS, '-' by SIGSEGV. */
static char load(const volatile char *at)
{
	int number = sigsetjmp(back, 0);
	char value;

	if (number)
		return number == SIGBUS ? '!' : '-';
	value = *at;
	return value ? value : '0';
}

/* Whether a store works. It changes nothing. */
static int store(char *at, char value)
{
	static volatile char *to;
	static char stored;

	to = at;
	stored = value == '0' ? 0 : value;
	if (sigsetjmp(back, 0))
		return 0;
	*to = stored;
	return 1;
}

/* Rights of pages by /proc/self/maps, 0xff for those that no area has. */
static void read_rights(const char *at, unsigned pages, unsigned char *rights)
{
	static char text[32768];
	ssize_t size = 0, got;

	memset(rights, 0xff, pages);
	must(lseek(maps, 0, SEEK_SET), "lseek");
	while ((got = read(maps, text + size, sizeof(text) - 1 - (size_t)size)) > 0)
		size += got;
	must(got, "/proc/self/maps");
	text[size] = 0;
	for (char *row = text; row && *row; row = strchr(row, '\n') ? strchr(row, '\n') + 1 : NULL) {
		char *end;
		uintptr_t start = strtoul(row, &end, 16), stop = strtoul(end + 1, &end, 16);
		unsigned char right = 0;

		if (stop <= (uintptr_t)at || start >= (uintptr_t)at + pages * PAGE)
			continue;
		right |= end[1] == 'r' ? 4 : 0;
		right |= end[2] == 'w' ? 2 : 0;
		right |= end[3] == 'x' ? 1 : 0;
		right |= end[4] == 's' ? 8 : 0;
		for (unsigned i = 0; i < pages; i++)
			if ((uintptr_t)at + i * PAGE >= start && (uintptr_t)at + i * PAGE < stop)
				rights[i] = right;
	}
}

void arena_tell_range(const char *name, char *at, unsigned pages)
{
	unsigned char rights[4 * ARENA_PAGES];
	char values[4 * ARENA_PAGES];

	if (pages > sizeof(rights))
		pages = sizeof(rights);
	read_rights(at, pages, rights);
	say(" %s", name);
	/* All loads before the first store, which may show in a second mapping. */
	for (unsigned i = 0; i < pages; i++)
		values[i] = rights[i] == 0xff ? '.' : load(at + i * PAGE);
	for (unsigned i = 0; i < pages; i++) {
		if (rights[i] == 0xff) {
			say(".");
			continue;
		}
		say("%c%c", rights[i] & 8 ? 'A' + (rights[i] & 7) : '0' + rights[i], values[i]);
		/* A store that does not fit the rights. */
		if (values[i] != '!' && values[i] != '-' && store(at + i * PAGE, values[i]) != (rights[i] >> 1 & 1))
			say("?");
	}
}

void arena_tell(void)
{
	arena_tell_range("A", ARENA, ARENA_PAGES + 4);
	arena_tell_range("T", TARGET, ARENA_PAGES + 4);
}

void say_address(const char *at)
{
	uintptr_t address = (uintptr_t)at;

	if (address - (uintptr_t)ARENA < 2 * ARENA_PAGES * PAGE)
		say("A+%lu", (unsigned long)((address - (uintptr_t)ARENA) / PAGE));
	else if (address - (uintptr_t)TARGET < 2 * ARENA_PAGES * PAGE)
		say("T+%lu", (unsigned long)((address - (uintptr_t)TARGET) / PAGE));
	else if (address < PAGE)
		say("null");
	else
		say("else");
	if (address % PAGE)
		say("+%lub", (unsigned long)(address % PAGE));
}

unsigned locked_pages(void)
{
	char text[4096], *found;
	ssize_t size;

	must(lseek(status, 0, SEEK_SET), "lseek");
	size = read(status, text, sizeof(text) - 1);
	must(size, "/proc/self/status");
	text[size] = 0;
	found = strstr(text, "VmLck:");
	return found ? (unsigned)strtoul(found + 6, NULL, 10) / 4 : 0;
}
