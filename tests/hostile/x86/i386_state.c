/*
 * What a program may do with an i386's x87, a tracer's registers and messages in odd states: the kernel takes any of
 * it, and gives nothing of one program to another.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "i386.h"
#include "ipc.h"
#include "machine.h"

/* The registers of the unit are another program's until the kernel has given it to this one. */
static int leaves_secrets(void *unused)
{
	(void)unused;
	__asm__ volatile("fninit; fldpi; fldpi; fldpi; fldpi; fldpi; fldpi; fldpi; fldpi");
	sched_yield();
	_exit(0);
}

static uint8_t image[108];

static void saves_unit(int number)
{
	(void)number;
	__asm__ volatile("fnsave %0" : "=m"(image));
}

static int has_no_secrets(void *unused)
{
	(void)unused;
	signal(SIGUSR1, saves_unit);
	memset(image, 0xff, sizeof(image));
	raise(SIGUSR1);
	for (unsigned i = 28; i < sizeof(image); i++)
		CHECK_EQUAL(image[i], 0);
	return 0;
}

static void the_unit_keeps_no_secrets(void)
{
	for (int i = 0; i < 10; i++) {
		pid_t other = test_child(leaves_secrets, NULL);

		CHECK_EQUAL(test_in_child(has_no_secrets, NULL), 0);
		CHECK_EQUAL(test_wait(other), 0);
	}
}

/* An exception of the unit waits, not masked, while the program does this. */
static void takes_exception(void)
{
	uint16_t control = 0x37b;

	__asm__ volatile("fninit; fldcw %0; fld1; fldz; fdivrp" : : "m"(control));
}

static int child_of_thrower(void *unused)
{
	(void)unused;
	return 0;
}

static int pends_over(void *argument)
{
	struct timespec moment = { 0, 1000000 };
	pid_t child;

	signal(SIGUSR1, saves_unit);
	child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		takes_exception();
		raise(SIGSTOP);
		return 0;
	}
	takes_exception();
	switch ((uintptr_t)argument) {
	case 0:
		raise(SIGUSR1);
		break;
	case 1:
		test_wait(test_child(child_of_thrower, NULL));
		break;
	case 2:
		nanosleep(&moment, NULL);
		break;
	case 3: {
		struct user_fpregs_struct unit;
		int status;

		waitpid(child, &status, 0);
		ptrace(PTRACE_GETFPREGS, child, NULL, &unit);
		memset(&unit, 0xff, sizeof(unit));
		ptrace(PTRACE_SETFPREGS, child, NULL, &unit);
		ptrace(PTRACE_CONT, child, NULL, NULL);
		break;
	}
	default:
		for (int i = 0; i < 20; i++)
			sched_yield();
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* It is still this program's to take. */
	__asm__ volatile("fwait");
	return 0;
}

static void exceptions_that_wait(void)
{
	for (uintptr_t i = 0; i < 5; i++)
		CHECK_EQUAL(test_in_child(pends_over, (void *)i), 1000 + SIGFPE);
}

static int is_traced(void *unused)
{
	(void)unused;
	MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	for (;;) {
		raise(SIGSTOP);
		getppid();
		sched_yield();
	}
	return 0;
}

