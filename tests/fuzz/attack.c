/* Attacks: sequences of calls that random calls hardly ever form, with random numbers in them. They aim at: addresses
 * at the end of pages and in the device page, lengths that overflow, damaged executables, descriptors in flight, nested
 * epolls, mounts and folders, and timers that expire at once. */
#define _GNU_SOURCE
#include "state.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ipc.h"
#include "syscall.h"
#include "machine.h"

/* A child runs for this long; its parent's wait may be interrupted this often. */
#define CHILD_US 2000
#define PATIENCE 16

/* A child makes this many accesses, because the fork itself costs more than one access. */
#define ACCESSES 8u
#define EXECUTIONS 4u

#define RIGHTS_DEPTH 100u
#define EPOLL_DEPTH 12u
#define MOUNT_DEPTH 16u
#define FOLDER_DEPTH 60u
#define VECTOR_MOST 16u
#define PASSED_MOST 4u
/* So many messages pass between two in this time. */
#define MESSAGES 60u
#define MESSAGES_US 60000

void map_device(struct state *s)
{
	int fd = open("/dev/pagewalk", O_RDWR | O_CLOEXEC);
	void *page = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page != MAP_FAILED)
		s->device = (uint32_t)(uintptr_t)page;
	close(fd);
}

/* Runs `act` in a child that is ended soon, whatever happens to it. */
static void in_child(struct state *s, void (*act)(struct state *s))
{
	const struct itimerval once = { { 0, 0 }, { 0, CHILD_US } };
	pid_t child = fork();

	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		setitimer(ITIMER_REAL, &once, NULL);
		act(s);
		_exit(0);
	}
	if (child < 0)
		return;
	for (unsigned tries = 0; waitpid(child, NULL, WUNTRACED) < 0 && tries < PATIENCE; tries++)
		;
	kill(child, SIGKILL);
	for (unsigned tries = 0; waitpid(child, NULL, 0) > 0 && tries < PATIENCE; tries++)
		;
}

/* One access of any width, or one jump. */
static void access_once(struct state *s)
{
	volatile void *at = (volatile void *)(uintptr_t)address(s);

	unsigned kind = below(&s->random, 12);

	switch (kind) {
	case 0:
		(void)*(volatile uint8_t *)at;
		break;
	case 1:
		*(volatile uint8_t *)at = 1;
		break;
	default:
		machine_access(at, kind);
	}
}

static sigjmp_buf after_fault;

static void on_fault(int n)
{
	siglongjmp(after_fault, n);
}

/* Continues after an access that ended in a signal. */
static void access_often(struct state *s)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE };
	volatile unsigned left = 1 + below(&s->random, ACCESSES);

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		signal(faults[i], on_fault);
	(void)sigsetjmp(after_fault, 1);
	while (left) {
		left--;
		access_once(s);
	}
}

static void touch(struct state *s)
{
	in_child(s, access_often);
}

static void map_again(struct state *s)
{
	map_device(s);
}

/* Maps areas of every kind over one another, and moves them. */
static void remap(struct state *s)
{
	uint32_t at = below(&s->random, 4) ? s->window + PAGE * below(&s->random, WINDOW_PAGES) : s->device;
	uint32_t old = PAGE * below(&s->random, 4), new = below(&s->random, 8) ? PAGE * below(&s->random, 6) : size(s);
	uint32_t to = s->window + PAGE * below(&s->random, WINDOW_PAGES);

	switch (below(&s->random, 4)) {
	case 0:
		system_call6(__NR_mmap2, to, new, below(&s->random, 8),
			     (below(&s->random, 4) << 4) | below(&s->random, 4),
			     below(&s->random, 2) ? -1 : (long)descriptor(s), below(&s->random, 4));
		break;
	case 1:
		system_call(__NR_mprotect, at, new, below(&s->random, 8), 0);
		break;
	default:
		system_call6(__NR_mremap, at, old, new, below(&s->random, 8), to, 0);
	}
}

static void vectors(struct state *s)
{
	static const int calls[] = { __NR_readv, __NR_writev, __NR_preadv, __NR_pwritev, __NR_vmsplice };
	struct iovec vector[VECTOR_MOST];
	unsigned count = below(&s->random, VECTOR_MOST + 1);

	for (unsigned i = 0; i < count; i++) {
		vector[i].iov_base = (void *)(uintptr_t)address(s);
		vector[i].iov_len = size(s);
	}
	system_call6(PICK(s, calls), (long)descriptor(s), (long)(uintptr_t)vector, (long)count, below(&s->random, 4), 0,
		     0);
}

