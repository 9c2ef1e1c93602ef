/*
 * On a processor with registers of 64 bits: the kernel keeps 32 of them. A program may lose the upper halves at any
 * exception, but never sees there what others left. Other processors have nothing to test. Only our kernel passes:
 * Linux for 64 bits keeps all of them.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096
#define PATTERN 0x5a5a1234u     /* in every upper half */

static int is_wide(void)
{
	return strncmp((const char *)getauxval(AT_PLATFORM), "ppc970", 6) == 0;
}

/*
 * Fills the upper halves, does what is asked, and stores all of r3 to r12 and r14 to r30. Without a call number it
 * loads a word of `page`.
 */
static void around(long call, volatile char *page, uint64_t seen[32])
{
	register long r0 __asm__("r0") = call;
	register volatile char *r3 __asm__("r3") = page;
	register uint64_t *r31 __asm__("r31") = seen;

	__asm__ volatile(
		".machine push; .machine power4\n\t"
		"lis 4, 0x5a5a; ori 4, 4, 0x1234; sldi 4, 4, 32\n\t"
		"or 3, 3, 4\n\t"
		".irp n, 5,6,7,8,9,10,11,12,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29; mr \\n, 4; .endr\n\t"
		"cmpwi 0, 0; beq 1f\n\t"
		"sc\n\t"
		"b 2f\n"
		"1: lbz 5, 0(3)\n"
		"2:\n\t"
		".irp n, 3,4,5,6,7,8,9,10,11,12,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29; std \\n, 8*\\n(31); .endr\n\t"
		".machine pop"
		: "+r"(r0), "+r"(r3) : "r"(r31)
		: "memory", "cr0", "ctr", "xer", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r14", "r15",
		  "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29");
}

static void no_others(const uint64_t seen[32])
{
	for (int n = 3; n < 30; n++) {
		uint32_t upper = (uint32_t)(seen[n] >> 32);

		if (n != 13)
			CHECK(upper == 0 || upper == PATTERN);
	}
}

static void calls_leave_nothing(void)
{
	static uint64_t seen[32];

	if (!is_wide())
		return;
	for (int i = 0; i < 20; i++) {
		around(SYS_getppid, NULL, seen);
		no_others(seen);
		CHECK_EQUAL((uint32_t)seen[3], getppid());
		around(SYS_sched_yield, NULL, seen);
		no_others(seen);
		around(SYS_fork + 10000, NULL, seen);
		no_others(seen);
	}
}

static void faults_leave_nothing(void)
{
	static uint64_t seen[32];
	char *page = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	for (int i = 0; is_wide() && i < 64; i++) {
		around(0, page + i * PAGE, seen);
		no_others(seen);
		CHECK_EQUAL((uint32_t)seen[5], 0);
	}
}

/* Offsets in what wide_fill and wide_handler store, in doublewords: r0 to r31 at their numbers, and: */
#define SEEN_LR  1      /* in the place of the stack pointer's */
#define SEEN_CTR 2      /* of the thread pointer's */

/*
 * wide_fill(pattern, turns, seen, call): fills the upper halves of all registers but r1, r2, r13 and r31, of LR and CTR
 * too, spins, makes the call if it is not 0, and stores what they have then. wide_handler: a signal handler that stores
 * what it begins with.
 */
void wide_fill(uint32_t pattern, uint32_t turns, uint64_t *seen, long call);
void wide_handler(int number);
uint64_t wide_handled[32];
volatile int wide_signals;

__asm__(
	".machine push; .machine power4\n"
	".macro wide_store base\n"
	"std 0,0(\\base)\n"
	".irp n,3,4,5,6,7,8,9,10,11,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30; std \\n,8*\\n(\\base); .endr\n"
	"mflr 0; std 0,8(\\base); mfctr 0; std 0,16(\\base)\n"
	".endm\n"
	".text; .globl wide_fill; .type wide_fill,@function\n"
	"wide_fill: stwu 1,-112(1); stmw 13,32(1); mflr 0; stw 0,116(1)\n"
	"mr 31,5; mr 0,6; mr 5,4\n"
	"rldicr 4,3,32,31\n"                   /* the pattern above, 0 below */
	"rldimi 5,3,32,0; rldimi 0,3,32,0\n"
	".irp n,3,6,7,8,9,10,11,12,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30; mr \\n,4; .endr\n"
	"mtlr 4; mtctr 4\n"
	"1: addi 5,5,-1; cmpwi 5,0; bgt 1b\n"
	"cmpwi 0,0; beq 2f; sc\n"
	"2: wide_store 31\n"
	"lwz 0,116(1); mtlr 0; lmw 13,32(1); addi 1,1,112; blr\n"
	".size wide_fill,.-wide_fill\n"
	".globl wide_handler; .type wide_handler,@function\n"
	"wide_handler: lis 12,wide_handled@ha; la 12,wide_handled@l(12); wide_store 12\n"
	"lis 12,wide_signals@ha; lwz 11,wide_signals@l(12); addi 11,11,1; stw 11,wide_signals@l(12); blr\n"
	".size wide_handler,.-wide_handler\n"
	".machine pop");

