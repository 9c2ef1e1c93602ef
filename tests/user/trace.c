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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/tracee.h"

#define TRAP_INSTRUCTION 0x7fe00008u	/* trap */

static int seven(void)
{
	return 7;
}

static void stopped_and_continued(void)
{
	pid_t child = start_tracee(seven);

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
	pid_t child = start_tracee(tells_word);

	CHECK_EQUAL((uint32_t)tracee_peek(child, (void *)&shared_word), 0x12345678u);
	MUST(ptrace(PTRACE_POKEDATA, child, (void *)&shared_word, (void *)(uintptr_t)0xcafe0000u));
	CHECK_EQUAL(shared_word, 0x12345678u);
	CHECK(tracee_peek(child, (void *)16) == -1 && errno == EIO);
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
	pid_t child = start_tracee(calls_target);
	void *place = (void *)(uintptr_t)target;
	long instruction = tracee_peek(child, place);

	MUST(ptrace(PTRACE_POKETEXT, child, place, (void *)(uintptr_t)TRAP_INSTRUCTION));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	tracee_stops(child, SIGTRAP);
	CHECK_EQUAL(tracee_word(child, NIP), (uintptr_t)place);
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
	pid_t child = start_tracee(four_instructions);
	uint32_t at = 0, next, found = 0;
	siginfo_t info;

	/* Step until the trap. Before it come plain instructions, so each step must advance by one instruction. */
	for (int i = 0; i < 3000 && !found; i++) {
		MUST(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL));
		tracee_stops(child, SIGTRAP);
		next = tracee_word(child, NIP);
		if ((uint32_t)tracee_peek(child, (void *)(uintptr_t)next) == TRAP_INSTRUCTION) {
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

/*
 * What software emulates: no processor lets a program read its version, some have no floating-point unit, and others do
 * not load a double word from a place that is not aligned.
 */
static int emulated_instructions(void)
{
	static const uint32_t from[3] = { 1, 2, 3 };
	static uint32_t to[2];
	uint32_t version;
	double value;

	__asm__ volatile("mfspr %0,287\n\ttrap" : "=r"(version));
	__asm__ volatile("lfd %0,2(%1)\n\ttrap" : "=d"(value) : "b"(from), "m"(from));
	__asm__ volatile("stfd %1,0(%2)\n\ttrap" : "=m"(to) : "d"(value), "b"(to));
	return version && to[0] == 0x10000 && to[1] == 0x20000 ? 7 : 8;
}

/* Steps until the next instruction is a trap, which the last step has not executed; then leaves it out. */
static void step_to_trap(pid_t child)
{
	siginfo_t info;
	uint32_t next = 0;

	for (int i = 0; i < 3000; i++) {
		MUST(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL));
		tracee_stops(child, SIGTRAP);
		next = tracee_word(child, NIP);
		if ((uint32_t)tracee_peek(child, (void *)(uintptr_t)next) == TRAP_INSTRUCTION)
			break;
	}
	MUST(ptrace(PTRACE_GETSIGINFO, child, NULL, &info));
	CHECK_EQUAL(info.si_code, TRAP_TRACE);
	MUST(ptrace(PTRACE_POKEUSER, child, AT(NIP), (void *)(uintptr_t)(next + 4)));
}

static void single_steps_over_emulation(void)
{
	pid_t child = start_tracee(emulated_instructions);

	for (int i = 0; i < 3; i++)
		step_to_trap(child);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 7);
}

static int has_a_child(void)
{
	pid_t child = (pid_t)syscall(SYS_fork);

	if (child == 0)
		_exit(3);
	return test_wait(child) == 3 ? 7 : 8;
}

/* A child that nobody traces does not step. */
static void children_do_not_step(void)
{
	pid_t child = start_tracee(has_a_child);
	int status, sig = 0;

	do {
		MUST(ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)(uintptr_t)sig));
		status = tracee_stop(child);
		sig = WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP ? WSTOPSIG(status) : 0;
	} while (WIFSTOPPED(status));
	CHECK_EQUAL(WEXITSTATUS(status), 7);
}