/* A tracer stores odd words everywhere in a program's registers, those for breakpoints in the kernel included. */
static void a_tracer_of_every_register(void)
{
	for (unsigned i = 0; i < 60; i++) {
		pid_t child = test_child(is_traced, NULL);
		struct user_regs_struct regs;
		int status;

		state = i * 2654435761u;
		CHECK_EQUAL(waitpid(child, &status, 0), child);
		for (unsigned n = 0; n < 4; n++)
			ptrace(PTRACE_POKEUSER, child, (void *)(chance() % 80 * 4), (void *)odd_word());
		/* Breakpoints: dr0 at the kernel, dr7 for all of it (offset 252: u_debugreg). */
		ptrace(PTRACE_POKEUSER, child, (void *)252, (void *)KERNEL);
		ptrace(PTRACE_POKEUSER, child, (void *)(252 + 7 * 4), (void *)0x000f0003);
		ptrace(PTRACE_POKEUSER, child, (void *)(14 * 4), (void *)0xffffffff);
		CHECK_EQUAL(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
		CHECK_EQUAL(regs.eflags & (LEVEL | INTERRUPTS | VIRTUAL_86), INTERRUPTS);
		CHECK_EQUAL(regs.xcs & 3, 3);
		CHECK_EQUAL(regs.xss & 3, 3);
		for (unsigned step = 0; step < 6; step++) {
			if (ptrace(step % 2 ? PTRACE_CONT : PTRACE_SINGLESTEP, child, NULL, NULL) ||
			    waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
				break;
		}
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
}

enum { ODD_STATES = 16, STEPPING = 14, ON_OTHER_STACK = 15 };

/* A message in a state by number (machine.h), and two more. */
static long message_in_state(unsigned kind, long call, long partner, struct ipc_message *message)
{
	uint32_t flat = data_selector(), other = flat;
	long result;

	if (kind == ON_OTHER_STACK)
		other = make_segment(0, 0xfffff, 0x51);
	machine_odd_begin(kind);
	__asm__ volatile("movl %0, %%ss" : : "r"(other));
	if (kind == STEPPING)
		__asm__ volatile("pushfl; orl $0x100, (%%esp); popfl" : : : "memory", "cc");
	result = ipc_invoke(call, partner, NULL, IPC_FOREVER, message);
	if (kind == STEPPING)
		__asm__ volatile("pushfl; andl $~0x100, (%%esp); popfl" : : : "memory", "cc");
	__asm__ volatile("movl %0, %%ss" : : "r"(flat));
	machine_odd_end(kind);
	if (kind == ON_OTHER_STACK)
		syscall(SYS_set_thread_area, &(struct segment){ other / 8, 0, 0, 0x28 });
	return result;
}

static void steps_on(int number)
{
	(void)number;
}

/* Answers each message with its words, in the state that the first one names. */
static int echoes(void *unused)
{
	struct ipc_message message = { { 0 }, 0 };
	long from = ipc_invoke(IPC_RECEIVE, IPC_ANYONE, NULL, IPC_FOREVER, &message);

	(void)unused;
	while (from > 0)
		from = message_in_state(message.word[0] / ODD_STATES, IPC_REPLY_WAIT, from, &message);
	return 0;
}

/* Messages between two whose segments, flags, stack and x87 are seldom so: each arrives whole, by whatever path. */
static void messages_in_every_state(void)
{
	pid_t other;

	signal(SIGTRAP, steps_on);
	other = test_child(echoes, NULL);
	for (unsigned n = 0; n < 4 * ODD_STATES * ODD_STATES; n++) {
		/* In between, some in the usual state, after which the two are a pair. */
		unsigned state_of = n % 4 == 3 ? n / 4 : 0;
		struct ipc_message message = { { state_of, n, ~n }, 0 };

		CHECK_EQUAL(message_in_state(state_of % ODD_STATES, IPC_CALL, other, &message), other);
		CHECK(message.word[0] == state_of && message.word[1] == n && message.word[2] == ~n);
	}
	kill(other, SIGKILL);
	test_wait(other);
}

static int counts_words(void *unused)
{
	uint32_t word[2] = { 0 };
	long from = ipc_invoke_pair(IPC_RECEIVE, IPC_ANYONE, IPC_FOREVER, word);

	(void)unused;
	while (from > 0) {
		word[0]++;
		from = ipc_invoke_pair(IPC_REPLY_WAIT, from, IPC_FOREVER, word);
	}
	return 0;
}

#define CALL_WITHOUT(register) \
	__asm__ volatile("pushl %%ebp; xorl %%ebp, %%ebp; pushl %%" #register "; pushl $0; popl %%" #register ";" \
			 "int $0x80; popl %%" #register "; popl %%ebp" \
			 : "+a"(result), "+b"(partner), "+c"(none), "+d"(limit), "+S"(word[0]), "+D"(word[1]) \
			 : : "memory", "cc")

/* A message of a pair without a segment in a register that the kernel's path might use. */
static void messages_without_segments(void)
{
	pid_t other = test_child(counts_words, NULL);

	for (unsigned n = 0; n < 40; n++) {
		uint32_t word[2] = { n, ~n }, none = 0, limit = IPC_FOREVER;
		long result = IPC_CALL, partner = other;

		switch (n % 8) {
		case 4:
			CALL_WITHOUT(ds);
			break;
		case 5:
			CALL_WITHOUT(es);
			break;
		case 6:
			CALL_WITHOUT(fs);
			break;
		case 7:
			CALL_WITHOUT(gs);
			break;
		default:
			result = ipc_invoke_pair(IPC_CALL, other, IPC_FOREVER, word);
		}
		CHECK_EQUAL(result, other);
		CHECK(word[0] == n + 1 && word[1] == ~n);
	}
	kill(other, SIGKILL);
	test_wait(other);
}

static const struct test_case cases[] = {
	CASE(the_unit_keeps_no_secrets), CASE(exceptions_that_wait), CASE(a_tracer_of_every_register),
	CASE(messages_in_every_state), CASE(messages_without_segments),
};

ATTACK_MAIN("i386_state", cases)