/* Every upper half is 0 or the pattern. */
static void all_own(const uint64_t seen[32], uint32_t pattern)
{
	for (int n = 0; n < 31; n++) {
		uint32_t upper = (uint32_t)(seen[n] >> 32);

		if (n != 12 && n != 13 && upper != 0)
			CHECK_EQUAL(upper, pattern);
	}
}

static int fill_too(void *argument)
{
	static uint64_t seen[32];

	(void)argument;
	for (int i = 0; i < 1000000; i++) {
		wide_fill(0x0badbadu, 2000, seen, SYS_sched_yield);
		all_own(seen, 0x0badbadu);
	}
	return 0;
}

/* Two programs fill the same registers and take turns: by yielding, and by the clock. */
static void switches_leave_nothing(void)
{
	static uint64_t seen[32];
	pid_t other;

	if (!is_wide())
		return;
	other = test_child(fill_too, NULL);
	for (int i = 0; i < 50; i++) {
		wide_fill(PATTERN, 100, seen, SYS_sched_yield);
		all_own(seen, PATTERN);
	}
	for (int i = 0; i < 4; i++) {
		wide_fill(PATTERN, 2000000, seen, 0);
		all_own(seen, PATTERN);
	}
	MUST(kill(other, SIGKILL));
	CHECK_EQUAL(test_wait(other), 1000 + SIGKILL);
}

/* A handler begins, and the interrupted code goes on, with nothing of the kernel's. */
static void signals_leave_nothing(void)
{
	static uint64_t seen[32];
	struct sigaction action = { .sa_handler = wide_handler };
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };

	if (!is_wide())
		return;
	MUST(sigaction(SIGUSR1, &action, NULL));
	MUST(sigaction(SIGALRM, &action, NULL));
	MUST(setitimer(ITIMER_REAL, &timer, NULL));
	while (wide_signals < 10) {
		wide_fill(PATTERN, 100000, seen, SYS_getppid);
		all_own(seen, PATTERN);
		all_own(wide_handled, PATTERN);
	}
	memset(&timer, 0, sizeof(timer));
	MUST(setitimer(ITIMER_REAL, &timer, NULL));
	wide_signals = 0;
	MUST(raise(SIGUSR1));
	CHECK_EQUAL(wide_signals, 1);
	all_own(wide_handled, PATTERN);
}

static int stop_and_look(void *argument)
{
	static uint64_t seen[32];

	(void)argument;
	MUST(ptrace(PTRACE_TRACEME, 0, 0, 0));
	raise(SIGSTOP);
	for (int i = 0; i < 20; i++) {
		wide_fill(PATTERN, 10, seen, SYS_getppid);
		all_own(seen, PATTERN);
	}
	return 7;
}

/* Stops of a traced program, by each call and by each instruction. */
static void traces_leave_nothing(void)
{
	static const int ways[] = { PTRACE_SYSCALL, PTRACE_SINGLESTEP };
	int status, stops = 0;

	for (int way = 0; is_wide() && way < 2; way++) {
		pid_t child = test_child(stop_and_look, NULL);

		for (stops = 0; MUST(waitpid(child, &status, 0)) == child && WIFSTOPPED(status); stops++)
			MUST(ptrace(stops < 3000 ? ways[way] : PTRACE_CONT, child, 0, 0));
		CHECK(WIFEXITED(status));
		CHECK_EQUAL(WEXITSTATUS(status), 7);
		CHECK(stops >= 40);
	}
}

/* A call's number and arguments are the lower halves. */
static void arguments_are_lower_halves(void)
{
	static uint64_t seen[32];

	if (!is_wide())
		return;
	wide_fill(PATTERN, 0, seen, SYS_getppid);
	CHECK_EQUAL((uint32_t)seen[3], getppid());
	CHECK_EQUAL(seen[3] >> 32, 0);
}

static void *fault_address;
static sigjmp_buf after_fault;

