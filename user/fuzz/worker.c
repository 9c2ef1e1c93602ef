/* One process that makes random calls. It keeps nothing in memory that it could not lose: a call that takes its memory,
 * descriptors or registers away ends this process, and the driver starts the next. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "syscall.h"

#define PAGE 4096u
#define SCRATCH_PAGES 16u
#define SCRATCH_SIZE (SCRATCH_PAGES * PAGE)
/* So much of it gets contents of its own, the rest repeats. */
#define FILLED 1024u
#define FILE_MOST (256u * 1024)
#define NAME_MOST 200u

/* Calls between two repairs of what keeps a worker going: its timer and its signal mask. */
#define REPAIR 8u

struct state {
	struct sequence random;
	uint8_t *scratch;	/* readable and writable, then a page that is only readable, then none */
	uint8_t *locked;	/* a page without any right */
	const struct progress *all;
	unsigned workers;
	int privileged;
};

static const char *const names[] = {
	"a", "b", "c", "d", "a/b", "d/a", "d/c/a", "..", ".", "", "./a", "d/..", "b/", "a//", "../fuzz/a", "e", "f", "d/c",
	FOLDER, FOLDER "/a", FOLDER "/d/b", "/proc/self/maps", "/proc/self/fd/3", "/proc/self/exe", "/proc/self",
	"/proc/meminfo", "/proc/self/status", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/none", "/",
	"user.a", "user.b", "trusted.a", "/dev/ram0", "/dev/ptmx", "/dev/pts/0",
};

static const uint32_t numbers[] = {
	0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 63, 64, 65, 100, 127, 128, 129, 255, 256, 511, 512, 1023, 1024, 1025, 4095, 4096,
	4097, 8191, 8192, 32767, 32768, 65535, 65536, 65537, 0x100000, 0x7ffff000, 0x7fffffff, 0x80000000, 0x80000001,
	0xbfffffff, 0xc0000000, 0xfffff000, 0xffffff9c, 0xfffffffe, 0xffffffff,
};

#define PICK(s, list) ((list)[below(&(s)->random, sizeof(list) / sizeof((list)[0]))])

static uint32_t number(struct state *s)
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

static uint32_t descriptor(struct state *s)
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

/* Never a process that is not the fuzzer's own: itself, another worker, a group of theirs, or none. */
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

static uint32_t flag_bits(struct state *s)
{
	uint32_t bits = 0;

	if (below(&s->random, 8) == 0)
		return next(&s->random);
	for (uint32_t n = below(&s->random, 4); n; n--)
		bits |= 1u << below(&s->random, 32);
	return bits;
}

/* An address of every kind there is; most are good. */
static uint32_t address(struct state *s)
{
	uint32_t scratch = (uint32_t)(uintptr_t)s->scratch;

	switch (below(&s->random, 24)) {
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
	case 13:
	case 14:
		return scratch + PAGE * below(&s->random, SCRATCH_PAGES);
	default:
		return scratch + 8 * below(&s->random, SCRATCH_SIZE / 8);
	}
}

static void put(struct state *s, uint32_t at, uint32_t value)
{
	uint32_t offset = at - (uint32_t)(uintptr_t)s->scratch;

	if (offset <= SCRATCH_SIZE - sizeof(value))
		memcpy(s->scratch + offset, &value, sizeof(value));
}

/* A word as a structure may hold it. */
static uint32_t content(struct state *s)
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

static uint32_t path(struct state *s)
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

static uint32_t argument(struct state *s, enum fuzz_kind kind)
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
	default:
		return number(s);
	}
}

/* A child that the call made comes back with 0: it ends at once, without touching the memory that it may share. */
static long fork_call(long n, const uint32_t r[6])
{
	register long r0 __asm__("r0") = n;
	register uint32_t r3 __asm__("r3") = r[0];
	register uint32_t r4 __asm__("r4") = r[1];
	register uint32_t r5 __asm__("r5") = r[2];
	register uint32_t r6 __asm__("r6") = r[3];
	register uint32_t r7 __asm__("r7") = r[4];

	__asm__ volatile("sc\n\t"
			 "bso 2f\n\t"
			 "cmpwi 3,0\n\t"
			 "bne 1f\n\t"
			 "li 0,%6\n\t"
			 "sc\n"
			 "2:\tneg 3,3\n"
			 "1:"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7)
			 : "i"(__NR_exit)
			 : "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	return (long)r3;
}

static int forks(unsigned n)
{
	return n == __NR_fork || n == __NR_vfork || n == __NR_clone || n == __NR_clone3;
}

static void on_alarm(int n)
{
	(void)n;
}

