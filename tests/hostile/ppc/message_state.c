/*
 * Synchronous messages, and every register around them: each process finds its own again, whatever its partner had in
 * them, and none of the kernel's. The two answer at once, so that they come to take the kernel's shortest path, and
 * now and then something else ends a wait.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/attack.h"
#include "ipc.h"

#define ROUNDS 40
/* These have patterns; r30 is the compiler's, and r31 finds the registers' copies. */
#define FIRST_KEPT 14
#define LAST_KEPT  29
#define KERNEL 0xc0000000u
#define SUMMARY_OVERFLOW 0x10000000u    /* CR0.SO, which a call changes */
#define SOME_MS 5

#define EACH_FLOAT \
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"

struct registers {
	uint32_t gpr[32];
	uint32_t cr, ctr, xer, link;
};

/* A call with patterns from `seed` in all registers that it may not change; afterwards all are in *after. */
static long message_with(struct registers *after, uint32_t seed, long call, long partner, uint32_t word[3])
{
	register long r0 __asm__("r0") = call;
	register long r3 __asm__("r3") = partner;
	register uint32_t r4 __asm__("r4") = 0;
	register uint32_t r5 __asm__("r5") = IPC_FOREVER;
	register uint32_t r6 __asm__("r6") = word[0];
	register uint32_t r7 __asm__("r7") = word[1];
	register uint32_t r8 __asm__("r8") = word[2];
	register uint32_t r9 __asm__("r9") = seed;
	register struct registers *r10 __asm__("r10") = after;

	__asm__ volatile("mr 31, 10\n\t"
			 ".irp n, 14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29\n\t"
			 "addi \\n, 9, \\n\n\t"
			 ".endr\n\t"
			 "mtcrf 0xff, 9\n\tmtctr 9\n\tmtlr 9\n\tmtxer 9\n\tmr 11, 9\n\tmr 12, 9\n\tsc\n\t"
			 "stmw 9, 36(31)\n\t"
			 "stw 0, 0(31)\n\tstw 1, 4(31)\n\tstw 2, 8(31)\n\tstw 3, 12(31)\n\tstw 4, 16(31)\n\t"
			 "stw 5, 20(31)\n\tstw 6, 24(31)\n\tstw 7, 28(31)\n\tstw 8, 32(31)\n\t"
			 "mfcr 9\n\tstw 9, 128(31)\n\tmfctr 9\n\tstw 9, 132(31)\n\tmfxer 9\n\tstw 9, 136(31)\n\t"
			 "mflr 9\n\tstw 9, 140(31)\n\t"
			 "bns 1f\n\tneg 3, 3\n1:"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8), "+r"(r9), "+r"(r10)
			 :
			 : "r11", "r12", "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24",
			   "r25", "r26", "r27", "r28", "r29", "r31", "cr0", "cr1", "cr2", "cr3", "cr4", "cr5",
			   "cr6", "cr7", "ctr", "lr", "xer", "memory");
	word[0] = r6;
	word[1] = r7;
	word[2] = r8;
	return r3;
}

/* What the call had to keep is as it was, and what it may destroy shows no address of the kernel's. */
static void check_registers(const struct registers *after, uint32_t seed)
{
	for (uint32_t n = FIRST_KEPT; n <= LAST_KEPT; n++)
		CHECK_EQUAL(after->gpr[n], seed + n);
	CHECK_EQUAL(after->gpr[31], (uint32_t)(uintptr_t)after);
	CHECK_EQUAL(after->cr & ~SUMMARY_OVERFLOW, seed & ~SUMMARY_OVERFLOW);
	CHECK_EQUAL(after->link, seed);
	CHECK(after->gpr[0] < KERNEL && after->ctr < KERNEL && after->xer < KERNEL);
	for (uint32_t n = 9; n < 13; n++)
		CHECK(after->gpr[n] < KERNEL);
}

