/*
 * Turns: a program that sleeps does not wait for programs that compute, and gains nothing by when it sleeps. Uses guest
 * time, so only our kernel can pass.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

#define MS 1000000ll
#define LOOPS 12
#define SLEEPS 50
#define LATEST (15 * MS)

/* Processes write the processor time that they have used, in ns, each to its place. */
static volatile long long *used;

static void share_memory(void)
{
	used = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(used != MAP_FAILED);
}

static void use_one_processor(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	MUST(sched_setaffinity(0, sizeof(one), &one));
}

static long long time_used(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void sleep_for(long long ns)
{
	const struct timespec time = { ns / 1000000000, (long)(ns % 1000000000) };

	nanosleep(&time, NULL);
}

static void sleep_until(long long ns)
{
	const struct timespec time = { ns / 1000000000, (long)(ns % 1000000000) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static int compute(void *place)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		used[*(int *)place] = time_used();
	return 0;
}

static pid_t start_computing(int place)
{
	return test_child(compute, &place);
}

static void end(pid_t child)
{
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static long long longest_sleep(void)
{
	long long longest = 0;

	for (int i = 0; i < SLEEPS; i++) {
		long long begin = test_now(), took;

		sleep_for(MS);
		took = test_now() - begin;
		if (took > longest)
			longest = took;
	}
	return longest;
}

/* From the moment when they begin, and after some turns of theirs. */
static void sleepers_do_not_wait(void)
{
	pid_t children[LOOPS];

	share_memory();
	for (int i = 0; i < LOOPS; i++)
		children[i] = start_computing(i);
	for (int i = 0; i < 2; i++) {
		long long longest = longest_sleep();

		if (test_is_timed())
			CHECK(longest < LATEST);
		sleep_for(100 * MS);
	}
	for (int i = 0; i < LOOPS; i++)
		end(children[i]);
}

static int sleep_again_and_again(void *number)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;; used[*(int *)number]++)
		sleep_for(3 * MS);
	return 0;
}

/* Half of the others sleep, too. */
static void sleepers_do_not_wait_for_sleepers(void)
{
	pid_t children[LOOPS];

	share_memory();
	for (int i = 0; i < LOOPS; i++)
		children[i] = i % 2 ? start_computing(i) : test_child(sleep_again_and_again, &i);
	sleep_for(300 * MS);
	if (test_is_timed())
		CHECK(longest_sleep() < LATEST);
	for (int i = 0; i < LOOPS; i++)
		end(children[i]);
}

/* Takes the place's share of the processor, in percent, of what it and a loop beside it have used meanwhile. */
static int share_of(int place, int other, long long ns)
{
	long long before = used[place], before_other = used[other];

	sleep_for(ns);
	before = used[place] - before;
	before_other = used[other] - before_other;
	return (int)(before * 100 / (before + before_other));
}

/* Computes until just before its turn of 100 ms is over, then sleeps for a moment. */
static int sleep_before_the_end(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		long long begin = time_used();

		while (time_used() - begin < 95 * MS)
			used[1] = time_used();
		sleep_for(MS / 10);
	}
	return 0;
}

/* Sleeps for 2 of every 10 ms, so that it may sleep at each tick, and never be found running. */
static int sleep_at_ticks(void *phase)
{
	long long at = (test_now() / (10 * MS) + 1) * 10 * MS + *(int *)phase * MS;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;; at += 10 * MS) {
		sleep_until(at);
		while (test_now() < at + 8 * MS)
			used[1] = time_used();
	}
	return 0;
}

static int helper_of;

/* Another process of the same user changes its nice to what it is already, all the time. */
static int change_nothing(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		sleep_for(MS);
		setpriority(PRIO_PROCESS, (id_t)helper_of, 0);
	}
	return 0;
}

