/* modify_ldt: segments of an address space. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "common/threads.h"

/* As the kernel takes it (uapi x86 asm/ldt.h). */
struct segment {
	unsigned entry, base, limit, flags;
};

#define DATA 0x51u              /* 32 bits, limit in pages, for software's use */
#define CODE 0x55u
#define NONE 0x28u              /* an empty entry */
#define SELECTOR(entry) ((entry) * 8u + 7u)

static long modify(int function, const void *data, unsigned long size)
{
	return syscall(SYS_modify_ldt, function, data, size);
}

static long set(unsigned entry, const void *base, unsigned flags)
{
	const struct segment s = { entry, (uintptr_t)base, flags == NONE ? 0 : 0xfffff, flags };

	return modify(0x11, &s, sizeof(s));
}

static uint32_t word_by(unsigned entry)
{
	uint32_t word;

	__asm__ volatile("movw %w1, %%fs; movl %%fs:0, %0" : "=r"(word) : "r"(SELECTOR(entry)));
	return word;
}

static int loads(void *entry)
{
	return (int)word_by((uintptr_t)entry);
}

static const uint32_t words[] = { 0x11, 0x22, 0x33 };

static void one_entry(void)
{
	CHECK_EQUAL(test_in_child(loads, (void *)3), 1000 + SIGSEGV);
	CHECK_EQUAL(set(3, &words[0], DATA), 0);
	CHECK_EQUAL(word_by(3), 0x11);
	CHECK_EQUAL(set(3, &words[1], DATA), 0);
	CHECK_EQUAL(word_by(3), 0x22);
	CHECK_EQUAL(test_in_child(loads, (void *)2), 1000 + SIGSEGV);
	CHECK_EQUAL(test_in_child(loads, (void *)4), 1000 + SIGSEGV);
	CHECK_EQUAL(set(3, NULL, NONE), 0);
	CHECK_EQUAL(test_in_child(loads, (void *)3), 1000 + SIGSEGV);
}

/* The table grows: what it had stays. */
static void last_entry(void)
{
	CHECK_EQUAL(set(0, &words[0], DATA), 0);
	CHECK_EQUAL(set(511, &words[1], DATA), 0);
	CHECK_EQUAL(set(8191, &words[2], DATA), 0);
	CHECK_EQUAL(word_by(0), 0x11);
	CHECK_EQUAL(word_by(511), 0x22);
	CHECK_EQUAL(word_by(8191), 0x33);
	CHECK_EQUAL(set(0, &words[2], DATA), 0);
	CHECK_EQUAL(word_by(0), 0x33);
	CHECK_ERROR(set(8192, &words[0], DATA), EINVAL);
}

static void reading(void)
{
	uint32_t table[16], none[16];

	memset(table, 0xff, sizeof(table));
	CHECK_EQUAL(modify(0, table, sizeof(table)), 0);
	CHECK_EQUAL(table[0], 0xffffffff);
	CHECK_EQUAL(set(1, &words[0], DATA), 0);
	CHECK_EQUAL(modify(0, table, sizeof(table)), sizeof(table));
	CHECK_EQUAL(table[0] | table[1], 0);
	CHECK_EQUAL(table[2], (uintptr_t)&words[0] << 16 | 0xffff);
	CHECK_EQUAL(table[3] & 0x00ffff00, 0x00dff300);
	memset(none, 0, sizeof(none));
	CHECK(memcmp(table + 4, none, sizeof(table) - 16) == 0);
	CHECK_EQUAL(modify(0, table, 8), 8);
	CHECK_ERROR(modify(0, (void *)16, 64), EFAULT);
	CHECK_ERROR(modify(0, NULL, 16), EFAULT);
}

static void wrong_calls(void)
{
	struct segment s = { 0, 0, 0xfffff, DATA };

	CHECK_ERROR(modify(0x11, &s, sizeof(s) - 1), EINVAL);
	CHECK_ERROR(modify(0x11, (void *)16, sizeof(s)), EFAULT);
	CHECK_ERROR(modify(3, &s, sizeof(s)), ENOSYS);
	CHECK_ERROR(modify(-1, &s, sizeof(s)), ENOSYS);
	s.flags = 0x57;         /* code that any privilege may call */
	CHECK_ERROR(modify(0x11, &s, sizeof(s)), EINVAL);
	CHECK_ERROR(modify(1, &s, sizeof(s)), EINVAL);
	s.flags = 0x77;         /* which is absent */
	CHECK_ERROR(modify(1, &s, sizeof(s)), EINVAL);
	CHECK_EQUAL(modify(0x11, &s, sizeof(s)), 0);
	/* The form of old: base and limit 0 empty an entry. */
	s = (struct segment){ 0, (uintptr_t)&words[1], 0xfffff, DATA };
	CHECK_EQUAL(modify(1, &s, sizeof(s)), 0);
	CHECK_EQUAL(word_by(0), 0x22);
	s = (struct segment){ 0, 0, 0, DATA };
	CHECK_EQUAL(modify(1, &s, sizeof(s)), 0);
	CHECK_EQUAL(test_in_child(loads, (void *)0), 1000 + SIGSEGV);
}

