/* What only an i386 has: registers of the x87, segments, and selectors that become invalid. */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/check.h"
#include "machine.h"

/* Fills the eight registers with values made from the seed, lets others run, and compares. */
static int registers_hold(double seed, int turns)
{
	long double values[8], after[8];

	for (int i = 0; i < 8; i++)
		values[i] = (long double)seed * (i + 1) + 1.0L / (i + 3);
	memset(after, 0, sizeof(after));
	for (int turn = 0; turn < turns; turn++) {
		for (int i = 7; i >= 0; i--)
			__asm__ volatile("fldt %0" : : "m"(values[i]));
		__asm__ volatile("int $0x80" : : "a"(SYS_sched_yield) : "memory");
		for (int i = 0; i < 8; i++)
			__asm__ volatile("fstpt %0" : "=m"(after[i]));
		for (int i = 0; i < 8; i++)
			if (memcmp(&values[i], &after[i], 10) != 0)
				return 0;
	}
	return 1;
}

static void registers_survive_switches(void)
{
	enum { CHILDREN = 6 };
	pid_t children[CHILDREN];

	for (int i = 0; i < CHILDREN; i++) {
		children[i] = (pid_t)MUST(fork());
		if (children[i] == 0)
			_exit(registers_hold(i + 0.5, 200) ? 0 : 1);
	}
	CHECK(registers_hold(100.25, 200));
	for (int i = 0; i < CHILDREN; i++)
		CHECK_EQUAL(test_wait(children[i]), 0);
}

static void rounding_mode_is_the_process_s_own(void)
{
	pid_t child;

	CHECK_EQUAL(fesetround(FE_UPWARD), 0);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		if (fegetround() != FE_UPWARD)
			_exit(1);
		fesetround(FE_DOWNWARD);
		for (int i = 0; i < 50; i++)
			sched_yield();
		_exit(fegetround() == FE_DOWNWARD ? 0 : 2);
	}
	for (int i = 0; i < 50; i++) {
		sched_yield();
		CHECK_EQUAL(fegetround(), FE_UPWARD);
	}
	CHECK_EQUAL(test_wait(child), 0);
}

/* An exception of the unit that nobody has taken, when its owner ends, is not the next user's, nor the kernel's. */
static int leaves_an_exception(void *unused)
{
	uint16_t control = 0x37b;       /* division by zero is not masked */

	(void)unused;
	__asm__ volatile("fninit; fldcw %0; fld1; fldz; fdivrp" : : "m"(control));
	syscall(SYS_exit_group, 3);
	return 0;
}

static void exceptions_do_not_outlive_their_owner(void)
{
	for (int i = 0; i < 5; i++) {
		CHECK_EQUAL(test_in_child(leaves_an_exception, NULL), 3);
		CHECK(registers_hold(i + 1.5, 2));
	}
}

static volatile double in_handler;

static void calculates(int number)
{
	in_handler = number * 1.5;
}

/* A handler begins with an empty unit, and its return brings the registers back. */
static void handlers_have_their_own_registers(void)
{
	double kept = 2.75, back;

	signal(SIGUSR1, calculates);
	__asm__ volatile("fldl %1; int $0x80; fstpl %0"
			 : "=m"(back) : "m"(kept), "a"(SYS_kill), "b"(getpid()), "c"(SIGUSR1) : "memory");
	CHECK(in_handler == SIGUSR1 * 1.5);
	CHECK(back == kept);
}

struct segment {
	unsigned entry, base, limit, flags;
};

static uint32_t word_by_fs(void)
{
	uint32_t word;

	__asm__ volatile("movl %%fs:0, %0" : "=r"(word));
	return word;
}