/* Children take turns: each computes for 8 ms, less than a tick, starts the next one and ends. */
static int pass_on(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		pid_t child = fork();

		if (child == 0) {
			long long before = used[1];

			while (time_used() < 8 * MS)
				used[1] = before + time_used();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}

static void check_share(int (*function)(void *), void *argument, long long ns)
{
	pid_t loop = start_computing(0), other = test_child(function, argument);
	int share;

	helper_of = other;
	sleep_for(200 * MS);
	share = share_of(1, 0, ns);
	/* Halves, but for a turn that began before or ended after the measurement. */
	if (share >= 60 && test_is_timed())
		CHECK_EQUAL(share, 50);
	end(other);
	end(loop);
}

static void nothing_is_gained_before_the_end(void)
{
	share_memory();
	use_one_processor();
	check_share(sleep_before_the_end, NULL, 1200 * MS);
}

static void nothing_is_gained_between_ticks(void)
{
	share_memory();
	use_one_processor();
	for (int phase = 0; phase < 10; phase += 2)
		check_share(sleep_at_ticks, &phase, 600 * MS);
}

static void nothing_is_gained_by_children(void)
{
	share_memory();
	use_one_processor();
	check_share(pass_on, NULL, 1200 * MS);
}

static void nothing_is_gained_by_nice(void)
{
	int place = 1;
	pid_t loop, other, helper;

	share_memory();
	use_one_processor();
	loop = start_computing(0);
	other = test_child(compute, &place);
	helper_of = other;
	helper = test_child(change_nothing, NULL);
	sleep_for(200 * MS);
	CHECK(share_of(1, 0, 1000 * MS) < 60);
	end(helper);
	end(other);
	end(loop);
}

static int compute_nicely(void *unused)
{
	int place = 1;

	(void)unused;
	MUST(setpriority(PRIO_PROCESS, 0, 10));
	return compute(&place);
}

/* A turn at nice 10 is half as long as at nice 0. */
static void nice_is_less(void)
{
	pid_t loop, other;
	int share;

	share_memory();
	use_one_processor();
	loop = start_computing(0);
	other = test_child(compute_nicely, NULL);
	sleep_for(200 * MS);
	share = share_of(1, 0, 900 * MS);
	CHECK(share > 25);
	CHECK(share < 42);
	end(other);
	end(loop);
}

static int compute_when_idle(void *unused)
{
	int place = 1;

	(void)unused;
	MUST(sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 }));
	return compute(&place);
}

/* SCHED_IDLE gets what others leave; beside one that computes, a tick in some seconds. */
static void idle_is_last(void)
{
	pid_t loop, other;
	long long before, latest = 0;

	share_memory();
	use_one_processor();
	other = test_child(compute_when_idle, NULL);
	sleep_for(50 * MS);
	for (int i = 0; i < 10; i++) {
		before = test_now();
		sleep_for(MS);
		if (test_now() - before > latest)
			latest = test_now() - before;
	}
	CHECK(!test_is_timed() || latest < 3 * MS);
	loop = start_computing(0);
	sleep_for(200 * MS);
	CHECK(share_of(1, 0, 1000 * MS) < 3);
	before = used[1];
	sleep_for(4000 * MS);
	CHECK(used[1] > before);
	CHECK(used[1] - before < 120 * MS);
	end(loop);
	before = used[1];
	sleep_for(100 * MS);
	CHECK(used[1] - before > 50 * MS);
	end(other);
}

/* Also one that has slept for whole rounds, and so has had no turn in this one. */
static void a_yield_lets_another_run(void)
{
	pid_t child;

	share_memory();
	use_one_processor();
	child = start_computing(0);
	for (int i = 0; i < 5; i++) {
		long long before;

		sleep_for(250 * MS);
		before = used[0];
		sched_yield();
		CHECK(used[0] > before);
	}
	end(child);
}

static int compute_in_turns(void *policy)
{
	struct sched_param parameter = { .sched_priority = 5 };
	int place = *(int *)policy == SCHED_RR ? 0 : 1;

	MUST(sched_setscheduler(0, *(int *)policy, &parameter));
	for (long long end = time_used() + 300 * MS; time_used() < end;)
		used[place] = time_used();
	return 0;
}

/* SCHED_FIFO keeps the processor until it sleeps; SCHED_RR shares it with its equals. */
static void real_time_is_as_it_was(void)
{
	struct sched_param parameter = { .sched_priority = 9 };
	int fifo = SCHED_FIFO, rr = SCHED_RR;
	pid_t children[2];

	share_memory();
	use_one_processor();
	MUST(sched_setscheduler(0, SCHED_FIFO, &parameter));
	children[0] = test_child(compute_in_turns, &fifo);
	sleep_for(20 * MS);
	children[1] = test_child(compute_in_turns, &rr);
	/* Each wake-up of this process preempts the first child, which stays the first of its priority. */
	for (int i = 0; i < 10; i++) {
		sleep_for(20 * MS);
		if (test_is_timed())
			CHECK_EQUAL(used[0], 0);
	}
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(test_wait(children[i]), 0);
}

static const struct test_case cases[] = {
	CASE(sleepers_do_not_wait),
	CASE(sleepers_do_not_wait_for_sleepers),
	CASE(nothing_is_gained_before_the_end),
	CASE(nothing_is_gained_between_ticks),
	CASE(nothing_is_gained_by_children),
	CASE(nothing_is_gained_by_nice),
	CASE(nice_is_less),
	CASE(idle_is_last),
	CASE(a_yield_lets_another_run),
	CASE(real_time_is_as_it_was),
};

TEST_MAIN("turn", cases)
