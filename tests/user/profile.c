/* /proc/profile, which only our kernel has: what may be written to it, and samples of the kernel itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/proc.h"

#define PROFILE "/proc/profile"
#define PAGE 4096u
#define PAGES 64u

static int store(const char *words)
{
	return -proc_store(PROFILE, words);
}

static unsigned long long samples(const char *name)
{
	return proc_count(PROFILE, name);
}

static unsigned long long all_samples(void)
{
	return samples("user ") + samples("idle ") + samples("kernel ") + samples("other ") + samples("lost ");
}

static void touch_pages(int times)
{
	while (times--) {
		char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		CHECK(at != MAP_FAILED);
		for (unsigned page = 0; page < PAGES; page++)
			at[page * PAGE] = 1;
		MUST(munmap(at, PAGES * PAGE));
	}
}

static void refuses_other_words(void)
{
	static const char *const bad[] = {
		" ", "2", "4999", "1000000001", "4294972295", "18446744073709556615", "99999999999999999999999", "-1",
		"+5000", "5000x", "5000 5000", "0x5000", "cleared", "clea", "on",
	};

	for (unsigned n = 0; n < sizeof(bad) / sizeof(bad[0]); n++)
		CHECK_EQUAL(store(bad[n]), EINVAL);
	CHECK_EQUAL(store("1\n"), 0);
	CHECK_EQUAL(store("0 \n"), 0);
	CHECK_EQUAL(store("clear"), 0);
	CHECK_EQUAL(all_samples(), 0);
}

static int open_as_user(void *argument)
{
	(void)argument;
	MUST(setuid(1000));
	CHECK_ERROR(open(PROFILE, O_WRONLY), EACCES);
	return 0;
}

static void only_root_writes(void)
{
	CHECK_EQUAL(test_in_child(open_as_user, NULL), 0);
}

/* The samples stand for all cycles. A part of them is of code that runs with interrupts off. */
static void samples_by_cycles(void)
{
	const unsigned long long period = 20011;
	unsigned long long cycles, sampled, kernel;
	int error = store("20011");
	long long begun;

	if (error) {
		CHECK_EQUAL(error, EOPNOTSUPP);
		return;
	}
	begun = test_now();
	touch_pages(100);
	CHECK_EQUAL(store("0"), 0);
	cycles = (unsigned long long)(test_now() - begun) * proc_count("/proc/cpuinfo", "clock\t\t: ") / 1000;
	sampled = all_samples();
	touch_pages(1);
	CHECK_EQUAL(all_samples(), sampled);
	/* QEMU has the registers, and counts nothing. */
	if (!test_is_timed())
		return;
	CHECK(sampled * period > cycles - cycles / 50);
	CHECK(sampled * period < cycles + cycles / 50);
	kernel = samples("kernel ");
	CHECK(kernel > samples("user "));
	CHECK(samples("cause.clear ") * 50 > kernel);
	CHECK(samples("cause.fault ") * 100 > kernel);
	CHECK_EQUAL(store("clear"), 0);
	CHECK_EQUAL(all_samples(), 0);
}

/* At the least period programs still go on, and samples by ticks take its place. */
static void least_period(void)
{
	if (store("5000") == EOPNOTSUPP)
		return;
	touch_pages(10);
	CHECK_EQUAL(store("5000"), 0);
	touch_pages(10);
	CHECK_EQUAL(store("1"), 0);
	touch_pages(1);
	CHECK_EQUAL(store("0"), 0);
}

/* A sample that waits when sampling is set again is of no period. */
static void setting_again_loses_nothing(void)
{
	CHECK_EQUAL(store("clear"), 0);
	for (int turn = 0; turn < 60; turn++) {
		if (store("20011") == EOPNOTSUPP)
			return;
		touch_pages(1);
		CHECK_EQUAL(store("20011"), 0);
		CHECK_EQUAL(store("0"), 0);
	}
	CHECK(samples("lost ") < 1000);
}

/* Reads pieces of any size at any place. */
static int read_anywhere(void *seed)
{
	uint32_t dice = *(uint32_t *)seed;
	void *volatile nowhere = (void *)16;
	static char text[70000];
	int fd = (int)MUST(open(PROFILE, O_RDONLY));

	for (int i = 0; i < 60; i++) {
		static const size_t sizes[] = { 0, 1, 3, 511, 4095, 4096, 4097, sizeof(text) };
		static const long long places[] = { 0, 1, 7, 4095, 4096, 65537, 0x7fffffff, 0x7fffffffffff };
		size_t size = sizes[(dice = dice * 1664525u + 1013904223u) >> 29];
		ssize_t got = MUST(pread64(fd, text, size, places[dice >> 11 & 7]));

		CHECK(got >= 0 && (size_t)got <= size);
		if (dice & 1 << 20)
			CHECK(MUST(read(fd, text, size)) <= (ssize_t)size);
	}
	CHECK_ERROR(pread64(fd, text, 1, -1), EINVAL);
	CHECK_ERROR(pread64(fd, nowhere, 100, 0), EFAULT);
	return 0;
}

/* Sampling begins, ends and is cleared, and policies change, while others read. */
static void readers_and_changes(void)
{
	static const char *const policies[] = { "tlb.flush=lazy", "tlb.flush=search", "tlb.cutoff=off",
						"tlb.cutoff=20" };
	pid_t readers[3];

	for (uint32_t i = 0; i < 3; i++)
		readers[i] = test_child(read_anywhere, &i);
	for (int i = 0; i < 40; i++) {
		CHECK_EQUAL(store(i % 3 ? "1" : "clear"), 0);
		(void)proc_store("/proc/policy", policies[i % 4]);
		touch_pages(1);
		CHECK_EQUAL(store("0"), 0);
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(test_wait(readers[i]), 0);
	CHECK_EQUAL(store("clear"), 0);
	CHECK_EQUAL(all_samples(), 0);
}

static const struct test_case cases[] = {
	CASE(refuses_other_words),
	CASE(only_root_writes),
	CASE(samples_by_cycles),
	CASE(least_period),
	CASE(setting_again_loses_nothing), CASE(readers_and_changes),
};

TEST_MAIN("profile", cases)
