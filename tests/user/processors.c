/* Affinity: on which processors tasks run, what they are told of it, and masks that no processor fits. The test runs on
 * one processor too, where each set has one member. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

/* The processors that the program may use, when it starts. */
static cpu_set_t all;
static int numbers[CPU_SETSIZE], count;

static void find_processors(void)
{
	if (count)
		return;
	MUST(sched_getaffinity(0, sizeof(all), &all));
	for (int number = 0; number < CPU_SETSIZE; number++)
		if (CPU_ISSET(number, &all))
			numbers[count++] = number;
	CHECK(count > 0);
}

static cpu_set_t only(int number)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(number, &set);
	return set;
}

static void bind_to(pid_t task, int number)
{
	cpu_set_t set = only(number);

	MUST(sched_setaffinity(task, sizeof(set), &set));
}

static void check_bound(int number)
{
	cpu_set_t set, wanted = only(number);
	unsigned here = ~0u, node = ~0u;

	MUST(sched_getaffinity(0, sizeof(set), &set));
	CHECK(CPU_EQUAL(&set, &wanted));
	MUST(syscall(SYS_getcpu, &here, &node, NULL));
	CHECK_EQUAL(here, (unsigned)number);
	CHECK_EQUAL(node, 0);
}

static int child_inherits(void *number)
{
	check_bound(*(int *)number);
	return 0;
}

static void one_after_the_other(void)
{
	find_processors();
	for (int i = 0; i < count; i++) {
		bind_to(0, numbers[i]);
		check_bound(numbers[i]);
		CHECK_EQUAL(test_in_child(child_inherits, &numbers[i]), 0);
	}
	MUST(sched_setaffinity(0, sizeof(all), &all));
}

/* /proc/self/status lists the same set. */
static void told_in_status(void)
{
	char text[8192], line[64];

	find_processors();
	for (int i = 0; i < count; i++) {
		bind_to(0, numbers[i]);
		test_read_file("/proc/self/status", text, sizeof(text));
		snprintf(line, sizeof(line), "\nCpus_allowed_list:\t%d\n", numbers[i]);
		CHECK(strstr(text, line) != NULL);
	}
	MUST(sched_setaffinity(0, sizeof(all), &all));
}

static void masks_without_processors(void)
{
	cpu_set_t none, beyond = only(CPU_SETSIZE - 1), now;

	find_processors();
	CPU_ZERO(&none);
	CHECK_ERROR(sched_setaffinity(0, sizeof(none), &none), EINVAL);
	CHECK_ERROR(sched_setaffinity(0, sizeof(beyond), &beyond), EINVAL);
	CHECK_ERROR(syscall(SYS_sched_setaffinity, 0, 0, &all), EINVAL);
	CHECK_ERROR(syscall(SYS_sched_getaffinity, 0, 0, &now), EINVAL);
	CHECK_ERROR(syscall(SYS_sched_getaffinity, 0, 5, &now), EINVAL);
	CHECK_ERROR(syscall(SYS_sched_setaffinity, 0, sizeof(all), 8), EFAULT);
	CHECK_ERROR(syscall(SYS_sched_getaffinity, 0, sizeof(all), 8), EFAULT);
	CHECK_ERROR(syscall(SYS_getcpu, 8, NULL, NULL), EFAULT);
	CHECK_EQUAL(syscall(SYS_getcpu, NULL, NULL, NULL), 0);
	/* Of a mask that has one that is there, the others are left out. */
	CPU_OR(&beyond, &beyond, &all);
	MUST(sched_setaffinity(0, sizeof(beyond), &beyond));
	MUST(sched_getaffinity(0, sizeof(now), &now));
	CHECK(CPU_EQUAL(&now, &all));
}

static void tasks_that_are_not_there(void)
{
	cpu_set_t now;

	find_processors();
	CHECK_ERROR(sched_setaffinity(-1, sizeof(all), &all), ESRCH);
	CHECK_ERROR(sched_getaffinity(-1, sizeof(now), &now), ESRCH);
	CHECK_ERROR(sched_setaffinity(0x7fffffff, sizeof(all), &all), ESRCH);
	CHECK_ERROR(sched_getaffinity(0x7fffffff, sizeof(now), &now), ESRCH);
}

struct one_thread {
	pthread_t thread;
	volatile pid_t task;
	volatile int number;
	volatile int go, moved;
};

