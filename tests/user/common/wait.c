#define _GNU_SOURCE
#include "wait.h"

#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

/* The longest that a real-time task may wait, in ns: a tick. */
#define WAIT_MOST 10000000

/* Runs one act in a child; returns the longest wait of this process meanwhile, in ns. */
static long long longest_wait(const struct test_act *act)
{
	const struct timespec little = { 0, 1000000 };
	int to_child[2], to_parent[2], status;
	long long longest = 0;
	pid_t child;
	char byte;

	MUST(pipe(to_child));
	MUST(pipe(to_parent));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		act->prepare();
		CHECK_EQUAL(write(to_parent[1], "x", 1), 1);
		CHECK_EQUAL(read(to_child[0], &byte, 1), 1);
		if (act->act)
			act->act();
		_exit(0);
	}
	MUST(close(to_parent[1]));
	if (read(to_parent[0], &byte, 1) == 1) {
		MUST(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }));
		CHECK_EQUAL(write(to_child[1], "x", 1), 1);
		while (MUST(waitpid(child, &status, WNOHANG)) == 0) {
			long long before = test_now(), took;

			MUST(nanosleep(&little, NULL));
			took = test_now() - before - little.tv_nsec;
			longest = took > longest ? took : longest;
		}
		MUST(sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 }));
	} else {
		CHECK_EQUAL(waitpid(child, &status, 0), child);
	}
	CHECK_EQUAL(status, 0);
	close(to_child[0]);
	close(to_child[1]);
	close(to_parent[0]);
	return longest;
}

void wait_check(const struct test_act *acts, size_t count)
{
	int late = 0;

	for (size_t i = 0; i < count; i++) {
		long long longest = longest_wait(&acts[i]);

		printf("%s: another process waits %lld us\n", acts[i].name, longest / 1000);
		late += test_is_timed() && longest > WAIT_MOST;
	}
	CHECK_EQUAL(late, 0);
}