static int one_call(void)
{
	return syscall(SYS_getppid) == 99 ? 5 : 6;
}

static void system_calls(void)
{
	pid_t child = start_tracee(one_call);
	int seen = 0;

	MUST(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD));
	for (;;) {
		MUST(ptrace(PTRACE_SYSCALL, child, NULL, NULL));
		if (!seen) {
			int status = tracee_stop(child);

			CHECK_EQUAL(status, 0x7f | (SIGTRAP | 0x80) << 8);
			if (tracee_word(child, R0) != SYS_getppid)
				continue;
			/* Stops before and after the call; at the second stop the tracer changes the result. */
			CHECK_EQUAL(tracee_word(child, R0), SYS_getppid);
			MUST(ptrace(PTRACE_SYSCALL, child, NULL, NULL));
			CHECK_EQUAL(tracee_stop(child), 0x7f | (SIGTRAP | 0x80) << 8);
			CHECK_EQUAL(tracee_word(child, R3), (uint32_t)getpid());
			MUST(ptrace(PTRACE_POKEUSER, child, AT(R3), (void *)99));
			seen = 1;
			continue;
		}
		/* The child's exit_group shows that the child got the changed result. */
		CHECK_EQUAL(tracee_stop(child), 0x7f | (SIGTRAP | 0x80) << 8);
		CHECK_EQUAL(tracee_word(child, R0), SYS_exit_group);
		CHECK_EQUAL(tracee_word(child, R3), 5);
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
	pid_t child = start_tracee(in_registers);
	struct iovec all;
	uint32_t words[48];
	uint64_t reals[33];

	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	tracee_stops(child, SIGTRAP);
	MUST(ptrace(PTRACE_GETREGS, child, NULL, words));
	CHECK_EQUAL(words[R14], 0x11112222);
	CHECK_EQUAL(words[NIP], tracee_word(child, NIP));
	CHECK_EQUAL(tracee_word(child, R14), 0x11112222);
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
	pid_t child = start_tracee(signals_itself);
	siginfo_t info;

	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	tracee_stops(child, SIGUSR1);
	MUST(ptrace(PTRACE_CONT, child, NULL, (void *)SIGUSR1));
	tracee_stops(child, SIGTERM);
	MUST(ptrace(PTRACE_GETSIGINFO, child, NULL, &info));
	CHECK_EQUAL(info.si_signo, SIGTERM);
	CHECK_EQUAL(info.si_pid, child);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	tracee_stops(child, SIGUSR2);
	MUST(ptrace(PTRACE_CONT, child, NULL, (void *)SIGALRM));
	CHECK_EQUAL(test_wait(child), 1000 + SIGALRM);
}

static volatile int handled;

static void handles(int sig)
{
	handled = sig;
}

static int takes_a_signal(void)
{
	signal(SIGUSR1, handles);
	raise(SIGUSR1);
	return handled == SIGUSR1 ? 7 : 8;
}

/* A step with a signal ends before the handler's first instruction, the next step after it. */
static void single_steps_into_a_handler(void)
{
	pid_t child = start_tracee(takes_a_signal);
	siginfo_t info;

	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	tracee_stops(child, SIGUSR1);
	MUST(ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)SIGUSR1));
	tracee_stops(child, SIGTRAP);
	CHECK_EQUAL(tracee_word(child, NIP), (uintptr_t)handles);
	CHECK_EQUAL(tracee_word(child, R3), SIGUSR1);
	MUST(ptrace(PTRACE_GETSIGINFO, child, NULL, &info));
	CHECK_EQUAL(info.si_code, SIGTRAP);
	MUST(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL));
	tracee_stops(child, SIGTRAP);
	CHECK_EQUAL(tracee_word(child, NIP), (uintptr_t)handles + 4);
	MUST(ptrace(PTRACE_GETSIGINFO, child, NULL, &info));
	CHECK_EQUAL(info.si_code, TRAP_TRACE);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 7);
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
	pid_t child = start_tracee(forks), grandchild;
	unsigned long message;

	MUST(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXIT)));
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(tracee_stop(child) >> 8, SIGTRAP | PTRACE_EVENT_FORK << 8);
	MUST(ptrace(PTRACE_GETEVENTMSG, child, NULL, &message));
	grandchild = (pid_t)message;
	tracee_stops(grandchild, SIGSTOP);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	MUST(ptrace(PTRACE_CONT, grandchild, NULL, NULL));
	CHECK_EQUAL(tracee_stop(grandchild) >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
	MUST(ptrace(PTRACE_GETEVENTMSG, grandchild, NULL, &message));
	CHECK_EQUAL(message, 4 << 8);
	MUST(ptrace(PTRACE_CONT, grandchild, NULL, NULL));
	/* The grandchild's end is reported to the tracer first, then to its parent, which then ends too. */
	CHECK_EQUAL(tracee_stop(grandchild), 4 << 8);
	tracee_stops(child, SIGCHLD);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(tracee_stop(child) >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 4);
}