/* A segment of one's own; each process has another one under the same number. */
static void segments(void)
{
	static uint32_t words[2] = { 0x11111111, 0x22222222 };
	struct segment s = { ~0u, (uintptr_t)&words[0], 0xfffff, 0x51 }, got;
	pid_t child;

	CHECK_EQUAL(syscall(SYS_set_thread_area, &s), 0);
	CHECK(s.entry >= 6 && s.entry <= 14);          /* 6 to 8, and from 12 on below a 64-bit Linux */
	__asm__ volatile("movw %w0, %%fs" : : "r"(s.entry * 8 + 3));
	CHECK_EQUAL(word_by_fs(), words[0]);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		s.base = (uintptr_t)&words[1];
		CHECK_EQUAL(syscall(SYS_set_thread_area, &s), 0);
		for (int i = 0; i < 50; i++) {
			CHECK_EQUAL(word_by_fs(), words[1]);
			sched_yield();
		}
		_exit(0);
	}
	for (int i = 0; i < 50; i++) {
		CHECK_EQUAL(word_by_fs(), words[0]);
		sched_yield();
	}
	CHECK_EQUAL(test_wait(child), 0);
	got.entry = s.entry;
	CHECK_EQUAL(syscall(SYS_get_thread_area, &got), 0);
	CHECK(got.base == s.base && got.limit == s.limit && got.flags == s.flags);
	s.entry = 5;
	CHECK_ERROR(syscall(SYS_set_thread_area, &s), EINVAL);
	s = (struct segment){ ~0u, 0, 0xfffff, 0x55 };  /* code */
	CHECK_ERROR(syscall(SYS_set_thread_area, &s), EINVAL);
	CHECK_ERROR(syscall(SYS_set_thread_area, (void *)8), EFAULT);
}

/* The segment in a register goes: the register becomes 0, and the next use of it is a fault. */
static int removes_its_segment(void *unused)
{
	struct segment s = { ~0u, 0, 0xfffff, 0x51 };

	(void)unused;
	CHECK_EQUAL(syscall(SYS_set_thread_area, &s), 0);
	__asm__ volatile("movw %w0, %%es" : : "r"(s.entry * 8 + 3));
	s = (struct segment){ s.entry, 0, 0, 0x28 };
	__asm__ volatile("int $0x80" : : "a"(SYS_set_thread_area), "b"(&s) : "memory");
	__asm__ volatile("movl %%es:0, %%eax" : : : "eax", "memory");
	return 0;
}

static int removes_its_stack(void *unused)
{
	struct segment s = { ~0u, 0, 0xfffff, 0x51 };

	(void)unused;
	CHECK_EQUAL(syscall(SYS_set_thread_area, &s), 0);
	__asm__ volatile("movw %w0, %%ss" : : "r"(s.entry * 8 + 3));
	s = (struct segment){ s.entry, 0, 0, 0x28 };
	__asm__ volatile("int $0x80" : : "a"(SYS_set_thread_area), "b"(&s) : "memory");
	return 0;
}

static void segments_that_go(void)
{
	CHECK_EQUAL(test_in_child(removes_its_segment, NULL), 1000 + SIGSEGV);
	CHECK_EQUAL(test_in_child(removes_its_stack, NULL), 1000 + SIGSEGV);
}

/* A thread's segment that is none: no thread is made. */
static void segments_for_children(void)
{
	static uint32_t word = 0x33333333;
	const struct segment bad[] = {
		{ 5, 0, 0xfffff, 0x51 }, { 99, 0, 0xfffff, 0x51 }, { ~0u, 0, 0xfffff, 0x51 }, { 6, 0, 0xfffff, 0x55 },
		{ 6, 0, 0xfffff, 0x50 }, { 6, 0, 0xfffff, 0x71 },
	};
	struct segment s = { ~0u, (uintptr_t)&word, 0xfffff, 0x51 };
	int status;
	long child;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERROR(syscall(SYS_clone, CLONE_SETTLS | SIGCHLD, NULL, NULL, &bad[i], NULL), EINVAL);
	CHECK_ERROR(syscall(SYS_clone, CLONE_SETTLS | SIGCHLD, NULL, NULL, 8, NULL), EFAULT);
	CHECK_ERROR(waitpid(-1, &status, 0), ECHILD);
	CHECK_EQUAL(syscall(SYS_set_thread_area, &s), 0);
	child = MUST(syscall(SYS_clone, CLONE_SETTLS | SIGCHLD, NULL, NULL, &s, NULL));
	if (child == 0) {
		__asm__ volatile("movw %w0, %%fs" : : "r"(s.entry * 8 + 3));
		_exit(word_by_fs() == word ? 5 : 6);
	}
	CHECK_EQUAL(test_wait((pid_t)child), 5);
}

