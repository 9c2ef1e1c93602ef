/*
 * What a tracer sees and changes of an i386's registers: flags, selectors, and eax around calls. qemu-i386 has no
 * ptrace.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/tracee.h"

/* Words of the user area: Linux uapi, x86 asm/ptrace-abi.h. */
enum { EBX = 0, EAX = 6, DS = 7, ES = 8, FS = 9, GS = 10, ORIG_EAX = 11, EIP = 12, CS = 13, EFLAGS = 14, SS = 16 };
#define TRAP_FLAG 0x100u
#define USER_AREA 284u
#define CALL_STOP (SIGTRAP | 0x80)

static void poke(pid_t child, unsigned word, uintptr_t value)
{
	MUST(ptrace(PTRACE_POKEUSER, child, AT(word), (void *)value));
}

static void goes_on(int request, pid_t child, int number)
{
	MUST(ptrace(request, child, NULL, NULL));
	tracee_stops(child, number);
}

/* The flag by both requests. */
static uint32_t trap_flag(pid_t child)
{
	struct user_regs_struct regs;

	MUST(ptrace(PTRACE_GETREGS, child, NULL, &regs));
	CHECK_EQUAL(tracee_word(child, EFLAGS), (uint32_t)regs.eflags);
	return (uint32_t)regs.eflags & TRAP_FLAG;
}

static void ends(pid_t child)
{
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

extern const char flag_set[], flag_kept[], flag_clear[];

/* Sets its own flag, and clears it. */
static int traps_itself(void)
{
	__asm__ volatile("int3\n\tnop\n\tnop\n\tpushfl\n\torl $0x100, (%esp)\n\tpopfl\n\t"
			 ".globl flag_set, flag_kept, flag_clear\n"
			 "flag_set: nop\n\tmovl $20, %eax\n\tint $0x80\n"
			 "flag_kept: pushfl\n\tandl $~0x100, (%esp)\n\tes; popfl\n"
			 "flag_clear: nop\n\tnop");
	return 7;
}

/* The tracer's own flag is not seen, the program's is, and stays when the tracer steps no more. */
static void flag_of_the_program(void)
{
	pid_t child = start_tracee(traps_itself);
	uint32_t at;

	CHECK_EQUAL(trap_flag(child), 0);
	goes_on(PTRACE_CONT, child, SIGTRAP);
	do {
		CHECK_EQUAL(trap_flag(child), 0);
		goes_on(PTRACE_SINGLESTEP, child, SIGTRAP);
		at = tracee_word(child, EIP);
	} while (at != (uintptr_t)flag_set);
	do {
		CHECK_EQUAL(trap_flag(child), TRAP_FLAG);
		goes_on(PTRACE_SINGLESTEP, child, SIGTRAP);
		at = tracee_word(child, EIP);
	} while (at != (uintptr_t)flag_kept);
	/* It traps by itself. */
	goes_on(PTRACE_CONT, child, SIGTRAP);
	CHECK_EQUAL(tracee_word(child, EIP), at + 1);
	CHECK_EQUAL(trap_flag(child), TRAP_FLAG);
	do {
		goes_on(PTRACE_SINGLESTEP, child, SIGTRAP);
		at = tracee_word(child, EIP);
		CHECK_EQUAL(trap_flag(child), at < (uintptr_t)flag_clear ? TRAP_FLAG : 0);
	} while (at != (uintptr_t)flag_clear);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 7);
}

/* A tracer gives the program the flag, and takes it. */
static void flag_from_the_tracer(void)
{
	pid_t child = start_tracee(traps_itself);
	uint32_t at;

	goes_on(PTRACE_CONT, child, SIGTRAP);
	goes_on(PTRACE_SINGLESTEP, child, SIGTRAP);
	poke(child, EFLAGS, tracee_word(child, EFLAGS) | TRAP_FLAG);
	at = tracee_word(child, EIP);
	goes_on(PTRACE_CONT, child, SIGTRAP);
	CHECK(tracee_word(child, EIP) > at);
	CHECK_EQUAL(trap_flag(child), TRAP_FLAG);
	poke(child, EFLAGS, tracee_word(child, EFLAGS) & ~TRAP_FLAG);
	CHECK_EQUAL(trap_flag(child), 0);
	poke(child, EIP, (uintptr_t)flag_clear);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK(WIFEXITED(tracee_stop(child)));
}

static int signals_itself(void)
{
	signal(SIGUSR1, SIG_IGN);
	__asm__ volatile("int3");
	raise(SIGUSR1);
	return 7;
}