/* A call that waits ends by this timer's signal, also when a call before it took signals or timer away. */
static void repair(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction handle = { .sa_handler = on_alarm };
	sigset_t none;

	sigemptyset(&none);
	sigaction(SIGALRM, &handle, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void limit(int resource, rlim_t most)
{
	struct rlimit both = { most, most };

	setrlimit((__rlimit_resource_t)resource, &both);
}

static void prepare(struct state *s)
{
	int pair[2], fd = open("/dev/null", O_RDWR);

	setsid();
	limit(RLIMIT_FSIZE, FILE_MOST);
	limit(RLIMIT_AS, 16u << 20);
	limit(RLIMIT_NOFILE, 64);
	limit(RLIMIT_CORE, FILE_MOST);
	s->scratch = mmap(NULL, SCRATCH_SIZE + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	s->locked = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->scratch == MAP_FAILED || s->locked == MAP_FAILED)
		_exit(2);
	for (uint32_t i = 0; i < FILLED; i += 4)
		put(s, (uint32_t)(uintptr_t)s->scratch + i, content(s));
	for (uint32_t i = FILLED; i < SCRATCH_SIZE; i += FILLED)
		memcpy(s->scratch + i, s->scratch, FILLED);
	mprotect(s->scratch + SCRATCH_SIZE, PAGE, PROT_READ);
	munmap(s->scratch + SCRATCH_SIZE + PAGE, PAGE);
	/* Descriptors of every kind, 0 to 2 being nothing. */
	if (dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || chroot(FOLDER) < 0 || chdir("/") < 0)
		_exit(2);
	umask(0);
	mkdir("d", 0777);
	open("a", O_RDWR | O_CREAT, 0666);
	open("d/b", O_RDWR | O_CREAT | O_APPEND, 0666);
	open(".", O_RDONLY | O_DIRECTORY);
	if (pipe(pair) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
		_exit(2);
	socket(AF_UNIX, SOCK_STREAM, 0);
	socket(AF_INET, SOCK_STREAM, 0);
	socket(AF_INET, SOCK_DGRAM, 0);
	system_call(__NR_epoll_create1, 0, 0, 0, 0);
	system_call(__NR_eventfd2, 0, 0, 0, 0);
	system_call(__NR_pidfd_open, (uint32_t)getpid(), 0, 0, 0);
	fd = open("/dev/ptmx", O_RDWR);
	pair[0] = 0;
	ioctl(fd, TIOCSPTLCK, pair);
	ioctl(fd, TIOCGPTPEER, O_RDWR);
	/* Most lives are led without privilege: what a privileged process may break is not the kernel's fault. */
	s->privileged = below(&s->random, 4) == 0;
	if (!s->privileged && (setgid(1000) < 0 || setuid(1000) < 0))
		_exit(2);
}

/*
 * One in eight of the calls that may end the caller, so that a life lasts. A second chroot would let a privileged
 * process out of the first, to where files outlive the round.
 */
static const struct fuzz_call *choose(struct state *s)
{
	const struct fuzz_call *call;

	do
		call = &fuzz_calls[below(&s->random, fuzz_call_count)];
	while ((call->full && below(&s->random, 8)) || (s->privileged && call->number == __NR_chroot));
	return call;
}

static void tell(int trace, const struct fuzz_call *call, const uint32_t r[6])
{
	char line[160];
	int n = snprintf(line, sizeof(line), "%d %s(%x, %x, %x, %x, %x, %x)\n", getpid(), call->name, r[0], r[1], r[2], r[3],
			 r[4], r[5]);

	if (write(trace, line, (size_t)n) < 0)
		return;
}

void worker(uint64_t seed, struct progress *mine, const struct progress *all, unsigned workers, unsigned most, int trace)
{
	struct state s = { .random = { seed }, .all = all, .workers = workers };
	uint32_t r[6];
	long result;

	prepare(&s);
	for (unsigned n = 0; n < most; n++) {
		const struct fuzz_call *call = choose(&s);

		if (n % REPAIR == 0)
			repair();
		/* Registers that the call does not use have something in them too. */
		for (unsigned i = 0; i < 6; i++)
			r[i] = number(&s);
		for (unsigned i = 0; i < call->arguments; i++) {
			const struct fuzz_argument *a = &call->argument[i];

			r[a->first] = argument(&s, (enum fuzz_kind)a->kind);
			if (a->registers == 2)
				r[a->first + 1] = number(&s);
		}
		if (trace >= 0)
			tell(trace, call, r);
		mine->last = call->number;
		mine->calls++;
		if (forks(call->number))
			result = fork_call(call->number, r);
		else
			result = system_call6(call->number, (long)r[0], (long)r[1], (long)r[2], (long)r[3], (long)r[4], (long)r[5]);
		mine->errors += result < 0 && result >= -4095;
		mine->digest = (mine->digest ^ call->number ^ (uint32_t)result) * 16777619u;
	}
	_exit(0);
}