static void load_floats(uint32_t seed)
{
	double values[32];

	for (unsigned n = 0; n < 32; n++)
		values[n] = (double)(seed + n);
	__asm__ volatile(EACH_FLOAT
			 "lfd \\n, 8*\\n(%0)\n\t"
			 ".endr"
			 :
			 : "b"(values), "m"(values)
			 : "fr0", "fr1", "fr2", "fr3", "fr4", "fr5", "fr6", "fr7", "fr8", "fr9", "fr10", "fr11",
			   "fr12", "fr13", "fr14", "fr15", "fr16", "fr17", "fr18", "fr19", "fr20", "fr21", "fr22",
			   "fr23", "fr24", "fr25", "fr26", "fr27", "fr28", "fr29", "fr30", "fr31");
}

static int floats_are(uint32_t seed)
{
	double values[32];

	__asm__ volatile(EACH_FLOAT
			 "stfd \\n, 8*\\n(%1)\n\t"
			 ".endr"
			 : "=m"(values)
			 : "b"(values));
	for (unsigned n = 0; n < 32; n++)
		if (values[n] != (double)(seed + n))
			return 0;
	return 1;
}

/* Answers each message with its words turned over. Its own registers have other patterns than the caller's. */
static int turns_over(void *floats)
{
	struct registers after;
	uint32_t word[3] = { 0 }, seed = 0x2f0f0f00;
	long from = IPC_ANYONE;

	for (;;) {
		if (floats)
			load_floats(seed);
		from = message_with(&after, seed, IPC_REPLY_WAIT, from, word);
		if (from < 0)
			return 1;
		if (floats)
			CHECK(floats_are(seed));
		check_registers(&after, seed);
		CHECK_EQUAL(after.gpr[4], 0);
		for (unsigned i = 0; i < 3; i++)
			word[i] = ~word[i];
		seed += 0x10101;
	}
}

static void call_often(pid_t partner, int floats)
{
	struct registers after;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t seed = 0x10000000 + 0x1234567 * i % 0x20000000, word[3] = { i, ~i, seed };

		if (floats)
			load_floats(seed);
		CHECK_EQUAL(message_with(&after, seed, IPC_CALL, partner, word), partner);
		if (floats)
			CHECK(floats_are(seed));
		check_registers(&after, seed);
		CHECK_EQUAL(after.gpr[4], 0);
		CHECK(word[0] == ~i && word[1] == i && word[2] == ~seed);
	}
}

static void end_partner(pid_t partner)
{
	kill(partner, SIGKILL);
	test_wait(partner);
}

static void both_keep_their_registers(void)
{
	pid_t partner = test_child(turns_over, NULL);

	call_often(partner, 0);
	end_partner(partner);
}

static void both_keep_their_floats(void)
{
	int yes = 1;
	pid_t partner;

	if (!test_has_fpu())
		return;
	partner = test_child(turns_over, &yes);
	call_often(partner, 1);
	end_partner(partner);
	partner = test_child(turns_over, NULL);
	call_often(partner, 1);
	end_partner(partner);
}

/* Answers so often, then waits no more. */
static int answers_some(void *times)
{
	uint32_t word[2] = { 0 };
	long from = IPC_ANYONE;

	for (uintptr_t i = 0; i <= (uintptr_t)times && from >= 0; i++)
		from = ipc_invoke_pair(IPC_REPLY_WAIT, from, IPC_FOREVER, word);
	pause();
	return 0;
}

static void notes_alarm(int number)
{
	(void)number;
}