/* A fork copies the table; then each process has its own. An exec begins without one. */
static void of_an_address_space(void)
{
	pid_t child;

	CHECK_EQUAL(set(7, &words[0], DATA), 0);
	CHECK_EQUAL(word_by(7), 0x11);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		uint32_t word;

		__asm__ volatile("movl %%fs:0, %0" : "=r"(word));
		CHECK_EQUAL(word, 0x11);
		CHECK_EQUAL(set(7, &words[1], DATA), 0);
		for (int i = 0; i < 50; i++) {
			CHECK_EQUAL(word_by(7), 0x22);
			sched_yield();
		}
		_exit(0);
	}
	for (int i = 0; i < 50; i++) {
		CHECK_EQUAL(word_by(7), 0x11);
		sched_yield();
	}
	CHECK_EQUAL(test_wait(child), 0);
	/* A process that was made before its parent had a table. */
	CHECK_EQUAL(test_in_child(loads, (void *)6), 1000 + SIGSEGV);
}

static int without_a_table(void *stop)
{
	while (!*(volatile int *)stop) {
		uint32_t table[4];

		CHECK_EQUAL(modify(0, table, sizeof(table)), 0);
		sched_yield();
	}
	return test_in_child(loads, (void *)2) == 1000 + SIGSEGV ? 0 : 1;
}

static void beside_others(void)
{
	volatile int *stop = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t others[3];

	for (int i = 0; i < 3; i++)
		others[i] = test_child(without_a_table, (void *)(uintptr_t)stop);
	CHECK_EQUAL(set(2, &words[2], DATA), 0);
	for (int i = 0; i < 200; i++) {
		CHECK_EQUAL(word_by(2), 0x33);
		sched_yield();
	}
	*stop = 1;
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(test_wait(others[i]), 0);
}

static volatile int made, seen;

/* It runs, perhaps on another processor, when the table is made, and when it grows. */
static void *of_a_thread(void *unused)
{
	while (!made)
		__asm__ volatile("" : : : "memory");
	CHECK_EQUAL(word_by(1), 0x11);
	__atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
	while (made < 2)
		__asm__ volatile("" : : : "memory");
	CHECK_EQUAL(word_by(1), 0x22);
	CHECK_EQUAL(word_by(5000), 0x33);
	return unused;
}

static void threads_share_it(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		threads[i] = test_start(of_a_thread, NULL);
	usleep(20000);
	CHECK_EQUAL(set(1, &words[0], DATA), 0);
	made = 1;
	while (seen < 3)
		sched_yield();
	CHECK_EQUAL(set(5000, &words[2], DATA), 0);
	CHECK_EQUAL(set(1, &words[1], DATA), 0);
	made = 2;
	for (int i = 0; i < 3; i++)
		test_join(threads[i]);
	CHECK_EQUAL(word_by(1), 0x22);
}

static volatile unsigned handled;

static void handler(int number)
{
	handled = (unsigned)number;
}

/* Code runs in a segment of the table, also after a signal's handler. */
static void code(void)
{
	unsigned selector = SELECTOR(9), own, back;

	CHECK_EQUAL(set(9, NULL, CODE), 0);
	signal(SIGUSR1, handler);
	__asm__ volatile("movl %%cs, %0" : "=r"(own));
	__asm__ volatile("pushl %1; pushl $1f; lret; 1: int $0x80; movl %%cs, %0; pushl %2; pushl $2f; lret; 2:"
			 : "=&d"(back)
			 : "r"(selector), "r"(own), "a"(SYS_kill), "b"(getpid()), "c"(SIGUSR1)
			 : "memory");
	CHECK_EQUAL(handled, SIGUSR1);
	CHECK_EQUAL(back, selector);
}

/* A segment that ends: what lies behind its limit faults. */
static int beyond_the_limit(void *offset)
{
	const struct segment s = { 4, (uintptr_t)&words[0], 3, 0x41 };
	uint32_t word;

	CHECK_EQUAL(modify(0x11, &s, sizeof(s)), 0);
	__asm__ volatile("movw %w1, %%fs; movl %%fs:(%2), %0" : "=r"(word) : "r"(SELECTOR(4)), "r"(offset));
	return (int)word;
}

static void limits(void)
{
	CHECK_EQUAL(test_in_child(beyond_the_limit, (void *)0), 0x11);
	/* QEMU's PC, whose clock is the host's, checks no limits. */
	if (test_is_timed())
		CHECK_EQUAL(test_in_child(beyond_the_limit, (void *)4), 1000 + SIGSEGV);
}

static const struct test_case cases[] = {
	CASE(one_entry), CASE(last_entry), CASE(reading), CASE(wrong_calls), CASE(of_an_address_space),
	CASE(beside_others), CASE(threads_share_it), CASE(code), CASE(limits),
};

TEST_MAIN("ldt", cases)
