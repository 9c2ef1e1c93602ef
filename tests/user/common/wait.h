/* How long others wait while a process acts. Uses guest time, so only our kernel can pass. */
#ifndef PAGEWALK_TEST_WAIT_H
#define PAGEWALK_TEST_WAIT_H

#include <stddef.h>

#include "check.h"

/* What is measured: `act` alone, or the end of the process where it is NULL. `prepare` runs before it, unmeasured. */
struct test_act {
	const char *name;
	void (*prepare)(void), (*act)(void);
};

/* Runs each act in a child of its own, prints the longest time that a real-time task waited meanwhile, and checks that
 * it is no more than a tick. Checks no time where time limits do not apply. */
void wait_check(const struct test_act *acts, size_t count);

/* The main function of a program that checks these acts, and nothing else. */
#define WAIT_MAIN(subject, acts) \
	static void others_run_meanwhile(void) \
	{ \
		wait_check(acts, sizeof(acts) / sizeof((acts)[0])); \
	} \
\
	static const struct test_case cases[] = { CASE(others_run_meanwhile) }; \
	TEST_MAIN(subject, cases)

#endif
