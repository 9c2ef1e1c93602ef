/*
 * On a processor with registers of 64 bits: the kernel keeps 32 of them. A program may lose the upper halves at any
 * exception, but never sees there what others left. Other processors have nothing to test. Only our kernel passes:
 * Linux for 64 bits keeps all of them.
 */
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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
	CASE(calls_leave_nothing), CASE(faults_leave_nothing), CASE(lines_are_as_told),
};

TEST_MAIN("wide", cases)
