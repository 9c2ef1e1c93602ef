#define _GNU_SOURCE
#include "threads.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#define THREADS 900

pthread_t test_start(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	CHECK_EQUAL(pthread_create(&thread, NULL, function, argument), 0);
	return thread;
}

void *test_join(pthread_t thread)
{
	void *result;

	CHECK_EQUAL(pthread_join(thread, &result), 0);
	return result;
}

static uint32_t word;

static void *wait_for_word(void *argument)
{
	(void)argument;
	for (;;)
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

void test_start_threads(void)
{
	pthread_attr_t small;
	pthread_t thread;
	sigset_t all;

	sigfillset(&all);
	MUST(sigprocmask(SIG_SETMASK, &all, NULL));
	pthread_attr_init(&small);
	CHECK_EQUAL(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN), 0);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, &small, wait_for_word, NULL)) {
			CHECK(i > THREADS / 3);
			return;
		}
}