static unsigned spoiled, value_put;

static void spoils(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)number;
	(void)info;
	user->uc_mcontext.gregs[spoiled] = (int)value_put;
}

/* Whatever selectors and flags a handler leaves in its frame: the program goes on, or gets a signal. */
static int returns_with_spoiled(void *unused)
{
	struct sigaction action = { .sa_sigaction = spoils, .sa_flags = SA_SIGINFO };

	(void)unused;
	MUST(sigaction(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
	return 0;
}

static void spoiled_frames(void)
{
	static const unsigned registers[] = { 0, 1, 2, 3, 15, 16, 18 };         /* gs fs es ds cs eflags ss */
	static const unsigned values[] = { 0, 8, 0x10, 0x1b, 0x23, 0x28, 0x33, 0x3b, 0x2f, 0x7fff, 0xffff, 0x30000,
					   0xffffffff };

	for (unsigned r = 0; r < sizeof(registers) / sizeof(registers[0]); r++) {
		for (unsigned v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			int status;

			spoiled = registers[r];
			value_put = values[v];
			status = test_in_child(returns_with_spoiled, NULL);
			CHECK(status == 0 || status == 1000 + SIGSEGV || status == 1000 + SIGBUS ||
			      status == 1000 + SIGTRAP || status == 1000 + SIGILL);
		}
	}
}

static unsigned long fault_seen;

static void sees(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	fault_seen = ((ucontext_t *)context)->uc_mcontext.cr2;
}

/* A frame holds the address of the process's own last fault that was a signal, not what another one left in CR2. */
static int faults_of_its_own(void *unused)
{
	struct sigaction action = { .sa_sigaction = sees, .sa_flags = SA_SIGINFO };
	static char fresh[16 * 4096];
	pid_t other;
	int wrong = 0;

	(void)unused;
	MUST(sigaction(SIGUSR1, &action, NULL));
	other = MUST(fork());
	for (unsigned i = 0; i < sizeof(fresh) / 4096; i++) {
		fresh[i * 4096]++;
		sched_yield();
		raise(SIGUSR1);
		wrong += fault_seen != 0;
	}
	if (other == 0)
		_exit(wrong);
	return wrong + test_wait(other);
}

static sigjmp_buf behind_the_fault;

static void leaves(int number)
{
	(void)number;
	siglongjmp(behind_the_fault, 1);
}

/* A child has its parent's until it faults itself. */
static int faults_of_its_parent(void *unused)
{
	struct sigaction action = { .sa_sigaction = sees, .sa_flags = SA_SIGINFO };
	volatile char *absent = (char *)0x5ec20010;
	pid_t child;

	(void)unused;
	MUST(sigaction(SIGUSR1, &action, NULL));
	signal(SIGSEGV, leaves);
	if (sigsetjmp(behind_the_fault, 1) == 0)
		*absent = 1;
	child = MUST(fork());
	raise(SIGUSR1);
	if (child == 0)
		_exit(fault_seen != (unsigned long)absent);
	return (fault_seen != (unsigned long)absent) + test_wait(child);
}

static void frames_hold_own_faults(void)
{
	CHECK_EQUAL(test_in_child(faults_of_its_own, NULL), 0);
	CHECK_EQUAL(test_in_child(faults_of_its_parent, NULL), 0);
}

static const struct test_case cases[] = {
	CASE(registers_survive_switches), CASE(rounding_mode_is_the_process_s_own),
	CASE(exceptions_do_not_outlive_their_owner), CASE(handlers_have_their_own_registers), CASE(segments),
	CASE(segments_for_children), CASE(segments_that_go), CASE(spoiled_frames),
	CASE(frames_hold_own_faults),
};

TEST_MAIN("x86", cases)