static void exec_stops(void)
{
	for (int asked = 0; asked < 2; asked++) {
		pid_t child = start_tracee(tracee_executes);

		MUST(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(asked ? PTRACE_O_TRACEEXEC : 0)));
		MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
		CHECK_EQUAL(tracee_stop(child) >> 8, SIGTRAP | (asked ? PTRACE_EVENT_EXEC << 8 : 0));
		MUST(ptrace(PTRACE_KILL, child, NULL, NULL));
		CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
	}
}

#define ANY_USER 1000

static int executes_copy(void)
{
	execl("/tmp/traced_copy", "traced_copy", (char *)NULL);
	return 1;
}

static int peeks_at_copy(void *unused)
{
	pid_t child;
	int error;

	(void)unused;
	MUST(setuid(ANY_USER));
	child = start_tracee(executes_copy);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(tracee_stop(child) >> 8, SIGTRAP);
	error = tracee_peek(child, (void *)(uintptr_t)seven) == -1 ? errno : 0;
	if (error)
		CHECK_ERROR(ptrace(PTRACE_POKEDATA, child, (void *)(uintptr_t)seven, NULL), EIO);
	MUST(ptrace(PTRACE_KILL, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
	return error;
}

/* A program that a user may execute, but not read: the user's debugger does not see its memory. */
static void unreadable_programs(void)
{
	int from = (int)MUST(open("/proc/self/exe", O_RDONLY));
	int to = (int)MUST(open("/tmp/traced_copy", O_WRONLY | O_CREAT | O_TRUNC, 0755));
	static char buffer[65536];
	ssize_t n;

	while ((n = MUST(read(from, buffer, sizeof(buffer)))) > 0)
		CHECK_EQUAL(write(to, buffer, (size_t)n), n);
	close(from);
	close(to);
	CHECK_EQUAL(test_in_child(peeks_at_copy, NULL), 0);
	MUST(chmod("/tmp/traced_copy", 0711));
	CHECK_EQUAL(test_in_child(peeks_at_copy, NULL), EIO);
	MUST(unlink("/tmp/traced_copy"));
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

/* Copies into many pages that are not there yet: a fault comes while the copy holds a frame. */
static void memory_into_new_pages(void)
{
	const size_t size = 2u << 20;
	char *from = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec local = { to, size }, remote = { from, size };

	CHECK(from != MAP_FAILED && to != MAP_FAILED);
	memset(from, 1, size);
	CHECK_EQUAL(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), size);
	CHECK(memcmp(from, to, size) == 0);
}

static const struct test_case cases[] = {
	CASE(stopped_and_continued), CASE(memory), CASE(breakpoints), CASE(single_steps),
	CASE(single_steps_over_emulation), CASE(children_do_not_step), CASE(system_calls),
	CASE(registers), CASE(signals), CASE(single_steps_into_a_handler), CASE(forks_and_ends),
	CASE(exec_stops), CASE(memory_of_others), CASE(memory_into_new_pages), CASE(unreadable_programs),
};

TEST_MAIN("trace", cases)
