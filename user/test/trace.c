/* ptrace, and access to the memory of other processes. qemu-ppc offers neither. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

/* Words of the user area: Linux uapi, powerpc asm/ptrace.h. */
enum { R0 = 0, R3 = 3, R14 = 14, NIP = 32, ORIG_R3 = 34, CCR = 38, FPR1 = 50 };
#define AT(word) ((void *)(4 * (uintptr_t)(word)))

#define TRAP_INSTRUCTION 0x7fe00008u	/* trap */

static long peek(pid_t child, const void *address)
{
	errno = 0;
	return ptrace(PTRACE_PEEKDATA, child, address, NULL);
}

static uint32_t user_word(pid_t child, unsigned word)
{
	errno = 0;
	return (uint32_t)ptrace(PTRACE_PEEKUSER, child, AT(word), NULL);
}

/* Waits for the child's next stop; returns its status in wait's form. */
static int stop_of(pid_t child)
{
	int status;

	CHECK_EQUAL(MUST(waitpid(child, &status, __WALL)), child);
	return status;
}

static void stops(pid_t child, int number)
{
	int status = stop_of(child);

	CHECK(WIFSTOPPED(status));
	CHECK_EQUAL(WSTOPSIG(status), number);
}

/* Makes a child that its parent traces. The child stops first, and runs the function after that. */
static pid_t traced(int (*function)(void))
{
	pid_t child = (pid_t)MUST(fork());

	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(function());
	}
	stops(child, SIGSTOP);
	return child;
}

static int seven(void)
{
	return 7;
}

static void stopped_and_continued(void)
{
	pid_t child = traced(seven);

	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 7);
	CHECK_ERROR(ptrace(PTRACE_CONT, child, NULL, NULL), ESRCH);
}

static volatile uint32_t shared_word = 0x12345678;

static int tells_word(void)
{
	return shared_word == 0xcafe0000u ? 1 : 2;
}

static void memory(void)
{
	pid_t child = traced(tells_word);

	CHECK_EQUAL((uint32_t)peek(child, (void *)&shared_word), 0x12345678u);
	MUST(ptrace(PTRACE_POKEDATA, child, (void *)&shared_word, (void *)(uintptr_t)0xcafe0000u));
	CHECK_EQUAL(shared_word, 0x12345678u);
	CHECK(peek(child, (void *)16) == -1 && errno == EIO);
	CHECK_ERROR(ptrace(PTRACE_POKEDATA, child, (void *)16, NULL), EIO);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 1);
}

static int target(void)
{
	return 3;
}

static int (*volatile called)(void) = target;

static int calls_target(void)
{
	return called();
}

/* A debugger may write to code, which the program itself may not. Only the traced process sees the change. */
static void breakpoints(void)
{
	pid_t child = traced(calls_target);
	void *place = (void *)(uintptr_t)target;
	long instruction = peek(child, place);

	MUST(ptrace(PTRACE_POKETEXT, child, place, (void *)(uintptr_t)TRAP_INSTRUCTION));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	stops(child, SIGTRAP);
	CHECK_EQUAL(user_word(child, NIP), (uintptr_t)place);
	CHECK_EQUAL(target(), 3);
	MUST(ptrace(PTRACE_POKETEXT, child, place, (void *)instruction));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 3);
}

static int four_instructions(void)
{
	int result;

	__asm__ volatile("li %0,1\n\taddi %0,%0,2\n\taddi %0,%0,4\n\ttrap\n\tnop" : "=b"(result));
	return result;
}

static void single_steps(void)
{
	pid_t child = traced(four_instructions);
	uint32_t at = 0, next, found = 0;
	siginfo_t info;

	/* Step until the trap. Before it come plain instructions, so each step must advance by one instruction. */
	for (int i = 0; i < 3000 && !found; i++) {
		MUST(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL));
		stops(child, SIGTRAP);
		next = user_word(child, NIP);
		if ((uint32_t)peek(child, (void *)(uintptr_t)next) == TRAP_INSTRUCTION) {
			MUST(ptrace(PTRACE_GETSIGINFO, child, NULL, &info));
			CHECK_EQUAL(info.si_code, TRAP_TRACE);
			CHECK_EQUAL(next, at + 4);
			found = next;
		}
		at = next;
	}
	CHECK(found);
	MUST(ptrace(PTRACE_POKEUSER, child, AT(NIP), (void *)(uintptr_t)(found + 4)));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 7);
}