/* Uses few words, so that processes wait for the same ones; counts go up to the maximum. */
static void futexes(struct state *s)
{
	uint32_t word = (uint32_t)(uintptr_t)s->scratch + 4 * below(&s->random, 3);
	uint32_t other = (uint32_t)(uintptr_t)s->scratch + 4 * below(&s->random, 3);
	static const uint32_t counts[] = { 0, 1, 2, INT_MAX, UINT_MAX };

	system_call6(__NR_futex, word, below(&s->random, 14) | (below(&s->random, 2) ? FUTEX_PRIVATE_FLAG : 0),
		     PICK(s, counts),
		     below(&s->random, 2) ? PICK(s, counts) : address(s), other, (long)number(s));
}

struct message {
	struct msghdr header;
	struct iovec vector;
	union {
		struct cmsghdr first;
		char room[CMSG_SPACE(PASSED_MOST * sizeof(int))];
	} control;
	char byte;
};

static void prepare_message(struct message *m, const int *passed, unsigned count)
{
	memset(m, 0, sizeof(*m));
	m->vector.iov_base = &m->byte;
	m->vector.iov_len = 1;
	m->header.msg_iov = &m->vector;
	m->header.msg_iovlen = 1;
	m->header.msg_control = &m->control;
	m->header.msg_controllen = CMSG_SPACE(count * sizeof(int));
	m->control.first.cmsg_level = SOL_SOCKET;
	m->control.first.cmsg_type = SCM_RIGHTS;
	m->control.first.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&m->control.first), passed, count * sizeof(int));
}

static void pass(int to, const int *passed, unsigned count)
{
	struct message m;

	prepare_message(&m, passed, count);
	sendmsg(to, &m.header, MSG_DONTWAIT);
}

static void pass_any(struct state *s)
{
	int passed[PASSED_MOST];
	unsigned count = 1 + below(&s->random, PASSED_MOST);

	for (unsigned i = 0; i < count; i++)
		passed[i] = (int)descriptor(s);
	pass((int)descriptor(s), passed, count);
}

static void take_any(struct state *s)
{
	static const int none[PASSED_MOST];
	struct message m;

	prepare_message(&m, none, PASSED_MOST);
	m.header.msg_controllen = below(&s->random, sizeof(m.control) + 1);
	recvmsg((int)descriptor(s), &m.header, MSG_DONTWAIT | (below(&s->random, 2) ? MSG_PEEK : 0));
}

static int pair_of(struct state *s, int ends[2])
{
	return socketpair(AF_UNIX, below(&s->random, 2) ? SOCK_STREAM : SOCK_DGRAM, 0, ends);
}

/* Puts a socket into a socket's queue, and that socket into another one's queue, and so on. */
static void nest_rights(struct state *s)
{
	unsigned depth = below(&s->random, RIGHTS_DEPTH);
	int inner[2], outer[2];

	if (pair_of(s, inner) < 0)
		return;
	while (depth-- && pair_of(s, outer) == 0) {
		pass(outer[0], inner, 2);
		close(inner[0]);
		close(inner[1]);
		memcpy(inner, outer, sizeof(inner));
	}
	close(inner[0]);
	close(inner[1]);
}

static void ring_of_rights(struct state *s)
{
	int first[2], second[2];

	if (pair_of(s, first) < 0)
		return;
	if (pair_of(s, second) == 0) {
		pass(first[0], second, 1 + below(&s->random, 2));
		pass(second[1], first, 1 + below(&s->random, 2));
		close(second[0]);
		close(second[1]);
	}
	close(first[0]);
	close(first[1]);
}

static void watch(int epoll, int what, uint32_t events)
{
	struct epoll_event event = { .events = events };

	epoll_ctl(epoll, EPOLL_CTL_ADD, what, &event);
}

