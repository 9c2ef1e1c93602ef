/* One process that makes random calls. It survives the loss of any memory, descriptor or register only by ending: the
 * driver then starts the next worker. */
#define _GNU_SOURCE
#include "state.h"

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
#include "machine.h"

/* This many bytes get random contents; the rest repeats them. */
#define FILLED 1024u
#define FILE_MOST (256u * 1024)

/* Number of calls between two repairs of the timer and the signal mask, which keep a worker running. */
#define REPAIR 8u

/* 1 of this many choices is an attack instead of a call. */
#define ATTACK 6u

/* User of the first worker without privilege; each worker has its own. */
#define USER 1000u

static int forks(unsigned n)
{
	return n == __NR_fork || n == __NR_vfork || n == __NR_clone || n == __NR_clone3;
}

static void on_alarm(int n)
{
	(void)n;
}

/* This timer's signal ends a call that waits, even if an earlier call removed signals or timer. */
static void repair(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction handle = { .sa_handler = on_alarm };
	sigset_t none;

	sigemptyset(&none);
	sigaction(SIGALRM, &handle, NULL);
	sigaction(SIGVTALRM, &handle, NULL);
	sigaction(SIGPROF, &handle, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	setitimer(ITIMER_VIRTUAL, &never, NULL);
	setitimer(ITIMER_PROF, &never, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void limit(int resource, rlim_t most)
{
	struct rlimit both = { most, most };

	setrlimit((__rlimit_resource_t)resource, &both);
}

static void prepare(struct state *s, uid_t user)
{
	int pair[2], fd = open("/dev/null", O_RDWR);
	void *window;

	setsid();
	limit(RLIMIT_FSIZE, FILE_MOST);
	limit(RLIMIT_AS, 16u << 20);
	limit(RLIMIT_NOFILE, 64);
	s->scratch = mmap(NULL, SCRATCH_SIZE + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	s->locked = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	window = mmap(NULL, WINDOW_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->scratch == MAP_FAILED || s->locked == MAP_FAILED || window == MAP_FAILED)
		_exit(2);
	s->window = (uint32_t)(uintptr_t)window;
	for (uint32_t i = 0; i < FILLED; i += 4)
		put(s, (uint32_t)(uintptr_t)s->scratch + i, content(s));
	for (uint32_t i = FILLED; i < SCRATCH_SIZE; i += FILLED)
		memcpy(s->scratch + i, s->scratch, FILLED);
	mprotect(s->scratch + SCRATCH_SIZE, PAGE, PROT_READ);
	munmap(s->scratch + SCRATCH_SIZE + PAGE, PAGE);
	/* Make a descriptor of every kind; 0 to 2 read nothing and drop what is written. */
	if (dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || chroot(FOLDER) < 0 || chdir("/") < 0)
		_exit(2);
	/* Not earlier: a core file in the driver's folder would stay. */
	limit(RLIMIT_CORE, FILE_MOST);
	umask(0);
	mkdir("d", 0777);
	open("a", O_RDWR | O_CREAT, 0666);
	open("d/b", O_RDWR | O_CREAT | O_APPEND, 0666);
	open(".", O_RDONLY | O_DIRECTORY);
	if (pipe(pair) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
	    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
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
	map_device(s);
	if (!s->privileged && (setgid(user) < 0 || setuid(user) < 0))
		_exit(2);
}

/*
 * Takes only 1 of 8 calls that may end the caller, so that a life lasts. Leaves out chroot, because a second one would
 * let a privileged process leave the first root and make files that outlive the round.
 */
static const struct fuzz_call *choose(struct state *s)
{
	const struct fuzz_call *call;

	do
		call = &fuzz_calls[below(&s->random, fuzz_call_count)];
	while ((call->full && below(&s->random, 8)) || (s->privileged && call->number == __NR_chroot));
	return call;
}

static void announce(const char *name, int trace)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%d %s()\n", getpid(), name);

	if (write(trace, line, (size_t)n) < 0)
		return;
}

static void tell(int trace, const struct fuzz_call *call, const uint32_t r[6])
{
	char line[160];
	int n = snprintf(line, sizeof(line), "%d %s(%x, %x, %x, %x, %x, %x)\n", getpid(), call->name, r[0], r[1], r[2],
			 r[3],
			 r[4], r[5]);

	if (write(trace, line, (size_t)n) < 0)
		return;
}

void worker(uint64_t seed, struct progress *mine, const struct progress *all, unsigned workers, unsigned most,
	    int trace)
{
	struct state s = { .random = { seed }, .all = all, .workers = workers };
	unsigned number_of = (unsigned)(mine - all);
	uint32_t r[6];
	long result;

	/* 1 of 4 workers has every privilege, the others none: privileged damage is no error of the kernel. */
	s.privileged = number_of % 4 == 0 && (workers > 1 || below(&s.random, 4) == 0);
	prepare(&s, USER + number_of);
	for (unsigned n = 0; n < most; n++) {
		const struct fuzz_call *call;

		if (n % REPAIR == 0)
			repair();
		if (!s.privileged && geteuid() == 0)
			mine->root = IS_ROOT;
		if (below(&s.random, ATTACK) == 0) {
			mine->last = 0;
			mine->calls++;
			attack(&s, announce, trace);
			continue;
		}
		call = choose(&s);
		/* Registers that the call does not use get random contents too. */
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
			result = machine_fork_call(call->number, r);
		else
			result = system_call6(call->number, (long)r[0], (long)r[1], (long)r[2], (long)r[3], (long)r[4],
					      (long)r[5]);
		mine->errors += result < 0 && result >= -4095;
		mine->digest = (mine->digest ^ call->number ^ (uint32_t)result) * 16777619u;
	}
	_exit(0);
}
