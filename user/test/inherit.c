/* Mutexes with priority inheritance, and the order in which waiters are woken. qemu-ppc passes the host's kernel words
 * in the host's byte order, so only our kernel can pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "machine.h"

#define THREADS 8

static pthread_t start(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	CHECK_EQUAL(pthread_create(&thread, NULL, function, argument), 0);
	return thread;
}

static void init_inheriting(pthread_mutex_t *mutex, int robust, int shared_between)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	CHECK_EQUAL(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT), 0);
	CHECK_EQUAL(pthread_mutexattr_setrobust(&attributes, robust), 0);
	CHECK_EQUAL(pthread_mutexattr_setpshared(&attributes, shared_between), 0);
	CHECK_EQUAL(pthread_mutex_init(mutex, &attributes), 0);
}

static pthread_mutex_t inheriting;
static int turns;

static void *add_turns(void *argument)
{
	for (long i = 0; i < (long)argument; i++) {
		CHECK_EQUAL(pthread_mutex_lock(&inheriting), 0);
		turns++;
		sched_yield();
		CHECK_EQUAL(pthread_mutex_unlock(&inheriting), 0);
	}
	return NULL;
}

static void *try_it(void *result)
{
	struct timespec past = { 1, 0 };

	*(int *)result = pthread_mutex_trylock(&inheriting);
	CHECK_EQUAL(pthread_mutex_timedlock(&inheriting, &past), ETIMEDOUT);
	return NULL;
}

static void one_at_a_time(void)
{
	pthread_t threads[THREADS], other;
	int result = 0;

	init_inheriting(&inheriting, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);
	for (long i = 0; i < THREADS; i++)
		threads[i] = start(add_turns, (void *)200);
	for (long i = 0; i < THREADS; i++)
		CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
	CHECK_EQUAL(turns, THREADS * 200);
	CHECK_EQUAL(pthread_mutex_lock(&inheriting), 0);
	other = start(try_it, &result);
	CHECK_EQUAL(pthread_join(other, NULL), 0);
	CHECK_EQUAL(result, EBUSY);
	CHECK_EQUAL(pthread_mutex_unlock(&inheriting), 0);
	CHECK_ERROR(syscall(SYS_futex, MACHINE_MUTEX_WORD(&inheriting), FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0),
		    EPERM);
}

/* The owner dies while another process waits: the waiter gets the mutex and EOWNERDEAD. */
static void owner_dies(void)
{
	struct page {
		pthread_mutex_t mutex;
		volatile int locked;
	} *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	CHECK(page != MAP_FAILED);
	init_inheriting(&page->mutex, PTHREAD_MUTEX_ROBUST, PTHREAD_PROCESS_SHARED);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		struct timespec nap = { 0, 20000000 };

		pthread_mutex_lock(&page->mutex);
		page->locked = 1;
		nanosleep(&nap, NULL);
		_exit(0);
	}
	while (!page->locked)
		sched_yield();
	CHECK_EQUAL(pthread_mutex_lock(&page->mutex), EOWNERDEAD);
	CHECK_EQUAL(pthread_mutex_consistent(&page->mutex), 0);
	CHECK_EQUAL(pthread_mutex_unlock(&page->mutex), 0);
	CHECK_EQUAL(pthread_mutex_lock(&page->mutex), 0);
	CHECK_EQUAL(test_wait(child), 0);
}

static void at_priority(int priority)
{
	struct sched_param parameter = { .sched_priority = priority };

	CHECK_EQUAL(pthread_setschedparam(pthread_self(), priority ? SCHED_FIFO : SCHED_OTHER, &parameter), 0);
}

static sem_t low_has_it;
static volatile int finished, middle_saw;

/* Holds the mutex at the lowest priority, wakes the other threads, and has work to do. */
static void *low(void *argument)
{
	at_priority(1);
	pthread_mutex_lock(&inheriting);
	sem_post(&low_has_it);
	for (volatile int i = 0; i < 100000; i++)
		;
	finished = 1;
	pthread_mutex_unlock(&inheriting);
	return argument;
}

/* Would run before the owner if the owner did not inherit a higher priority. */
static void *middle(void *argument)
{
	at_priority(5);
	middle_saw = finished;
	return argument;
}

static void *high(void *argument)
{
	pthread_t other;

	at_priority(9);
	other = start(middle, NULL);
	pthread_mutex_lock(&inheriting);
	CHECK_EQUAL(finished, 1);
	pthread_mutex_unlock(&inheriting);
	pthread_join(other, NULL);
	return argument;
}

static void owner_runs_at_the_waiters_priority(void)
{
	pthread_t threads[2];

	cpu_set_t one;

	/* On several processors all three would run. Threads inherit this. */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	MUST(sched_setaffinity(0, sizeof(one), &one));
	init_inheriting(&inheriting, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);
	sem_init(&low_has_it, 0, 0);
	at_priority(20);
	threads[0] = start(low, NULL);
	sem_wait(&low_has_it);
	threads[1] = start(high, NULL);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
	CHECK_EQUAL(middle_saw, 1);
}

static sem_t gate;
static int order[3], passed;

static void *pass(void *priority)
{
	at_priority((int)(long)priority);
	sem_wait(&gate);
	order[passed++] = (int)(long)priority;
	return NULL;
}

/* The waiter with the highest priority gets the word first. */
static void waiters_go_by_priority(void)
{
	static const long priorities[3] = { 3, 7, 5 };
	pthread_t threads[3];

	sem_init(&gate, 0, 0);
	at_priority(20);
	for (int i = 0; i < 3; i++)
		threads[i] = start(pass, (void *)priorities[i]);
	usleep(10000);
	for (int i = 0; i < 3; i++) {
		sem_post(&gate);
		usleep(10000);
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
	CHECK(order[0] == 7 && order[1] == 5 && order[2] == 3);
}

static uint32_t first, second;
static volatile int second_is_locked;

/* Gives up two seconds from now: a lost wakeup or a deadlock then fails the test instead of stopping it. */
static long lock_word(uint32_t *word)
{
	struct timespec end;

	MUST(clock_gettime(CLOCK_REALTIME, &end));
	end.tv_sec += 2;
	return syscall(SYS_futex, word, FUTEX_LOCK_PI, 0, &end, NULL, 0);
}

static void unlock_word(uint32_t *word)
{
	MUST(syscall(SYS_futex, word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
}

static void *lock_second_then_first(void *argument)
{
	MUST(lock_word(&second));
	second_is_locked = 1;
	MUST(lock_word(&first));
	unlock_word(&first);
	unlock_word(&second);
	return argument;
}

static void a_cycle_is_refused(void)
{
	pthread_t other;

	MUST(lock_word(&first));
	other = start(lock_second_then_first, NULL);
	while (!second_is_locked)
		usleep(1000);
	usleep(10000);
	CHECK_ERROR(lock_word(&second), EDEADLK);
	unlock_word(&first);
	CHECK_EQUAL(pthread_join(other, NULL), 0);
	MUST(lock_word(&second));
	unlock_word(&second);
}

static const struct test_case cases[] = {
	CASE(one_at_a_time), CASE(owner_dies), CASE(owner_runs_at_the_waiters_priority),
	CASE(waiters_go_by_priority), CASE(a_cycle_is_refused),
};

TEST_MAIN("inherit", cases)
