/*
 * Calls after which a kernel must flush translations, each with an access that shows whether it has: what a planted
 * error of a kernel is found by. The first argument names the case. It prints `NAME: good`, or `NAME: stale` if the
 * access used the old translation, with status 0 or 1; 2 if the case cannot run here.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "returns.h"
#include "stale.h"

void cannot(const char *what)
{
	perror(what);
	_exit(2);
}

volatile char *mapped(long pages, int protection)
{
	volatile char *at = mmap(NULL, pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		cannot("mmap");
	return at;
}

/* Pages with a 1 in each. */
volatile char *pages(long count)
{
	volatile char *at = mapped(count, PROT_READ | PROT_WRITE);

	for (long n = 0; n < count; n++)
		at[n * PAGE] = 1;
	return at;
}

__thread sigjmp_buf away;

static void leave(int number)
{
	(void)number;
	siglongjmp(away, 1);
}

static int loads(volatile char *at)
{
	if (sigsetjmp(away, 0))
		return 0;
	(void)*at;
	return 1;
}

static int stores(volatile char *at)
{
	if (sigsetjmp(away, 0))
		return 0;
	*at = 2;
	return 1;
}

/* On one processor ----------------------------------------------------------- */

static int protect(void)
{
	volatile char *at = pages(4);

	if (mprotect((void *)at, 4 * PAGE, PROT_READ))
		cannot("mprotect");
	return stores(at);
}

static int last(void)
{
	volatile char *at = pages(4);

	if (mprotect((void *)at, 4 * PAGE, PROT_READ))
		cannot("mprotect");
	return stores(at + 3 * PAGE);
}

/* A page that only reads loses that right too. */
static int none(void)
{
	volatile char *at = pages(4);

	if (mprotect((void *)at, 4 * PAGE, PROT_READ))
		cannot("mprotect");
	(void)at[PAGE];
	if (mprotect((void *)at, 4 * PAGE, PROT_NONE))
		cannot("mprotect");
	return loads(at + PAGE);
}

/* As many pages as a TLB has sets, and more. */
static int every(void)
{
	enum { COUNT = 40 };
	volatile char *at = pages(COUNT);
	int stale = 0;

	if (mprotect((void *)at, COUNT * PAGE, PROT_READ))
		cannot("mprotect");
	for (long n = 0; n < COUNT; n++)
		stale |= stores(at + n * PAGE);
	return stale;
}

static volatile char *aligned(volatile char *at)
{
	return (volatile char *)(((long)at + TABLE - 1) & ~(TABLE - 1));
}

/* Pages of two tables. */
static int across(void)
{
	volatile char *at = aligned(mapped(3 * TABLE / PAGE, PROT_READ | PROT_WRITE)) + TABLE - 2 * PAGE;

	for (long n = 0; n < 4; n++)
		at[n * PAGE] = 1;
	if (mprotect((void *)at, 4 * PAGE, PROT_READ))
		cannot("mprotect");
	return stores(at + 3 * PAGE);
}

/* The page of a pipe that was closed belongs to the program. What goes through the next pipe must not get there. */
static int piped(void)
{
	enum { COUNT = 8 };
	volatile char *at = mapped(COUNT, PROT_READ | PROT_WRITE);
	char bytes[64];
	int ends[2];

	for (char byte = 3; byte < 5; byte++) {
		memset(bytes, byte, sizeof bytes);
		if (pipe(ends) || write(ends[1], bytes, sizeof bytes) != sizeof bytes)
			cannot("a pipe");
		if (byte == 4)
			break;
		close(ends[0]);
		close(ends[1]);
		for (long n = 0; n < COUNT; n++)
			at[n * PAGE] = 1;
	}
	for (long n = 0; n < COUNT; n++)
		if (at[n * PAGE] != 1)
			return 1;
	return 0;
}

static int one(void)
{
	volatile char *at = pages(4);

	if (mprotect((void *)at, PAGE, PROT_READ))
		cannot("mprotect");
	return stores(at);
}

static int unmap(void)
{
	volatile char *at = pages(4);

	munmap((void *)at, 4 * PAGE);
	return loads(at + PAGE);
}

static int many(void)
{
	volatile char *at = pages(600);

	at[PAGE] = 1;
	munmap((void *)at, 600 * PAGE);
	return loads(at + PAGE);
}

static int drop(void)
{
	volatile char *at = pages(4);

	madvise((void *)at, 4 * PAGE, MADV_DONTNEED);
	return at[PAGE] != 0;
}