static void nest_epolls(struct state *s)
{
	int made[EPOLL_DEPTH];
	unsigned depth = 1 + below(&s->random, EPOLL_DEPTH), n;

	for (n = 0; n < depth && (made[n] = epoll_create1(0)) >= 0; n++)
		watch(made[n], n ? made[n - 1] : (int)descriptor(s), next(&s->random));
	if (n)
		watch(made[below(&s->random, n)], made[below(&s->random, n)], flag_bits(s));
	while (n--)
		close(made[n]);
	watch((int)descriptor(s), (int)descriptor(s), flag_bits(s));
}

/* Only a process that may mount makes these. */
static void nest_mounts(struct state *s)
{
	char at[2 * MOUNT_DEPTH + 8] = "d/m";
	size_t used = strlen(at);

	for (unsigned depth = below(&s->random, MOUNT_DEPTH); depth--; used += 2) {
		if (mkdir(at, 0777) < 0 || mount("none", at, "tmpfs", 0, NULL) < 0)
			break;
		strcpy(at + used, "/m");
	}
	if (below(&s->random, 2))
		umount2("d/m", MNT_DETACH);
}

static void nest_folders(struct state *s)
{
	for (unsigned depth = below(&s->random, FOLDER_DEPTH); depth--;)
		if ((mkdir("n", 0777), chdir("n")) < 0)
			break;
	rename("../n", "../../o");
	if (chdir("/") < 0)
		_exit(2);
	rename("n/n", below(&s->random, 2) ? "n" : "o");
	rmdir("o");
}