static void *move_often(void *of)
{
	struct one_thread *t = of;

	t->number = numbers[0];
	t->task = (pid_t)syscall(SYS_gettid);
	for (int i = 0; i < 20; i++) {
		while (t->go == i)
			sched_yield();
		check_bound(t->number);
		t->moved = i + 1;
	}
	return NULL;
}

/* Threads are sent from processor to processor by another, and others come and go meanwhile. */
static void threads_are_sent(void)
{
	static struct one_thread threads[6];

	find_processors();
	for (int i = 0; i < 6; i++) {
		memset(&threads[i], 0, sizeof(threads[i]));
		MUST(-pthread_create(&threads[i].thread, NULL, move_often, &threads[i]));
	}
	for (int round = 0; round < 20; round++)
		for (int i = 0; i < 6; i++) {
			struct one_thread *t = &threads[i];

			while (!t->task || t->moved != round)
				sched_yield();
			t->number = numbers[(round + i) % count];
			bind_to(t->task, t->number);
			t->go = round + 1;
		}
	for (int i = 0; i < 6; i++)
		MUST(-pthread_join(threads[i].thread, NULL));
	/* The kernel wakes who joins before the task is gone. */
	for (int i = 0; i < 1000 && sched_setaffinity(threads[0].task, sizeof(all), &all) == 0; i++)
		usleep(1000);
	CHECK_ERROR(sched_setaffinity(threads[0].task, sizeof(all), &all), ESRCH);
}

/* A task that has ended, and that nobody has waited for, may be sent too. */
static void ended_is_sent(void)
{
	pid_t child;
	siginfo_t info;

	find_processors();
	child = (pid_t)MUST(fork());
	if (!child)
		_exit(3);
	MUST(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
	for (int i = 0; i < count; i++)
		bind_to(child, numbers[i]);
	CHECK_EQUAL(test_wait(child), 3);
}

/* A stopped task runs on its new processor when it goes on. */
static void stopped_is_sent(void)
{
	int last;
	pid_t child;

	find_processors();
	last = numbers[count - 1];
	bind_to(0, numbers[0]);
	child = (pid_t)MUST(fork());
	if (!child) {
		raise(SIGSTOP);
		check_bound(last);
		_exit(4);
	}
	MUST(waitpid(child, NULL, WUNTRACED));
	bind_to(child, last);
	MUST(kill(child, SIGCONT));
	CHECK_EQUAL(test_wait(child), 4);
	MUST(sched_setaffinity(0, sizeof(all), &all));
}

static volatile int spinning, done;

static void *spin_on(void *number)
{
	bind_to(0, *(int *)number);
	__atomic_add_fetch(&spinning, 1, __ATOMIC_SEQ_CST);
	while (!done)
		;
	return NULL;
}

/* Every other processor is asked to drop a page; then each lock has one line in /proc, ours. */
static void locks_are_told_apart(void)
{
	pthread_t threads[CPU_SETSIZE];
	char seen[64][16], line[128];
	int lines = 0;
	FILE *file;
	char *page;

	find_processors();
	bind_to(0, numbers[0]);
	spinning = done = 0;
	for (int i = 1; i < count; i++)
		MUST(-pthread_create(&threads[i], NULL, spin_on, &numbers[i]));
	while (spinning < count - 1)
		usleep(1000);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	*page = 1;
	MUST(munmap(page, 4096));
	done = 1;
	for (int i = 1; i < count; i++)
		MUST(-pthread_join(threads[i], NULL));
	MUST(sched_setaffinity(0, sizeof(all), &all));
	file = fopen("/proc/locks/contention", "r");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		CHECK(lines < 64 && sscanf(line, "%15s", seen[lines]) == 1);
		for (int i = 0; i < lines; i++)
			CHECK(strcmp(seen[i], seen[lines]) != 0);
		lines++;
	}
	CHECK(lines > 1);
	fclose(file);
}

static const struct test_case cases[] = {
	CASE(one_after_the_other), CASE(told_in_status), CASE(masks_without_processors),
	CASE(tasks_that_are_not_there), CASE(threads_are_sent), CASE(ended_is_sent), CASE(stopped_is_sent),
	CASE(locks_are_told_apart),
};

TEST_MAIN("processors", cases)
