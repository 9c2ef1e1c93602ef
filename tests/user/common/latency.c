#include "latency.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

/* The decrementer's interval while interrupts are watched, and the longest that an interrupt may wait, in ns. The limit
 * is for 133 MHz; it is longer in proportion on a slower processor. */
#define SAMPLE 20000
#define LONGEST 500000
#define LONGEST_MHZ 133

static long long longest_allowed(void)
{
	char text[256], *at;
	long mhz;

	test_read_file("/proc/cpuinfo", text, sizeof(text));
	at = strstr(text, MACHINE_CLOCK);
	CHECK(at != NULL);
	mhz = strtol(at + strlen(MACHINE_CLOCK), NULL, 10);
	CHECK(mhz > 0);
	return mhz < LONGEST_MHZ ? (long long)LONGEST * LONGEST_MHZ / mhz : LONGEST;
}

static void watch(long sample)
{
	char words[16];

	snprintf(words, sizeof(words), "%ld", sample);
	test_write_file("/proc/latency", words, strlen(words));
}

static int run_one(void *argument)
{
	(*(void (**)(void))argument)();
	return 0;
}

void latency_check(const struct test_case *calls, size_t count)
{
	char text[256];
	int late = 0;
	long long most;

	/* With several processors, an interrupt waits for the kernel lock too. */
	if (!test_is_timed() || sysconf(_SC_NPROCESSORS_ONLN) > 1)
		return;
	most = longest_allowed();
	for (size_t i = 0; i < count; i++) {
		void (*run)(void) = calls[i].run;
		long long longest, sample;

		watch(SAMPLE);
		CHECK_EQUAL(test_in_child(run_one, &run), 0);
		test_read_file("/proc/latency", text, sizeof(text));
		CHECK_EQUAL(sscanf(text, "longest %lld sample %lld", &longest, &sample), 2);
		CHECK_EQUAL(sample, SAMPLE);
		printf("%s: %s", calls[i].name, text);
		late += longest > most;
	}
	watch(0);
	CHECK_EQUAL(late, 0);
}