static int one_call(void)
{
	return syscall(SYS_getppid) == 99 ? 5 : 6;
}

static void system_calls(void)
{
	pid_t child = traced(one_call);
	int seen = 0;

	MUST(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD));
	for (;;) {
		MUST(ptrace(PTRACE_SYSCALL, child, NULL, NULL));
		if (!seen) {
			int status = stop_of(child);

			CHECK_EQUAL(status, 0x7f | (SIGTRAP | 0x80) << 8);
			if (user_word(child, R0) != SYS_getppid)
				continue;
			/* Stops before and after the call; at the second stop the tracer changes the result. */
			CHECK_EQUAL(user_word(child, R0), SYS_getppid);
			MUST(ptrace(PTRACE_SYSCALL, child, NULL, NULL));
			CHECK_EQUAL(stop_of(child), 0x7f | (SIGTRAP | 0x80) << 8);
			CHECK_EQUAL(user_word(child, R3), (uint32_t)getpid());
			MUST(ptrace(PTRACE_POKEUSER, child, AT(R3), (void *)99));
			seen = 1;
			continue;
		}
		/* The child's exit_group shows that the child got the changed result. */
		CHECK_EQUAL(stop_of(child), 0x7f | (SIGTRAP | 0x80) << 8);
		CHECK_EQUAL(user_word(child, R0), SYS_exit_group);
		CHECK_EQUAL(user_word(child, R3), 5);
		break;
	}
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 5);
}

/* The values as they are in floating-point registers. */
#define ONE_AND_A_HALF 0x3ff8000000000000u
#define TWO_AND_A_HALF 0x4004000000000000u

static int in_registers(void)
{
	register uint32_t kept __asm__("r14") = 0x11112222;
	volatile uint64_t real = ONE_AND_A_HALF;

	__asm__ volatile("lfd 14,0(%1)\n trap\n stfd 14,0(%1)" : "+r"(kept) : "b"(&real) : "fr14", "memory");
	return kept == 0x33334444 && real == TWO_AND_A_HALF ? 9 : 1;
}

static void registers(void)
{
	pid_t child = traced(in_registers);
	struct iovec all;
	uint32_t words[48];
	uint64_t reals[33];

	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	stops(child, SIGTRAP);
	MUST(ptrace(PTRACE_GETREGS, child, NULL, words));
	CHECK_EQUAL(words[R14], 0x11112222);
	CHECK_EQUAL(words[NIP], user_word(child, NIP));
	CHECK_EQUAL(user_word(child, R14), 0x11112222);
	words[R14] = 0x33334444;
	words[NIP] += 4;
	MUST(ptrace(PTRACE_SETREGS, child, NULL, words));
	MUST(ptrace(PTRACE_GETFPREGS, child, NULL, reals));
	CHECK(reals[14] == ONE_AND_A_HALF);
	reals[14] = TWO_AND_A_HALF;
	MUST(ptrace(PTRACE_SETFPREGS, child, NULL, reals));
	memset(words, 0xff, sizeof(words));
	all = (struct iovec){ words, sizeof(words) };
	MUST(ptrace(PTRACE_GETREGSET, child, (void *)1, &all));
	CHECK_EQUAL(all.iov_len, sizeof(words));
	CHECK_EQUAL(words[R14], 0x33334444);
	CHECK_EQUAL(words[47], 0);
	CHECK_ERROR(ptrace(PTRACE_GETREGSET, child, (void *)99, &all), EINVAL);
	CHECK_ERROR(ptrace(PTRACE_PEEKUSER, child, (void *)2, NULL), EIO);
	CHECK_ERROR(ptrace(PTRACE_PEEKUSER, child, (void *)4000, NULL), EIO);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 9);
}

static int signals_itself(void)
{
	signal(SIGUSR1, SIG_IGN);
	raise(SIGUSR1);
	raise(SIGTERM);
	raise(SIGUSR2);
	return 1;
}

