/* Mutexes with priority inheritance, and the order in which waiters are woken. qemu-ppc passes the host's kernel words
 * in the host's byte order, so only our kernel can pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/threads.h"
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

/* Condition variables of such mutexes: FUTEX_WAIT_REQUEUE_PI and FUTEX_CMP_REQUEUE_PI. */
#define WAITERS 3

static volatile uint32_t condition, mutex, other_mutex;
static volatile int waiting[WAITERS], had[WAITERS], had_it;

static long futex(volatile uint32_t *word, int operation, uint32_t value, const void *timeout, volatile uint32_t *word2,
		  uint32_t value3)
{
	return syscall(SYS_futex, word, operation, value, timeout, word2, value3);
}

static long requeue(uint32_t wake, intptr_t most, uint32_t expected)
{
	return futex(&condition, FUTEX_CMP_REQUEUE_PI, wake, (void *)most, &mutex, expected);
}

static uint32_t self(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* Waits for the condition, has the mutex then, and gives it back. */
static void *waiter(void *argument)
{
	long i = (long)argument;

	waiting[i] = (int)self();
	CHECK_EQUAL(futex(&condition, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &mutex, 0), 0);
	CHECK_EQUAL(mutex & FUTEX_TID_MASK, self());
	had[i] = ++had_it;
	CHECK_EQUAL(futex(&mutex, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), 0);
	return NULL;
}

static void start_waiters(pthread_t *threads)
{
	for (long i = 0; i < WAITERS; i++) {
		threads[i] = test_start(waiter, (void *)i);
		while (!waiting[i])
			usleep(1000);
		test_await_sleep(waiting[i]);
	}
}

static void join_waiters(pthread_t *threads)
{
	for (int i = 0; i < WAITERS; i++)
		test_join(threads[i]);
	CHECK_EQUAL(mutex, 0);
	for (int i = 0; i < WAITERS; i++)
		CHECK_EQUAL(had[i], i + 1);
}

/* The first sleeper gets the free mutex, and hands it on. */
static void a_free_mutex(void)
{
	pthread_t threads[WAITERS];

	start_waiters(threads);
	CHECK_ERROR(requeue(1, INT_MAX, 7), EAGAIN);
	CHECK_EQUAL(requeue(1, INT_MAX, 0), WAITERS);
	join_waiters(threads);
	CHECK_EQUAL(requeue(1, INT_MAX, 0), 0);
}

/* All wait until the owner unlocks. */
static void a_mutex_that_is_held(void)
{
	pthread_t threads[WAITERS];

	CHECK_EQUAL(futex(&mutex, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
	start_waiters(threads);
	CHECK_EQUAL(requeue(1, 0, 0), 1);
	CHECK_EQUAL(requeue(1, 1, 0), 2);
	usleep(10000);
	CHECK_EQUAL(had_it, 0);
	CHECK_EQUAL(mutex, self() | FUTEX_WAITERS);
	CHECK_EQUAL(futex(&mutex, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), 0);
	join_waiters(threads);
}

static struct timespec soon(void)
{
	struct timespec time;

	MUST(clock_gettime(CLOCK_MONOTONIC, &time));
	time.tv_nsec += 30000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_nsec -= 1000000000;
		time.tv_sec++;
	}
	return time;
}

static void *timed_waiter(void *result)
{
	struct timespec end = soon();

	waiting[0] = (int)self();
	*(int *)result = futex(&condition, FUTEX_WAIT_REQUEUE_PI, 0, &end, &mutex, 0) ? errno : 0;
	return NULL;
}

/* The time ends before the condition comes, and again while the task waits for the mutex. */
static void time_out(void)
{
	pthread_t thread;
	int result = 0;

	test_join(test_start(timed_waiter, &result));
	CHECK_EQUAL(result, ETIMEDOUT);
	CHECK_EQUAL(requeue(1, INT_MAX, 0), 0);
	CHECK_EQUAL(futex(&mutex, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
	waiting[0] = 0;
	result = 0;
	thread = test_start(timed_waiter, &result);
	while (!waiting[0])
		usleep(1000);
	while (requeue(1, INT_MAX, 0) == 0 && !result)
		usleep(1000);
	test_join(thread);
	CHECK_EQUAL(result, ETIMEDOUT);
	CHECK_EQUAL(futex(&mutex, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQUAL(mutex, 0);
}

/* What does not fit the sleeper is refused, and the sleeper stays. */
static void wrong_calls(void)
{
	pthread_t threads[WAITERS];

	start_waiters(threads);
	CHECK_ERROR(futex(&condition, FUTEX_WAKE, 1, NULL, NULL, 0), EINVAL);
	CHECK_ERROR(futex(&condition, FUTEX_REQUEUE, 1, (void *)1, &mutex, 0), EINVAL);
	CHECK_ERROR(futex(&condition, FUTEX_CMP_REQUEUE_PI, 1, (void *)1, &other_mutex, 0), EINVAL);
	CHECK_ERROR(requeue(0, 1, 0), EINVAL);
	CHECK_ERROR(requeue(2, 1, 0), EINVAL);
	CHECK_ERROR(futex(&condition, FUTEX_CMP_REQUEUE_PI, 1, (void *)1, &condition, 0), EINVAL);
	CHECK_ERROR(futex(&condition, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &condition, 0), EINVAL);
	CHECK_ERROR(futex(&condition, FUTEX_WAIT_REQUEUE_PI, 1, NULL, &mutex, 0), EAGAIN);
	CHECK_EQUAL(requeue(1, INT_MAX, 0), WAITERS);
	join_waiters(threads);
}

/* A waiter would get a mutex that it has already. */
static void *owner_waits(void *unused)
{
	CHECK_EQUAL(futex(&mutex, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
	waiting[0] = (int)self();
	CHECK_EQUAL(futex(&condition, FUTEX_WAIT_REQUEUE_PI, 0, &(struct timespec){ INT_MAX, 0 }, &mutex, 0), 0);
	return unused;
}

static int owner_process(void *unused)
{
	test_start(owner_waits, unused);
	while (!waiting[0])
		usleep(1000);
	test_await_sleep(waiting[0]);
	CHECK_ERROR(requeue(1, 0, 0), EDEADLK);
	CHECK_EQUAL(mutex, (uint32_t)waiting[0]);
	return 0;
}

static void the_owner_itself(void)
{
	CHECK_EQUAL(test_in_child(owner_process, NULL), 0);
}

static char moved_first;        /* its address says that the sleeper is moved */

/* A killed sleeper leaves nothing behind, before and after it was moved. */
static int killed_process(void *moved)
{
	pthread_t threads[WAITERS];

	if (moved)
		CHECK_EQUAL(futex(&mutex, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
	start_waiters(threads);
	if (moved)
		CHECK_EQUAL(requeue(1, 1, 0), 2);
	raise(SIGKILL);
	return 0;
}

static void killed(void)
{
	CHECK_EQUAL(test_in_child(killed_process, NULL), 1000 + SIGKILL);
	CHECK_EQUAL(test_in_child(killed_process, &moved_first), 1000 + SIGKILL);
}

static void *locks_the_mutex(void *unused)
{
	waiting[0] = (int)self();
	CHECK_EQUAL(futex(&mutex, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
	/* A hand-over says that there are waiters, even if none is left. */
	CHECK_EQUAL(mutex, self() | FUTEX_WAITERS);
	CHECK_EQUAL(futex(&mutex, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQUAL(mutex, 0);
	return unused;
}

static void *sleeps_on_the_mutex(void *unused)
{
	waiting[1] = (int)self();
	CHECK_EQUAL(futex(&mutex, FUTEX_WAIT, 0, NULL, NULL, 0), 0);
	return unused;
}

/* The calls for plain words refuse a word that a task waits for with FUTEX_LOCK_PI, which refuses a plain word. */
static void a_word_of_the_other_kind(void)
{
	static volatile uint32_t word;
	pthread_t thread;

	CHECK_EQUAL(futex(&mutex, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQUAL(futex(&mutex, FUTEX_WAKE, 1, NULL, NULL, 0), 0);
	thread = test_start(locks_the_mutex, NULL);
	while (!waiting[0])
		usleep(1000);
	test_await_sleep(waiting[0]);
	CHECK_ERROR(futex(&mutex, FUTEX_WAKE, 1, NULL, NULL, 0), EINVAL);
	CHECK_ERROR(futex(&mutex, FUTEX_WAKE_BITSET, 1, NULL, NULL, 2), EINVAL);
	CHECK_ERROR(futex(&mutex, FUTEX_REQUEUE, 1, NULL, &word, 0), EINVAL);
	CHECK_ERROR(futex(&mutex, FUTEX_REQUEUE, 0, (void *)1, &word, 0), EINVAL);
	CHECK_EQUAL(futex(&mutex, FUTEX_REQUEUE, 0, NULL, &word, 0), 0);
	CHECK_ERROR(futex(&mutex, FUTEX_CMP_REQUEUE, 1, NULL, &word, mutex), EINVAL);
	CHECK_ERROR(futex(&mutex, FUTEX_CMP_REQUEUE_PI, 1, NULL, &word, mutex), EINVAL);
	CHECK_ERROR(futex(&mutex, FUTEX_WAKE_OP, 1, NULL, &word, 0), EINVAL);
	CHECK_ERROR(futex(&word, FUTEX_WAKE_OP, 1, (void *)1, &mutex, FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_NE, 0)),
		    EINVAL);
	CHECK_EQUAL(futex(&mutex, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), 0);
	test_join(thread);

	thread = test_start(sleeps_on_the_mutex, NULL);
	while (!waiting[1])
		usleep(1000);
	test_await_sleep(waiting[1]);
	CHECK_ERROR(futex(&mutex, FUTEX_LOCK_PI, 0, NULL, NULL, 0), EINVAL);
	CHECK_ERROR(futex(&mutex, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0), EINVAL);
	mutex = self();
	CHECK_ERROR(futex(&mutex, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), EINVAL);
	CHECK_EQUAL(futex(&mutex, FUTEX_WAKE, 1, NULL, NULL, 0), 1);
	test_join(thread);
}

/* The exchange at a register that cannot be read would never end. */
static void a_word_of_a_device(void)
{
	int fd = open("/dev/pagewalk", O_RDWR);
	char *page;

	if (fd < 0)
		return;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(page != MAP_FAILED);
	for (int private = 0; private <= FUTEX_PRIVATE_FLAG; private += FUTEX_PRIVATE_FLAG) {
		CHECK_ERROR(syscall(SYS_futex, page + 8, FUTEX_WAKE_OP | private, 1, 1, page + 8, 0), EFAULT);
		CHECK_ERROR(syscall(SYS_futex, page + 8, FUTEX_LOCK_PI | private, 0, NULL, NULL, 0), EFAULT);
		CHECK_ERROR(syscall(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI | private, 1, 1, page + 8, 0), EFAULT);
	}
}

static const struct test_case cases[] = {
	CASE(one_at_a_time), CASE(owner_dies), CASE(owner_runs_at_the_waiters_priority),
	CASE(waiters_go_by_priority), CASE(a_cycle_is_refused), CASE(a_free_mutex),
	CASE(a_mutex_that_is_held), CASE(time_out), CASE(wrong_calls), CASE(the_owner_itself), CASE(killed),
	CASE(a_word_of_the_other_kind), CASE(a_word_of_a_device),
};

TEST_MAIN("inherit", cases)
