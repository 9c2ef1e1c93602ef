/* The values for calls and attacks: numbers, descriptors, addresses and paths, both good and bad. */
#define _GNU_SOURCE
#include "state.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME_MOST 200u

static const char *const names[] = {
	"a", "b", "c", "d", "a/b", "d/a", "d/c/a", "..", ".", "", "./a", "d/..", "b/", "a//", "../fuzz/a", "e", "f",
	"d/c",
	FOLDER, FOLDER "/a", FOLDER "/d/b", "/proc/self/maps", "/proc/self/fd/3", "/proc/self/exe", "/proc/self",
	"/proc/meminfo", "/proc/self/status", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/none", "/",
	"user.a", "user.b", "trusted.a", "/dev/ram0", "/dev/ptmx", "/dev/pts/0",
};

static const uint32_t numbers[] = {
	0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 63, 64, 65, 100, 127, 128, 129, 255, 256, 511, 512, 1023, 1024, 1025, 4095,
	4096,
	4097, 8191, 8192, 32767, 32768, 65535, 65536, 65537, 0x100000, 0x7ffff000, 0x7fffffff, 0x80000000, 0x80000001,
	0xbfffffff, 0xc0000000, 0xfffff000, 0xffffff9c, 0xfffffffe, 0xffffffff,
};

uint32_t number(struct state *s)
{
	switch (below(&s->random, 8)) {
	case 0:
		return next(&s->random);
	case 1:
		return 1u << below(&s->random, 32);
	case 2:
	case 3:
		return below(&s->random, 32);
	default:
		return PICK(s, numbers);
	}
}

uint32_t descriptor(struct state *s)
{
	switch (below(&s->random, 10)) {
	case 0:
		return number(s);
	case 1:
		return (uint32_t)AT_FDCWD;
	default:
		return below(&s->random, 24);
	}
}

/* Only processes of the fuzzer: itself, another worker, one of their groups, or none. */
static uint32_t process(struct state *s)
{
	uint32_t other = (uint32_t)s->all[below(&s->random, s->workers)].pid;

	switch (below(&s->random, 8)) {
	case 0:
		return 0x7fffff00u + below(&s->random, 256);
	case 1:
		return 0x80000000u + below(&s->random, 256);
	case 2:
		return other > 1 ? other : 0;
	case 3:
		return other > 1 ? -other : 0;
	case 4:
		return (uint32_t)getpid();
	default:
		return 0;
	}
}

uint32_t flag_bits(struct state *s)
{
	uint32_t bits = 0;

	if (below(&s->random, 8) == 0)
		return next(&s->random);
	/* Most flags are low bits. */
	for (uint32_t n = below(&s->random, 4); n; n--)
		bits |= 1u << below(&s->random, below(&s->random, 2) ? 8 : 32);
	return bits;
}

/* An address a few bytes before the end of a page. */
static uint32_t page_end(struct state *s, uint32_t page)
{
	return page + PAGE - 1 - below(&s->random, 16);
}

/* An address of any kind; most are valid. */
static uint32_t any_address(struct state *s)
{
	uint32_t scratch = (uint32_t)(uintptr_t)s->scratch;

	switch (below(&s->random, 28)) {
	case 0:
		return 0;
	case 1:
		return below(&s->random, PAGE);
	case 2:
		return 0xc0000000u + below(&s->random, 0x400000);
	case 3:
		return 0xfffffff0u + below(&s->random, 16);
	case 4:
		return scratch + SCRATCH_SIZE - below(&s->random, 64);
	case 5:
		return scratch + SCRATCH_SIZE + PAGE - below(&s->random, 64);
	case 6:
		return scratch + SCRATCH_SIZE + PAGE + below(&s->random, PAGE);
	case 7:
		return (uint32_t)(uintptr_t)s->locked + below(&s->random, PAGE);
	case 8:
		return (uint32_t)(uintptr_t)numbers;
	case 9:
		return scratch + below(&s->random, SCRATCH_SIZE);
	case 10:
		return 0xbffff000u + below(&s->random, 2 * PAGE);
	case 11:
		return next(&s->random);
	case 12:
		return s->device + 4 * below(&s->random, 8);
	case 13:
		return s->device + below(&s->random, PAGE);
	case 14:
		return page_end(s, s->device);
	case 15:
		return page_end(s, scratch + PAGE * below(&s->random, SCRATCH_PAGES + 1));
	case 16:
		return s->window + PAGE * below(&s->random, WINDOW_PAGES);
	case 17:
	case 18:
		return scratch + PAGE * below(&s->random, SCRATCH_PAGES);
	default:
		return scratch + 8 * below(&s->random, SCRATCH_SIZE / 8);
	}
}

uint32_t address(struct state *s)
{
	return s->last = any_address(s);
}

void put(struct state *s, uint32_t at, uint32_t value)
{
	uint32_t offset = at - (uint32_t)(uintptr_t)s->scratch;

	if (offset <= SCRATCH_SIZE - sizeof(value))
		memcpy(s->scratch + offset, &value, sizeof(value));
}

/* A word for a field of a structure. */
uint32_t content(struct state *s)
{
	switch (below(&s->random, 6)) {
	case 0:
		return descriptor(s);
	case 1:
		return address(s);
	case 2:
		return below(&s->random, 4);
	case 3:
		return (uint32_t)AF_UNIX << 16 | below(&s->random, 0x10000);
	default:
		return number(s);
	}
}

static uint32_t pointer(struct state *s)
{
	uint32_t at = address(s), words = below(&s->random, 16);

	for (uint32_t i = 0; i < words; i++)
		put(s, at + 4 * i, content(s));
	return at;
}

uint32_t path(struct state *s)
{
	uint32_t at = address(s), offset = at - (uint32_t)(uintptr_t)s->scratch;
	const char *name = PICK(s, names);

	if (below(&s->random, 16) == 0 && offset < SCRATCH_SIZE) {
		memset(s->scratch + offset, 'x', SCRATCH_SIZE - offset < 5000 ? SCRATCH_SIZE - offset : 5000);
		return at;
	}
	if (offset < SCRATCH_SIZE - NAME_MOST)
		strcpy((char *)s->scratch + offset, name);
	return at;
}

/* A length. Some lengths end at the top of memory, or wrap round it, counted from the last address. */
uint32_t size(struct state *s)
{
	return below(&s->random, 16) ? number(s) : 8 - below(&s->random, 16) - s->last;
}

uint32_t argument(struct state *s, enum fuzz_kind kind)
{
	switch (kind) {
	case FUZZ_FD:
		return descriptor(s);
	case FUZZ_PID:
		return process(s);
	case FUZZ_SIGNAL:
		return below(&s->random, 4) ? below(&s->random, 66) : number(s);
	case FUZZ_MODE:
		return below(&s->random, 4) ? 0700 | below(&s->random, 01000) : number(s);
	case FUZZ_FLAGS:
		return flag_bits(s);
	case FUZZ_ADDRESS:
	case FUZZ_POINTER:
		return pointer(s);
	case FUZZ_PATH:
		return path(s);
	case FUZZ_CLOCK:
		return below(&s->random, 8) ? below(&s->random, 12) : number(s);
	case FUZZ_SIZE:
		return size(s);
	default:
		return number(s);
	}
}