static void flag_at_a_signal(void)
{
	pid_t child = start_tracee(signals_itself);
	int status, steps = 0;

	goes_on(PTRACE_CONT, child, SIGTRAP);
	do {
		CHECK(++steps < 2000);
		MUST(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL));
		status = tracee_stop(child);
		CHECK_EQUAL(trap_flag(child), 0);
	} while (WSTOPSIG(status) != SIGUSR1);
	MUST(ptrace(PTRACE_DETACH, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 7);
}

static int calls_thrice(void)
{
	pid_t self = getpid();
	int result = 0;

	__asm__ volatile("int3");
	result |= syscall(SYS_getppid) == 77 ? 1 : 0;
	result |= syscall(SYS_getppid) == -1 && errno == ENOSYS ? 2 : 0;
	result |= syscall(SYS_getppid) == self ? 4 : 0;
	return result;
}

/* During a call eax is -ENOSYS, and orig_eax its number. A number of no call leaves in eax what the tracer wrote. */
static void registers_at_a_call(void)
{
	static const uint32_t numbers[] = { ~0u, 100000, SYS_getpid };
	pid_t child = start_tracee(calls_thrice);

	MUST(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD));
	goes_on(PTRACE_CONT, child, SIGTRAP);
	CHECK_EQUAL(tracee_word(child, ORIG_EAX), ~0u);
	for (int i = 0; i < 3; i++) {
		goes_on(PTRACE_SYSCALL, child, CALL_STOP);
		CHECK_EQUAL(tracee_word(child, EAX), (uint32_t)-ENOSYS);
		CHECK_EQUAL(tracee_word(child, ORIG_EAX), SYS_getppid);
		if (i == 0)
			poke(child, EAX, 77);
		poke(child, ORIG_EAX, numbers[i]);
		goes_on(PTRACE_SYSCALL, child, CALL_STOP);
		CHECK_EQUAL(tracee_word(child, ORIG_EAX), numbers[i]);
		CHECK_EQUAL(tracee_word(child, EAX), i == 0 ? 77 : i == 1 ? (uint32_t)-ENOSYS : (uint32_t)child);
	}
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 7);
}

static int three(void)
{
	return 3;
}

/* Selectors that a program could not load, and offsets beyond the register area. */
static void selectors(void)
{
	static const unsigned words[] = { CS, SS, DS, ES, FS, GS };
	pid_t child = start_tracee(three);
	struct user_regs_struct regs, after;

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint32_t before = tracee_word(child, words[i]);

		CHECK_ERROR(ptrace(PTRACE_POKEUSER, child, AT(words[i]), (void *)8), EIO);
		CHECK_ERROR(ptrace(PTRACE_POKEUSER, child, AT(words[i]), (void *)0x12), EIO);
		CHECK_EQUAL(tracee_word(child, words[i]), before);
		if (i < 2)
			CHECK_ERROR(ptrace(PTRACE_POKEUSER, child, AT(words[i]), NULL), EIO);
		else
			poke(child, words[i], 0);
		poke(child, words[i], before);
		CHECK_EQUAL(tracee_word(child, words[i]), before);
	}
	MUST(ptrace(PTRACE_GETREGS, child, NULL, &regs));
	after = regs;
	after.xss = 0x10;
	CHECK_ERROR(ptrace(PTRACE_SETREGS, child, NULL, &after), EIO);
	MUST(ptrace(PTRACE_SETREGS, child, NULL, &regs));
	CHECK_EQUAL(tracee_word(child, USER_AREA / 4 - 1), 0);
	CHECK_EQUAL(errno, 0);
	CHECK_ERROR(ptrace(PTRACE_PEEKUSER, child, (void *)USER_AREA, NULL), EIO);
	CHECK_ERROR(ptrace(PTRACE_PEEKUSER, child, (void *)2, NULL), EIO);
	CHECK_ERROR(ptrace(PTRACE_POKEUSER, child, AT(20), (void *)1), EIO);
	CHECK_ERROR(ptrace(PTRACE_POKEUSER, child, (void *)USER_AREA, (void *)1), EIO);
	MUST(ptrace(PTRACE_CONT, child, NULL, NULL));
	CHECK_EQUAL(test_wait(child), 3);
}

/* A selector of no segment is the program's to find. */
static void selectors_of_nothing(void)
{
	for (unsigned word = CS; word <= SS; word += SS - CS) {
		pid_t child = start_tracee(three);

		poke(child, word, 0xffff);
		CHECK_EQUAL(tracee_word(child, word), 0xffff);
		goes_on(PTRACE_CONT, child, SIGSEGV);
		ends(child);
	}
}

static const struct test_case cases[] = {
	CASE(flag_of_the_program), CASE(flag_from_the_tracer), CASE(flag_at_a_signal), CASE(registers_at_a_call),
	CASE(selectors), CASE(selectors_of_nothing),
};

TEST_MAIN("x86_trace", cases)