static int move(void)
{
	volatile char *at = pages(2), *to = mapped(2, PROT_NONE);

	if (mremap((void *)at, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		cannot("mremap");
	return loads(at);
}

/* A whole table moves, not word by word. */
static int move_table(void)
{
	volatile char *at = aligned(mapped(2 * TABLE / PAGE, PROT_READ | PROT_WRITE));
	volatile char *to = aligned(mapped(2 * TABLE / PAGE, PROT_NONE));

	at[0] = at[PAGE] = 1;
	if (mremap((void *)at, TABLE, TABLE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		cannot("mremap");
	return loads(at);
}

/* A large page, a part of which may no longer be written to. */
static int split(void)
{
	volatile char *at = aligned(mapped(3 * TABLE / PAGE, PROT_READ | PROT_WRITE));

	if (madvise((void *)at, TABLE, MADV_HUGEPAGE))
		cannot("MADV_HUGEPAGE");
	at[0] = 1;
	if (mprotect((void *)at, PAGE, PROT_READ))
		cannot("mprotect");
	return stores(at);
}

/* The same page of the memory below 1 MB, through the caches first and then without them. */
static int uncached(void)
{
	const int both[] = {O_RDWR, O_RDWR | O_SYNC};
	void *at = NULL;

	for (int n = 0; n < 2; n++) {
		int file = open("/dev/mem", both[n]);

		if (file < 0)
			cannot("/dev/mem");
		at = mmap(at, PAGE, PROT_READ, MAP_SHARED | (n ? MAP_FIXED : 0), file, 0xf0000);
		if (at == MAP_FAILED)
			cannot("mmap");
		(void)*(volatile char *)at;
	}
	return 0;
}

/* The parent's store after fork must not be seen by the child. */
static int forked(void)
{
	volatile char *at = pages(1);
	int ends[2], status;
	char byte = 0;
	pid_t child;

	if (pipe(ends))
		cannot("pipe");
	child = fork();
	if (child == 0) {
		if (read(ends[0], &byte, 1) != 1)
			_exit(2);
		_exit(*at != 1);
	}
	*at = 2;
	if (write(ends[1], &byte, 1) != 1)
		cannot("write");
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

/* The store behind MADV_FREE says that the page is in use again: it must set the dirty bit. */
static int lazy_free(void)
{
	volatile char *at = pages(4);

	if (madvise((void *)at, 4 * PAGE, MADV_FREE))
		cannot("madvise");
	at[0] = 2;
	return 0;
}

static int shrink(void)
{
	int file = memfd_create("shrink", 0);
	volatile char *at;

	if (file < 0 || ftruncate(file, 2 * PAGE))
		cannot("memfd_create");
	at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	at[0] = at[PAGE] = 1;
	if (ftruncate(file, 0))
		cannot("ftruncate");
	return loads(at);
}

int disk(void)
{
	int file = open("/dev/ram0", O_RDWR);

	if (file < 0)
		cannot("/dev/ram0");
	return file;
}

/* A store behind msync must reach the device, so that the word is dirty again. */
static int synchronise(void)
{
	int file = disk();
	volatile char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	char byte = 0;

	at[0] = 1;
	if (msync((void *)at, PAGE, MS_SYNC))
		cannot("msync");
	at[0] = 2;
	munmap((void *)at, PAGE);
	if (posix_fadvise(file, 0, PAGE, POSIX_FADV_DONTNEED) || pread(file, &byte, 1, 0) != 1)
		cannot("pread");
	return byte != 2;
}

static char *code(void *where, int which)
{
	int kind = MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED : 0);
	char *at = mmap(where, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, kind, -1, 0);

	if (at == MAP_FAILED)
		cannot("mmap");
	write_code(at, which);
	return at;
}

/* Another page of instructions at the same address. */
static int instructions(void)
{
	char *at = code(NULL, 0);
	int (*call)(void) = (int (*)(void))(void *)at;

	if (call() != 1)
		cannot("call");
	code(at, 1);
	return call() != 2;
}

static int execute(void)
{
	char *at = code(NULL, 0);
	int (*call)(void) = (int (*)(void))(void *)at;

	if (call() != 1)
		cannot("call");
	if (mprotect(at, PAGE, PROT_NONE))
		cannot("mprotect");
	if (sigsetjmp(away, 0))
		return 0;
	return call();
}

/* A process's page that another process writes to by /proc. */
static int other(void)
{
	volatile char *flags = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile char *at = pages(1);
	char name[32], two = 2;
	int file, status;
	pid_t child = fork();

	if (child == 0) {
		while (*at == 1 && flags[1] == 0)
			flags[0] = 1;
		_exit(*at != 2);
	}
	while (flags[0] == 0)
		sched_yield();
	snprintf(name, sizeof name, "/proc/%d/mem", (int)child);
	file = open(name, O_RDWR);
	if (file < 0 || pwrite(file, &two, 1, (off_t)(unsigned long)at) != 1)
		cannot(name);
	flags[1] = 1;
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

/* One process after another, the second one with the first one's number if the kernel gives it out at once. */
static int successor(void)
{
	volatile char *at = pages(1);
	int stale = 0, status;

	for (int n = 2; n < 6; n++) {
		pid_t child = fork();

		if (child == 0) {
			if (*at != 1)
				_exit(1);
			*at = (char)n;
			_exit(*at != n);
		}
		waitpid(child, &status, 0);
		stale |= status != 0;
	}
	return stale;
}

/* More address spaces than a processor has numbers for: each must see its own page. */
#define SPACES 24
static int numbers(void)
{
	volatile char *all = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile char *at = pages(1);
	pid_t children[SPACES];
	int stale = 0, status;

	for (int n = 0; n < SPACES; n++) {
		children[n] = fork();
		if (children[n] == 0) {
			char own = (char)(n + 2);

			*at = own;
			for (int round = 0; round < 20; round += *all) {
				sched_yield();
				if (*at != own)
					_exit(1);
			}
			_exit(0);
		}
		if (children[n] < 0)
			cannot("fork");
	}
	*all = 1;
	for (int n = 0; n < SPACES; n++) {
		waitpid(children[n], &status, 0);
		stale |= status != 0;
	}
	return stale;
}

/*
 * A ring of processes without a pause between them, for a processor that has so many numbers for programs. When the
 * numbers run out, the process that takes the first one runs once more just before the numbers run out again: the
 * process that has its number then must see its own page.
 */
#define RING  20
#define TURNS (40 * 18)
static int ring[RING][2];
static int spaces = 16;

static int at_turn(int turn)
{
	int round = turn / (spaces + 2), place = turn % (spaces + 2);

	return (round * spaces + (place < spaces ? place : place == spaces ? 0 : spaces)) % RING;
}

static void in_ring(int number, volatile char *at)
{
	char own = (char)(number + 2);
	int turn;

	*at = own;
	while (read(ring[number][0], &turn, sizeof turn) == sizeof turn && turn < TURNS) {
		if (*at != own)
			_exit(1);
		turn++;
		if (write(ring[at_turn(turn)][1], &turn, sizeof turn) != sizeof turn)
			_exit(2);
	}
	for (int n = 0; n < RING; n++)
		if (write(ring[n][1], &turn, sizeof turn) != sizeof turn)
			_exit(2);
	_exit(0);
}

static int roll_over(void)
{
	volatile char *at = pages(1);
	pid_t children[RING];
	int turn = 0, stale = 0, status;

	for (int n = 0; n < RING; n++)
		if (pipe(ring[n]) != 0)
			cannot("pipe");
	for (int n = 0; n < RING; n++) {
		children[n] = fork();
		if (children[n] == 0)
			in_ring(n, at);
		if (children[n] < 0)
			cannot("fork");
	}
	if (write(ring[0][1], &turn, sizeof turn) != sizeof turn)
		cannot("write");
	for (int n = 0; n < RING; n++) {
		wait(&status);
		if (status != 0 && !stale) {
			stale = 1;
			for (int m = 0; m < RING; m++)
				kill(children[m], SIGKILL);
		}
	}
	return stale;
}

static int roll_over_15(void)
{
	spaces = 15;
	return roll_over();
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{"protect", protect}, {"last", last}, {"none", none}, {"every", every}, {"across", across}, {"piped", piped},
	{"one", one}, {"unmap", unmap}, {"many", many}, {"drop", drop},
	{"move", move}, {"move-table", move_table}, {"fork", forked}, {"shrink", shrink},
	{"sync", synchronise}, {"lazy-free", lazy_free}, {"instructions", instructions}, {"execute", execute},
	{"other", other}, {"numbers", numbers}, {"roll-over", roll_over}, {"roll-over-15", roll_over_15},
	{"split", split}, {"uncached", uncached},
	{"successor", successor}, {"frames", frames},
	{"pressure", pressure}, {"other-protect", other_protect}, {"other-unmap", other_unmap},
	{"other-drop", other_drop}, {"other-many", other_many}, {"other-copy", other_copy},
	{"idle", idle},
};

int main(int count, char **words)
{
	struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};

	if (getpid() == 1) { /* as init, on QEMU */
		mount("dev", "/dev", "devtmpfs", 0, NULL);
		mount("proc", "/proc", "proc", 0, NULL);
	}
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
		if (count == 2 && strcmp(words[1], cases[n].name) == 0) {
			int stale = cases[n].run();

			printf("%s: %s\n", cases[n].name, stale ? "stale" : "good");
			return stale;
		}
	fprintf(stderr, "usage: stale CASE\n");
	return 2;
}