/* The tracer sees ignored signals too; it suppresses one signal and replaces another. */
static void signals(void)
{
	pid_t child = traced(signals_itself);
	siginfo_t info;

	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	stops(child, SIGUSR1);
	MUST(ptrace(PTRACE_CONT, child, NULL, (void *)SIGUSR1));
	stops(child, SIGTERM);
	MUST(ptrace(PTRACE_GETSIGINFO, child, NULL, &info));
	CHECK_EQUAL(info.si_signo, SIGTERM);
	CHECK_EQUAL(info.si_pid, child);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	stops(child, SIGUSR2);
	MUST(ptrace(PTRACE_CONT, child, NULL, (void *)SIGALRM));
	CHECK_EQUAL(test_wait(child), 1000 + SIGALRM);
}

static int forks(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(4);
	return test_wait(child);
}

static void forks_and_ends(void)
{
	pid_t child = traced(forks), grandchild;
	unsigned long message;

	MUST(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXIT)));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(stop_of(child) >> 8, SIGTRAP | PTRACE_EVENT_FORK << 8);
	MUST(ptrace(PTRACE_GETEVENTMSG, child, NULL, &message));
	grandchild = (pid_t)message;
	stops(grandchild, SIGSTOP);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	MUST(ptrace(PTRACE_CONT, grandchild, NULL, NULL));
	CHECK_EQUAL(stop_of(grandchild) >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
	MUST(ptrace(PTRACE_GETEVENTMSG, grandchild, NULL, &message));
	CHECK_EQUAL(message, 4 << 8);
	MUST(ptrace(PTRACE_CONT, grandchild, NULL, NULL));
	/* The grandchild's end is reported to the tracer first, then to its parent, which then ends too. */
	CHECK_EQUAL(stop_of(grandchild), 4 << 8);
	stops(child, SIGCHLD);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(stop_of(child) >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 4);
}

static int executes(void)
{
	execl("/bin/hello", "hello", (char *)NULL);
	return 1;
}

static void exec_stops(void)
{
	for (int asked = 0; asked < 2; asked++) {
		pid_t child = traced(executes);

		MUST(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(asked ? PTRACE_O_TRACEEXEC : 0)));
		MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
		CHECK_EQUAL(stop_of(child) >> 8, SIGTRAP | (asked ? PTRACE_EVENT_EXEC << 8 : 0));
		MUST(ptrace(PTRACE_KILL, child, NULL, NULL));
		CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
	}
}

static int counts(void *word)
{
	do
		(*(volatile uint32_t *)word)++;
	while (word);
	return 0;
}

/* Makes a child that increments a word for ever; the caller can read the word. */
static pid_t counter(volatile uint32_t **word)
{
	*word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(*word != MAP_FAILED);
	return test_child(counts, (void *)*word);
}

static void attached(void)
{
	volatile uint32_t *word;
	uint32_t before;
	char status[2048];
	pid_t child;
	char path[64];

	child = counter(&word);
	while (!*word)
		sched_yield();
	CHECK_ERROR(ptrace(PTRACE_PEEKUSER, child, AT(NIP), NULL), ESRCH);
	MUST(ptrace(PTRACE_ATTACH, child, NULL, NULL));
	stops(child, SIGSTOP);
	CHECK_ERROR(ptrace(PTRACE_ATTACH, child, NULL, NULL), EPERM);
	snprintf(path, sizeof(path), "/proc/%d/status", child);
	test_read_file(path, status, sizeof(status));
	CHECK(strstr(status, "State:\tt (tracing stop)\n") != NULL);
	before = *word;
	usleep(20000);
	CHECK_EQUAL(*word, before);
	MUST(ptrace(PTRACE_DETACH, child, NULL, NULL));
	while (*word == before)
		sched_yield();
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
	CHECK_ERROR(ptrace(PTRACE_ATTACH, getpid(), NULL, NULL), EPERM);
	CHECK_ERROR(ptrace(PTRACE_ATTACH, 0x3fffffff, NULL, NULL), ESRCH);
}