static void timers(struct state *s)
{
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
		CLOCK_THREAD_CPUTIME_ID };
	const struct itimerval at_once = { { 0, 1 + (long)below(&s->random, 4) }, { 0, 1 } };
	const struct itimerspec soon = { { 0, 1 + (long)below(&s->random, 4000) }, { 0, 1 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_t timer;
	int fd;

	switch (below(&s->random, 3)) {
	case 0:
		setitimer((__itimer_which_t)below(&s->random, 3), &at_once, NULL);
		break;
	case 1:
		if (timer_create(PICK(s, clocks), &event, &timer) == 0)
			timer_settime(timer, 0, &soon, NULL);
		break;
	default:
		fd = timerfd_create(below(&s->random, 2), TFD_NONBLOCK);
		timerfd_settime(fd, 0, &soon, NULL);
		close(fd);
	}
}

/* An executable that ends at once. The attack changes some words of its header. */
struct executable {
	Elf32_Ehdr header;
	Elf32_Phdr segments[3];
	char interpreter[16];
	uint32_t code[3];
};

#define EXECUTABLE_AT 0x10000000u

static void make_executable(struct state *s, struct executable *e)
{
	static const uint32_t end[] = { 0x38000001, 0x38600000, 0x44000002 };	/* li r0,1; li r3,0; sc */
	const uint32_t code_at = EXECUTABLE_AT + (uint32_t)offsetof(struct executable, code);
	uint32_t *words = (uint32_t *)e;

	memset(e, 0, sizeof(*e));
	memcpy(e->header.e_ident, ELFMAG "\1\2\1", 7);
	e->header.e_type = below(&s->random, 8) ? ET_EXEC : ET_DYN;
	e->header.e_machine = EM_PPC;
	e->header.e_version = 1;
	e->header.e_entry = code_at;
	e->header.e_phoff = offsetof(struct executable, segments);
	e->header.e_ehsize = sizeof(e->header);
	e->header.e_phentsize = sizeof(e->segments[0]);
	e->header.e_phnum = (Elf32_Half)(1 + below(&s->random, 3));
	e->segments[0] = (Elf32_Phdr){ PT_LOAD, 0, EXECUTABLE_AT, 0, sizeof(*e), sizeof(*e), PF_R | PF_X, PAGE };
	e->segments[1] = (Elf32_Phdr){ PT_LOAD, 0, EXECUTABLE_AT + PAGE, 0, 1, below(&s->random, 1 << 20), PF_R | PF_W,
		PAGE };
	e->segments[2] = (Elf32_Phdr){ PT_INTERP, offsetof(struct executable, interpreter), 0, 0, 4, 4, PF_R, 1 };
	strcpy(e->interpreter, below(&s->random, 2) ? "/a" : "/xa");
	memcpy(e->code, end, sizeof(end));
	for (unsigned n = below(&s->random, 5); n; n--)
		words[4 + below(&s->random, offsetof(struct executable, interpreter) / 4 - 4)] =
			address(s) & ~(number(s) & 0xfff);
	for (unsigned n = below(&s->random, 3); n; n--)
		words[4 + below(&s->random, offsetof(struct executable, interpreter) / 4 - 4)] = number(s);
}

static void execute_damaged(struct state *s)
{
	static const mode_t modes[] = { 0755, 0755, 04755, 06755, 0111 };
	static char name[] = "/xa";
	static char *const arguments[] = { name, name, NULL };
	struct executable e;
	int fd;

	make_executable(s, &e);
	name[2] = (char)('a' + below(&s->random, 4));
	if (below(&s->random, 2))
		unlink(name);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (write(fd, &e, below(&s->random, 16) ? sizeof(e) : below(&s->random, sizeof(e))) > 0)
		fchmod(fd, PICK(s, modes));
	close(fd);
	if (below(&s->random, 8) == 0)
		ptrace(PTRACE_TRACEME, 0, 0, 0);
	execve(name, arguments, arguments + 1);
}

static void execute_until_it_runs(struct state *s)
{
	for (unsigned n = 0; n < EXECUTIONS; n++)
		execute_damaged(s);
}

static void execute(struct state *s)
{
	in_child(s, execute_until_it_runs);
}

/*
 * Messages from one process to another that waits for them, and back, so that they come to take the kernel's shortest
 * path; among them others, with odd words, and with the processor in an odd state.
 */
static void exchange(struct state *s)
{
	const struct itimerval once = { { 0, 0 }, { 0, MESSAGES_US } };
	struct ipc_message message = { { 1, 2, 3 }, 0 };
	pid_t self = getpid(), other = fork();
	long partner = other > 0 ? other : self;

	if (other < 0)
		return;
	setitimer(ITIMER_REAL, &once, NULL);
	if (other == 0) {
		number(s);      /* so that the two draw other numbers */
		ipc_invoke(IPC_RECEIVE, partner, NULL, IPC_FOREVER, &message);
	}
	for (unsigned n = 0; n < MESSAGES; n++) {
		long call = other ? IPC_CALL : IPC_REPLY_WAIT, to = partner;
		uint32_t buffers = 0, time = IPC_FOREVER;
		unsigned odd = below(&s->random, 32);

		switch (odd) {
		case 0:
			call = IPC_SEND + (long)below(&s->random, 4);
			break;
		case 1:
			to = below(&s->random, 2) ? (long)number(s) : IPC_ANYONE;
			break;
		case 2:
			time = number(s);
			break;
		case 3:
			buffers = address(s);
			break;
		}
		message.word[n % 3] = number(s);
		machine_odd_begin(odd);
		ipc_invoke(call, to, (const struct ipc_buffers *)(uintptr_t)buffers, time, &message);
		machine_odd_end(odd);
	}
}

static void exchange_messages(struct state *s)
{
	in_child(s, exchange);
}

static const struct {
	const char *name;
	void (*make)(struct state *s);
	int privileged;
	unsigned seldom;	/* 1 of this many choices is made */
} attacks[] = {
	{ "touch", touch, 0, 2 }, { "map_again", map_again, 0, 1 },
	{ "remap", remap, 0, 1 }, { "vectors", vectors, 0, 1 },
	{ "futexes", futexes, 0, 1 }, { "pass_any", pass_any, 0, 1 },
	{ "take_any", take_any, 0, 1 }, { "nest_rights", nest_rights, 0, 1 },
	{ "ring_of_rights", ring_of_rights, 0, 1 }, { "nest_epolls", nest_epolls, 0, 1 },
	{ "nest_mounts", nest_mounts, 1, 1 }, { "nest_folders", nest_folders, 0, 1 },
	{ "timers", timers, 0, 1 }, { "execute", execute, 0, 2 },
	{ "exchange_messages", exchange_messages, 0, 2 },
};

#define ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

void attack(struct state *s, void (*announce)(const char *name, int trace), int trace)
{
	unsigned n = below(&s->random, ATTACKS);

	if ((attacks[n].privileged && !s->privileged) || below(&s->random, attacks[n].seldom))
		return;
	if (trace >= 0)
		announce(attacks[n].name, trace);
	attacks[n].make(s);
}