/* A signal ends the wait for an answer that does not come, after answers that did. */
static void a_signal_ends_the_wait(void)
{
	/* Again and again: the first may come before the wait. */
	const struct itimerval soon = { { 0, SOME_MS * 1000 }, { 0, SOME_MS * 1000 } }, never = { { 0, 0 }, { 0, 0 } };

	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = notes_alarm }, NULL);
	for (uintptr_t times = 0; times < 4; times++) {
		pid_t partner = test_child(answers_some, (void *)times);
		struct registers after;
		uint32_t word[3] = { 1, 2, 3 };

		for (uintptr_t i = 0; i < times; i++)
			CHECK_EQUAL(message_with(&after, 0x100, IPC_CALL, partner, word), partner);
		word[0] = 0x11;
		word[1] = 0x22;
		word[2] = 0x33;
		setitimer(ITIMER_REAL, &soon, NULL);
		CHECK_EQUAL(message_with(&after, 0x12345600, IPC_CALL, partner, word), -EINTR);
		setitimer(ITIMER_REAL, &never, NULL);
		check_registers(&after, 0x12345600);
		CHECK(word[0] == 0x11 && word[1] == 0x22 && word[2] == 0x33);
		CHECK(after.gpr[4] == 0 && after.gpr[5] == IPC_FOREVER);
		end_partner(partner);
	}
}

/* A tracer that stops one that waits sees its registers. */
static void a_tracer_reads_the_waiting(void)
{
	pid_t partner = test_child(turns_over, NULL);
	long word;
	int status;

	call_often(partner, 0);
	MUST(ptrace(PTRACE_ATTACH, partner, NULL, NULL));
	CHECK_EQUAL(waitpid(partner, &status, 0), partner);
	errno = 0;
	word = ptrace(PTRACE_PEEKUSER, partner, (void *)(20 * sizeof(long)), NULL);
	CHECK_EQUAL((uint32_t)word, 0x2f0f0f00 + ROUNDS * 0x10101 + 20);
	CHECK_EQUAL(errno, 0);
	MUST(ptrace(PTRACE_DETACH, partner, NULL, NULL));
	end_partner(partner);
}

static int calls_parent(void *unused)
{
	uint32_t word[2] = { 0 };

	(void)unused;
	while (ipc_invoke_pair(IPC_CALL, getppid(), IPC_FOREVER, word) > 0)
		;
	return 1;
}

/*
 * A tracer that stops a caller before it runs with its answer sees the call that it made. Both have one processor:
 * with two, the caller goes on at once.
 */
static void a_tracer_reads_the_call_of_the_answered(void)
{
	uint32_t word[2] = { 0 };
	long from = IPC_ANYONE;
	pid_t caller;
	cpu_set_t one;
	int status;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	MUST(sched_setaffinity(0, sizeof(one), &one));
	caller = test_child(calls_parent, NULL);

	for (unsigned i = 0; i < ROUNDS; i++)
		from = ipc_invoke_pair(IPC_REPLY_WAIT, from, IPC_FOREVER, word);
	CHECK_EQUAL(from, caller);
	CHECK_EQUAL(ipc_invoke(IPC_SEND, caller, NULL, IPC_FOREVER, &(struct ipc_message){ { 0 }, 0 }), 0);
	MUST(kill(caller, SIGSTOP));
	MUST(ptrace(PTRACE_ATTACH, caller, NULL, NULL));
	CHECK_EQUAL(waitpid(caller, &status, 0), caller);
	CHECK_EQUAL(ptrace(PTRACE_PEEKUSER, caller, NULL, NULL), IPC_CALL);
	end_partner(caller);
}

/* A message with memory, to one that waits for words. */
static int sends_memory(void *to)
{
	static const char text[] = "memory";
	struct ipc_buffers buffers = { text, sizeof(text), NULL, 0 };
	struct ipc_message message = { { 7, 8, 9 }, 0 };

	return ipc_invoke(IPC_SEND, *(pid_t *)to, &buffers, IPC_FOREVER, &message) ? 1 : 0;
}

