/* Floating point across context switches, forks, signals and faults; alignment. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

/* Loads all 32 floating-point registers with values made from the seed, lets other processes run, and adds up the
 * registers' values. A wrong register gives a wrong sum. */
static int registers_hold(double seed, int yields)
{
	double values[32], after[32];

	for (int i = 0; i < 32; i++)
		values[i] = seed * (i + 1) + 1.0 / (i + 3);
	for (int turn = 0; turn < yields; turn++) {
		/* sched_yield (158) as a bare system call between the loads and the stores. */
		__asm__ volatile(
			"lfd 0,0(%0)\n lfd 1,8(%0)\n lfd 2,16(%0)\n lfd 3,24(%0)\n lfd 4,32(%0)\n lfd 5,40(%0)\n"
			"lfd 6,48(%0)\n lfd 7,56(%0)\n lfd 8,64(%0)\n lfd 9,72(%0)\n lfd 10,80(%0)\n lfd 11,88(%0)\n"
			"lfd 12,96(%0)\n lfd 13,104(%0)\n lfd 14,112(%0)\n lfd 15,120(%0)\n lfd 16,128(%0)\n"
			"lfd 17,136(%0)\n lfd 18,144(%0)\n lfd 19,152(%0)\n lfd 20,160(%0)\n lfd 21,168(%0)\n"
			"lfd 22,176(%0)\n lfd 23,184(%0)\n lfd 24,192(%0)\n lfd 25,200(%0)\n lfd 26,208(%0)\n"
			"lfd 27,216(%0)\n lfd 28,224(%0)\n lfd 29,232(%0)\n lfd 30,240(%0)\n lfd 31,248(%0)\n"
			"li 0,158\n sc\n"
			"stfd 0,0(%1)\n stfd 1,8(%1)\n stfd 2,16(%1)\n stfd 3,24(%1)\n stfd 4,32(%1)\n stfd 5,40(%1)\n"
			"stfd 6,48(%1)\n stfd 7,56(%1)\n stfd 8,64(%1)\n stfd 9,72(%1)\n stfd 10,80(%1)\n stfd 11,88(%1)\n"
			"stfd 12,96(%1)\n stfd 13,104(%1)\n stfd 14,112(%1)\n stfd 15,120(%1)\n stfd 16,128(%1)\n"
			"stfd 17,136(%1)\n stfd 18,144(%1)\n stfd 19,152(%1)\n stfd 20,160(%1)\n stfd 21,168(%1)\n"
			"stfd 22,176(%1)\n stfd 23,184(%1)\n stfd 24,192(%1)\n stfd 25,200(%1)\n stfd 26,208(%1)\n"
			"stfd 27,216(%1)\n stfd 28,224(%1)\n stfd 29,232(%1)\n stfd 30,240(%1)\n stfd 31,248(%1)\n"
			:
			: "r"(values), "r"(after)
			: "r0", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "memory",
			  "fr0", "fr1", "fr2", "fr3", "fr4", "fr5", "fr6", "fr7", "fr8", "fr9", "fr10", "fr11", "fr12",
			  "fr13", "fr14", "fr15", "fr16", "fr17", "fr18", "fr19", "fr20", "fr21", "fr22", "fr23",
			  "fr24",
			  "fr25", "fr26", "fr27", "fr28", "fr29", "fr30", "fr31");
		if (memcmp(values, after, sizeof(values)) != 0)
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

/* A process that computes without a system call is preempted by others that do the same. */
static double series(int seed)
{
	double sum = 0;

	for (int i = 1; i < 300000; i++)
		sum += (double)seed / i - sum * 1e-7;
	return sum;
}

static void results_survive_preemption(void)
{
	enum { CHILDREN = 4 };
	pid_t children[CHILDREN];
	double *wanted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK((void *)wanted != MAP_FAILED);
	for (int i = 0; i < CHILDREN; i++)
		wanted[i] = series(i + 1);
	for (int i = 0; i < CHILDREN; i++) {
		children[i] = (pid_t)MUST(fork());
		if (children[i] == 0)
			_exit(series(i + 1) == wanted[i] ? 0 : 1);
	}
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

static void arithmetic(void)
{
	volatile double one = 1.0, three = 3.0, zero = 0.0, huge = 1e308, result;
	volatile float small = 1.0f / 3.0f;

	CHECK(one / three * three == 1.0);
	CHECK(isinf(one / zero) && isinf(huge * 10));
	CHECK(isnan(zero / zero));
	CHECK(sqrt(2.0 * one) > 1.414213562373095 && sqrt(2.0 * one) < 1.414213562373096);
	CHECK((double)small != one / three);
	CHECK_EQUAL((int)(three * 1e3 + 0.999), 3000);
	CHECK_EQUAL((int)(-three / 2), -1);
	feclearexcept(FE_ALL_EXCEPT);
	result = one / zero;
	CHECK(isinf(result));
	CHECK(fetestexcept(FE_DIVBYZERO));
	CHECK(!fetestexcept(FE_INVALID));
}

static void unaligned_access(void)
{
	static unsigned char bytes[64] __attribute__((aligned(64)));
	volatile unsigned char *at = bytes;

	for (unsigned int i = 0; i < 16; i++) {
		unsigned int word = 0x01020304u + i, got;
		unsigned short half = 0x0506, got_half;
		double number = i * 1.25, got_number;

		__asm__ volatile("stw %1, 0(%0)" : : "b"(at + i), "r"(word) : "memory");
		__asm__ volatile("lwz %0, 0(%1)" : "=r"(got) : "b"(at + i) : "memory");
		CHECK_EQUAL(got, word);
		CHECK_EQUAL(at[i], 1);
		__asm__ volatile("sth %1, 0(%0)" : : "b"(at + i), "r"(half) : "memory");
		__asm__ volatile("lhz %0, 0(%1)" : "=r"(got_half) : "b"(at + i) : "memory");
		CHECK_EQUAL(got_half, half);
		__asm__ volatile("stfd %1, 0(%0)" : : "b"(at + i), "d"(number) : "memory");
		__asm__ volatile("lfd %0, 0(%1)" : "=d"(got_number) : "b"(at + i) : "memory");
		CHECK(got_number == number);
	}
}

/* Stores r28 to r31 with stmw, clears them, loads them with lmw, and returns them. Written in assembly because a C
 * compiler may use r30 and r31 itself. */
void unaligned_store_and_load(unsigned char *at, unsigned int back[4]);
__asm__(
	".text\n.globl unaligned_store_and_load\n.type unaligned_store_and_load,@function\n"
	"unaligned_store_and_load:\n"
	"stwu 1,-32(1)\n stmw 28,16(1)\n"
	"lis 28,0x0102\n ori 28,28,0x0304\n addis 29,28,0x1010\n addis 30,29,0x1010\n addis 31,30,0x7010\n"
	"stmw 28,0(3)\n li 28,0\n li 29,0\n li 30,0\n li 31,0\n lmw 28,0(3)\n"
	"stmw 28,0(4)\n lmw 28,16(1)\n addi 1,1,32\n blr\n"
	".size unaligned_store_and_load,.-unaligned_store_and_load\n");

/* lmw and stmw of unaligned words, which the kernel emulates on these processors; also across the end of a page. */
static void unaligned_multiple(void)
{
	unsigned char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	for (unsigned int i = 0; i < 24; i++) {
		unsigned char *at = page + 4096 - 12 + i;
		unsigned int back[4];

		memset(page + 4000, 0xee, 200);
		unaligned_store_and_load(at, back);
		CHECK_EQUAL(back[0], 0x01020304);
		CHECK_EQUAL(back[1], 0x11120304);
		CHECK_EQUAL(back[2], 0x21220304);
		CHECK_EQUAL(back[3], 0x91320304);
		CHECK_EQUAL(at[-1], 0xee);
		CHECK_EQUAL(at[0], 0x01);
		CHECK_EQUAL(at[7], 0x04);
		CHECK_EQUAL(at[12], 0x91);
		CHECK_EQUAL(at[16], 0xee);
	}
}

static void *fault_address;
static sigjmp_buf after_fault;

static void take_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	fault_address = info->si_addr;
	siglongjmp(after_fault, number);
}

/* An unaligned stmw to an unmapped address is an ordinary fault. */
static void unaligned_multiple_faults(void)
{
	struct sigaction action = { .sa_sigaction = take_fault, .sa_flags = SA_SIGINFO };
	unsigned char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile int number;

	CHECK(page != MAP_FAILED);
	MUST(munmap(page + 4096, 4096));
	MUST(sigaction(SIGSEGV, &action, NULL));
	number = sigsetjmp(after_fault, 1);
	if (!number)
		__asm__ volatile("stmw 28,0(%0)" : : "b"(page + 4096 - 6) : "memory");
	CHECK_EQUAL(number, SIGSEGV);
	CHECK((unsigned char *)fault_address >= page + 4096 - 6 && (unsigned char *)fault_address < page + 4096 + 16);
}

static int calculate(void *argument)
{
	volatile double one = 1.0;

	(void)argument;
	return one + one > 1;
}

static void without_a_unit(void)
{
	uint64_t number = 0xc004000000000001u, back = 0;
	uint32_t single = 0xc0200000, narrow = 0;       /* -2.5 */

	__asm__ volatile("lfd 14,0(%0)\n stfd 14,0(%1)" : : "b"(&number), "b"(&back) : "fr14", "memory");
	CHECK(back == number);
	__asm__ volatile("lfs 14,0(%0)\n stfd 14,0(%1)\n stfs 14,0(%2)" : : "b"(&single), "b"(&back), "b"(&narrow)
			 : "fr14", "memory");
	CHECK(back == 0xc004000000000000u);
	CHECK_EQUAL(narrow, single);
	CHECK_EQUAL(test_in_child(calculate, NULL), 1000 + SIGILL);
}

/* The cases that need the unit come first. */
#define CALCULATING 5
static struct test_case cases[] = {
	CASE(registers_survive_switches), CASE(results_survive_preemption), CASE(rounding_mode_is_the_process_s_own),
	CASE(arithmetic), CASE(unaligned_access), CASE(unaligned_multiple), CASE(unaligned_multiple_faults),
};

int main(int argc, char **argv)
{
	for (unsigned int i = 0; i < CALCULATING && !test_has_fpu(); i++)
		cases[i].run = without_a_unit;
	return test_run("fpu", argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