/* The first process may be traced. Its tracer sees the signals sent to it, but cannot end it. */
static void first_process_attached(void)
{
	MUST(ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	stops(1, SIGSTOP);
	CHECK(user_word(1, NIP) != 0);
	MUST(kill(1, SIGTERM));
	MUST(kill(1, SIGKILL));
	MUST(ptrace(PTRACE_CONT, 1, NULL, (void *)SIGSTOP));
	stops(1, SIGTERM);
	MUST(ptrace(PTRACE_CONT, 1, NULL, (void *)SIGTERM));
	MUST(kill(1, SIGUSR1));
	stops(1, SIGUSR1);
	MUST(ptrace(PTRACE_DETACH, 1, NULL, NULL));
	MUST(kill(1, 0));
}

static int is_traced(void *tracee)
{
	pid_t child = (pid_t)(intptr_t)tracee;

	MUST(ptrace(PTRACE_ATTACH, child, NULL, NULL));
	stops(child, SIGSTOP);
	return 0;
}

/* When a tracer ends, its tracee continues. A stopped tracee can be killed. */
static void tracer_ends(void)
{
	volatile uint32_t *word;
	uint32_t before;
	pid_t child;

	child = counter(&word);
	CHECK_EQUAL(test_in_child(is_traced, (void *)(intptr_t)child), 0);
	before = *word;
	while (*word == before)
		sched_yield();
	MUST(ptrace(PTRACE_ATTACH, child, NULL, NULL));
	stops(child, SIGSTOP);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

/* The wait status of a stop without a signal of its own: a stop of the whole process, or one by PTRACE_INTERRUPT. */
#define EVENT_STOP(number) (0x7f | (number) << 8 | 128 << 16)

static void seized(void)
{
	volatile uint32_t *word;
	uint32_t before;
	siginfo_t info;
	pid_t child;

	child = counter(&word);
	CHECK_ERROR(ptrace(PTRACE_SEIZE, child, (void *)4, NULL), EIO);
	CHECK_ERROR(ptrace(PTRACE_SEIZE, child, NULL, (void *)0x80000000u), EIO);
	CHECK_ERROR(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), ESRCH);
	MUST(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	CHECK_ERROR(ptrace(PTRACE_SEIZE, child, NULL, NULL), EPERM);
	before = *word;
	while (*word == before)
		sched_yield();
	CHECK_ERROR(ptrace(PTRACE_PEEKUSER, child, AT(NIP), NULL), ESRCH);
	for (int again = 0; again < 2; again++) {
		MUST(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
		CHECK_EQUAL(stop_of(child), EVENT_STOP(SIGTRAP));
		MUST(ptrace(PTRACE_GETSIGINFO, child, NULL, &info));
		CHECK_EQUAL(info.si_signo, SIGTRAP);
		CHECK_EQUAL(info.si_code, SIGTRAP | 128 << 8);
		before = *word;
		usleep(20000);
		CHECK_EQUAL(*word, before);
		MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
		while (*word == before)
			sched_yield();
	}
	/* PTRACE_INTERRUPT during a stop makes the tracee stop once more after it continues. */
	MUST(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
	CHECK_EQUAL(stop_of(child), EVENT_STOP(SIGTRAP));
	MUST(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(stop_of(child), EVENT_STOP(SIGTRAP));
	MUST(ptrace(PTRACE_DETACH, child, NULL, NULL));
	before = *word;
	while (*word == before)
		sched_yield();
	/* These requests are refused for a tracee that was attached, not seized. */
	MUST(ptrace(PTRACE_ATTACH, child, NULL, NULL));
	stops(child, SIGSTOP);
	CHECK_ERROR(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), EIO);
	CHECK_ERROR(ptrace(PTRACE_LISTEN, child, NULL, NULL), EIO);
	MUST(ptrace(PTRACE_KILL, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static int sleeps_a_while(void *unused)
{
	struct timespec some = { 0, 50000000 };

	(void)unused;
	return nanosleep(&some, NULL) == 0 ? 12 : 13;
}

/* An interrupted call is restarted. */
static void sleeper_interrupted(void)
{
	pid_t child = test_child(sleeps_a_while, NULL);

	MUST(ptrace(PTRACE_SEIZE, child, NULL, (void *)PTRACE_O_TRACESYSGOOD));
	usleep(10000);
	MUST(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
	CHECK_EQUAL(stop_of(child), EVENT_STOP(SIGTRAP));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 12);
}

/* A seized tracee stays stopped as long as its process is stopped, and its tracer is told of SIGCONT. */
static void stop_of_a_process(void)
{
	volatile uint32_t *word;
	uint32_t before;
	pid_t child;

	child = counter(&word);
	MUST(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	MUST(kill(child, SIGSTOP));
	stops(child, SIGSTOP);
	CHECK_ERROR(ptrace(PTRACE_LISTEN, child, NULL, NULL), EIO);
	MUST(ptrace(PTRACE_CONT, child, NULL, (void *)SIGSTOP));
	CHECK_EQUAL(stop_of(child), EVENT_STOP(SIGSTOP));
	MUST(ptrace(PTRACE_LISTEN, child, NULL, NULL));
	CHECK_ERROR(ptrace(PTRACE_PEEKUSER, child, AT(NIP), NULL), ESRCH);
	CHECK_ERROR(ptrace(PTRACE_CONT, child, NULL, NULL), ESRCH);
	before = *word;
	usleep(20000);
	CHECK_EQUAL(*word, before);
	MUST(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
	CHECK_EQUAL(stop_of(child), EVENT_STOP(SIGSTOP));
	MUST(ptrace(PTRACE_LISTEN, child, NULL, NULL));
	MUST(kill(child, SIGCONT));
	CHECK_EQUAL(stop_of(child), EVENT_STOP(SIGTRAP));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	stops(child, SIGCONT);
	CHECK_EQUAL(*word, before);
	MUST(ptrace(PTRACE_CONT, child, NULL, (void *)SIGCONT));
	while (*word == before)
		sched_yield();
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

/* A tracee seized while its process is stopped reports the stop, and is still stopped after PTRACE_DETACH. */
static void seized_while_stopped(void)
{
	volatile uint32_t *word;
	uint32_t before;
	pid_t child;
	int status;

	child = counter(&word);
	MUST(kill(child, SIGSTOP));
	CHECK_EQUAL(waitpid(child, &status, WUNTRACED), child);
	CHECK_EQUAL(status, 0x7f | SIGSTOP << 8);
	MUST(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	CHECK_EQUAL(stop_of(child), EVENT_STOP(SIGSTOP));
	MUST(ptrace(PTRACE_DETACH, child, NULL, NULL));
	before = *word;
	usleep(20000);
	CHECK_EQUAL(*word, before);
	MUST(kill(child, SIGCONT));
	CHECK_EQUAL(waitpid(child, &status, WCONTINUED), child);
	CHECK(WIFCONTINUED(status));
	while (*word == before)
		sched_yield();
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

/* Children of a seized tracee are seized too. They begin with a stop without a signal; exec makes no stop. */
static void children_seized(void)
{
	unsigned long message;
	pid_t child, grandchild;
	int ends[2];
	char byte;

	MUST(pipe(ends));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		MUST(read(ends[0], &byte, 1));
		grandchild = fork();
		_exit(grandchild ? test_wait(grandchild) : executes());
	}
	MUST(ptrace(PTRACE_SEIZE, child, NULL, (void *)PTRACE_O_TRACEFORK));
	MUST(write(ends[1], "x", 1));
	CHECK_EQUAL(stop_of(child), 0x7f | SIGTRAP << 8 | PTRACE_EVENT_FORK << 16);
	MUST(ptrace(PTRACE_GETEVENTMSG, child, NULL, &message));
	grandchild = (pid_t)message;
	CHECK_EQUAL(stop_of(grandchild), EVENT_STOP(SIGTRAP));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	MUST(ptrace(PTRACE_CONT, grandchild, NULL, NULL));
	CHECK_EQUAL(stop_of(grandchild) & 0x7f, 0);
	stops(child, SIGCHLD);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 0);
}

static void *ends(void *unused)
{
	return unused;
}

static int runs_a_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, ends, NULL) || pthread_join(thread, NULL))
		return 1;
	return 8;
}

static void threads(void)
{
	pid_t child = traced(runs_a_thread), thread, other;
	unsigned long message;
	int status, ended = 0;

	MUST(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACECLONE));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(stop_of(child) >> 8, SIGTRAP | PTRACE_EVENT_CLONE << 8);
	MUST(ptrace(PTRACE_GETEVENTMSG, child, NULL, &message));
	thread = (pid_t)message;
	stops(thread, SIGSTOP);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	MUST(ptrace(PTRACE_CONT, thread, NULL, NULL));
	/* The tracer is told of both ends: the thread's with the thread's number. */
	for (int i = 0; i < 2; i++) {
		other = (pid_t)MUST(waitpid(-1, &status, __WALL));
		CHECK(WIFEXITED(status));
		CHECK_EQUAL(WEXITSTATUS(status), other == child ? 8 : 0);
		ended |= other == child ? 1 : other == thread ? 2 : 4;
	}
	CHECK_EQUAL(ended, 3);
}

static int sleeps(void *unused)
{
	(void)unused;
	pause();
	return 0;
}

static void memory_of_others(void)
{
	static char here[3][16] = { "first", "second", "third" };
	char copy[64] = "", *far = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec local = { copy, sizeof(copy) }, remote[2] = { { here[0], 16 }, { here[2], 16 } };
	pid_t child;

	CHECK(far != MAP_FAILED);
	memcpy(far + 4090, "over the border", 16);
	child = test_child(sleeps, NULL);
	strcpy(here[0], "changed");
	CHECK_EQUAL(process_vm_readv(child, &local, 1, remote, 2, 0), 32);
	CHECK(strcmp(copy, "first") == 0 && strcmp(copy + 16, "third") == 0);
	remote[0] = (struct iovec){ far + 4090, 16 };
	CHECK_EQUAL(process_vm_readv(child, &local, 1, remote, 1, 0), 16);
	CHECK(strcmp(copy, "over the border") == 0);
	strcpy(copy, "written");
	local.iov_len = 8;
	CHECK_EQUAL(process_vm_writev(child, &local, 1, remote, 1, 0), 8);
	memset(copy, 0, sizeof(copy));
	CHECK_EQUAL(process_vm_readv(child, &local, 1, remote, 1, 0), 8);
	CHECK(strcmp(copy, "written") == 0);
	CHECK(strcmp(far + 4090, "over the border") == 0);
	/* The call moves what is mapped before the bad address; it fails only if it moves nothing. */
	remote[1] = (struct iovec){ (void *)16, 16 };
	local.iov_len = sizeof(copy);
	CHECK_EQUAL(process_vm_readv(child, &local, 1, remote, 2, 0), 16);
	CHECK_ERROR(process_vm_readv(child, &local, 1, remote + 1, 1, 0), EFAULT);
	CHECK_ERROR(process_vm_readv(child, &local, 1, remote, 1, 1), EINVAL);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
	CHECK_ERROR(process_vm_readv(child, &local, 1, remote, 1, 0), ESRCH);
}

static void *counts_on(void *words)
{
	((volatile uint32_t *)words)[2] = (uint32_t)gettid();
	counts(words);
	return NULL;
}

/* One thread reports the stop signal; then every thread reports the stop. */
static void stop_of_threads(void)
{
	volatile uint32_t *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child, thread, first, second;
	int status;

	CHECK(words != MAP_FAILED);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		pthread_t made;

		CHECK_EQUAL(pthread_create(&made, NULL, counts_on, (void *)words), 0);
		counts((void *)(words + 1));
	}
	while (!words[0] || !words[1])
		sched_yield();
	thread = (pid_t)words[2];
	MUST(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	MUST(ptrace(PTRACE_SEIZE, thread, NULL, NULL));
	MUST(kill(child, SIGTSTP));
	first = (pid_t)MUST(waitpid(-1, &status, __WALL));
	CHECK_EQUAL(status, 0x7f | SIGTSTP << 8);
	CHECK_EQUAL(waitpid(-1, &status, __WALL | WNOHANG), 0);
	MUST(ptrace(PTRACE_CONT, first, NULL, (void *)SIGSTOP));
	first = (pid_t)MUST(waitpid(-1, &status, __WALL));
	CHECK_EQUAL(status, EVENT_STOP(SIGSTOP));
	second = (pid_t)MUST(waitpid(-1, &status, __WALL));
	CHECK_EQUAL(status, EVENT_STOP(SIGSTOP));
	CHECK_EQUAL(first + second, child + thread);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(stop_of(thread), SIGKILL);
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static const struct test_case cases[] = {
	CASE(stopped_and_continued), CASE(memory), CASE(breakpoints), CASE(single_steps), CASE(system_calls),
	CASE(registers), CASE(signals), CASE(forks_and_ends), CASE(exec_stops), CASE(attached), CASE(first_process_attached),
	CASE(tracer_ends), CASE(seized), CASE(sleeper_interrupted), CASE(stop_of_a_process), CASE(seized_while_stopped),
	CASE(children_seized), CASE(threads), CASE(stop_of_threads), CASE(memory_of_others),
};

TEST_MAIN("trace", cases)