static int receives_after_others(void *from)
{
	struct registers after;
	uint32_t word[3] = { 0 };
	long caller = IPC_ANYONE;

	for (unsigned i = 0; i < ROUNDS; i++)
		caller = message_with(&after, 0x700, IPC_REPLY_WAIT, caller, word);
	caller = message_with(&after, 0x1900, IPC_REPLY_WAIT, caller, word);
	check_registers(&after, 0x1900);
	CHECK(caller > 0 && caller != *(pid_t *)from);
	CHECK(word[0] == 7 && word[1] == 8 && word[2] == 9);
	CHECK_EQUAL(after.gpr[4], sizeof("memory"));
	return 0;
}

static void another_sender_reaches_the_waiting(void)
{
	pid_t self = getpid(), partner = test_child(receives_after_others, &self);
	struct registers after;
	uint32_t word[3];

	for (uint32_t i = 0; i < ROUNDS; i++) {
		memset(word, 0, sizeof(word));
		CHECK_EQUAL(message_with(&after, 0x300, IPC_CALL, partner, word), partner);
	}
	CHECK_EQUAL(test_wait(test_child(sends_memory, &partner)), 0);
	CHECK_EQUAL(test_wait(partner), 0);
}

/* The partner ends, or becomes another program, between messages: the caller is told. */
static int answers_and_ends(void *execs)
{
	uint32_t word[2] = { 0 };
	long from = IPC_ANYONE;

	for (unsigned i = 0; i <= ROUNDS; i++)
		from = ipc_invoke_pair(IPC_REPLY_WAIT, from, IPC_FOREVER, word);
	if (execs)
		execl("/bin/none", "none", NULL);
	_exit(0);
}

static void a_partner_that_ends_is_told_of(void)
{
	for (uintptr_t execs = 0; execs < 2; execs++) {
		pid_t partner = test_child(answers_and_ends, (void *)execs);
		struct registers after;
		uint32_t word[3] = { 0 };

		for (uint32_t i = 0; i < ROUNDS; i++)
			CHECK_EQUAL(message_with(&after, 0x300, IPC_CALL, partner, word), partner);
		CHECK_EQUAL(message_with(&after, 0x300, IPC_CALL, partner, word), -ESRCH);
		check_registers(&after, 0x300);
		CHECK_EQUAL(message_with(&after, 0x300, IPC_CALL, partner, word), -ESRCH);
		CHECK_EQUAL(test_wait(partner), 0);
	}
}

static volatile pid_t answering;

/* Answers ROUNDS messages, then ends. */
static void *answers_as_thread(void *unused)
{
	struct registers after;
	uint32_t word[3] = { 0 };
	long from = IPC_ANYONE;

	(void)unused;
	answering = (pid_t)syscall(SYS_gettid);
	for (uint32_t i = 0; i < ROUNDS && from >= 0; i++) {
		from = message_with(&after, 0x1000 * i, IPC_REPLY_WAIT, from, word);
		check_registers(&after, 0x1000 * i);
		for (unsigned n = 0; n < 3; n++)
			word[n] = ~word[n];
	}
	ipc_invoke(IPC_SEND, from, NULL, IPC_FOREVER, &(struct ipc_message){ { word[0], word[1], word[2] }, 0 });
	return NULL;
}

/* Two threads of one process, which the kernel need not switch address spaces for. */
static void threads_of_one_process(void)
{
	pthread_t thread;

	answering = 0;
	CHECK_EQUAL(pthread_create(&thread, NULL, answers_as_thread, NULL), 0);
	while (!answering)
		sched_yield();
	call_often(answering, test_has_fpu());
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static const struct test_case cases[] = {
	CASE(both_keep_their_registers), CASE(both_keep_their_floats),
	CASE(a_signal_ends_the_wait), CASE(a_tracer_reads_the_waiting),
	CASE(a_tracer_reads_the_call_of_the_answered),
	CASE(another_sender_reaches_the_waiting), CASE(a_partner_that_ends_is_told_of),
	CASE(threads_of_one_process),
};

ATTACK_MAIN("message_state", cases)