static void take_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	fault_address = info->si_addr;
	siglongjmp(after_fault, number);
}

static uint64_t load(const void *at)
{
	uint32_t halves[2];

	__asm__ volatile(".machine push; .machine power4; ld 5,0(%1); std 5,0(%0); .machine pop"
			 : : "b"(halves), "b"(at) : "r5", "memory");
	return (uint64_t)halves[0] << 32 | halves[1];
}

static void store(void *at, uint64_t value)
{
	uint32_t halves[2] = { (uint32_t)(value >> 32), (uint32_t)value };

	__asm__ volatile(".machine push; .machine power4; ld 5,0(%0); std 5,0(%1); .machine pop"
			 : : "b"(halves), "b"(at) : "r5", "memory");
}

/* Doublewords at any address: across two pages, and across the end of memory. A store that faults has lost the upper
 * half when it is repeated, so the pages are there before. */
static void doublewords_across_pages(void)
{
	static const uint64_t value = 0x0123456789abcdefu;
	struct sigaction action = { .sa_sigaction = take_fault, .sa_flags = SA_SIGINFO };
	volatile int number;

	MUST(sigaction(SIGSEGV, &action, NULL));
	for (int i = 1; is_wide() && i < 8; i++) {
		unsigned char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		CHECK(pages != MAP_FAILED);
		pages[0] = pages[PAGE] = 1;
		store(pages + PAGE - i, value);
		CHECK(load(pages + PAGE - i) == value);
		for (int byte = 0; byte < 8; byte++)
			CHECK_EQUAL(pages[PAGE - i + byte], (unsigned char)(value >> (56 - 8 * byte)));
		MUST(munmap(pages + 2 * PAGE, PAGE));
		number = sigsetjmp(after_fault, 1);
		if (!number)
			store(pages + 2 * PAGE - i, value);
		CHECK_EQUAL(number, SIGSEGV);
		CHECK((unsigned char *)fault_address >= pages + 2 * PAGE - i &&
		      (unsigned char *)fault_address <= pages + 2 * PAGE);
		MUST(munmap(pages, 2 * PAGE));
	}
}

/* A doubleword's reservation: its own store succeeds once; an unaligned address is a bus error. */
static void reservations(void)
{
	static uint32_t place[4] __attribute__((aligned(16)));
	struct sigaction action = { .sa_sigaction = take_fault, .sa_flags = SA_SIGINFO };
	uint32_t first, second;
	volatile int number;

	if (!is_wide())
		return;
	MUST(sigaction(SIGBUS, &action, NULL));
	__asm__ volatile(".machine push; .machine power4\n\t"
			 "1: ldarx 5,0,%2; addi 5,5,1; stdcx. 5,0,%2; bne- 1b\n\t"
			 "stdcx. 5,0,%2; mfcr %0; ldarx 5,0,%2; stdcx. 5,0,%2; mfcr %1\n\t.machine pop"
			 : "=&r"(first), "=r"(second) : "r"(place) : "r5", "cr0", "memory");
	CHECK_EQUAL(first >> 29 & 1, 0);
	CHECK_EQUAL(second >> 29 & 1, 1);
	CHECK_EQUAL(place[0], 0);
	CHECK_EQUAL(place[1], 1);
	number = sigsetjmp(after_fault, 1);
	if (!number)
		__asm__ volatile(".machine push; .machine power4; ldarx 5,0,%0; .machine pop"
				 : : "r"((char *)place + 4) : "r5", "memory");
	CHECK_EQUAL(number, SIGBUS);
	CHECK(fault_address == (char *)place + 4);
}

/* dcbz clears as much as the kernel tells the program. */
static void lines_are_as_told(void)
{
	static unsigned char room[1024] __attribute__((aligned(512)));
	unsigned long line = getauxval(AT_DCACHEBSIZE);

	memset(room, 1, sizeof(room));
	__asm__ volatile("dcbz 0, %0" : : "r"(room + 512) : "memory");
	for (unsigned long i = 0; i < sizeof(room); i++)
		CHECK_EQUAL(room[i], i < 512 || i >= 512 + line);
}

static const struct test_case cases[] = {
	CASE(calls_leave_nothing), CASE(faults_leave_nothing), CASE(switches_leave_nothing),
	CASE(signals_leave_nothing), CASE(traces_leave_nothing), CASE(arguments_are_lower_halves),
	CASE(doublewords_across_pages), CASE(reservations), CASE(lines_are_as_told),
};

TEST_MAIN("wide", cases)
