/* Futexes: waiters that are moved to the same word, and more waiters than one call may look at. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/attack.h"

#define WAITERS 60

static uint32_t word, other;

static long futex(uint32_t *at, int op, uint32_t value, long value2, uint32_t *at2, uint32_t value3)
{
	return syscall(SYS_futex, at, op, value, value2, at2, value3);
}

static void *wait_for_word(void *argument)
{
	(void)argument;
	while (futex(&word, FUTEX_WAIT, 0, 0, NULL, 0) < 0 && errno == EINTR)
		;
	return NULL;
}

static void start(pthread_t *threads, unsigned int count)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (unsigned int i = 0; i < count; i++)
		CHECK_EQUAL(pthread_create(&threads[i], &small, wait_for_word, NULL), 0);
	/* A call that moves no waiter still counts the waiters. */
	while (futex(&word, FUTEX_REQUEUE, 0, INT_MAX, &word, 0) < (long)count)
		sched_yield();
}

/* Waiters are moved from a word to the same word: Linux moves none, and returns their number. */
static void moved_to_itself(void)
{
	pthread_t threads[2];

	start(threads, 2);
	CHECK_EQUAL(futex(&word, FUTEX_REQUEUE, 0, INT_MAX, &word, 0), 2);
	CHECK_EQUAL(futex(&word, FUTEX_CMP_REQUEUE, 0, INT_MAX, &word, 0), 2);
	CHECK_EQUAL(futex(&word, FUTEX_REQUEUE, 1, INT_MAX, &word, 0), 2);
	CHECK_EQUAL(futex(&word, FUTEX_WAKE, INT_MAX, 0, NULL, 0), 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void many_are_moved(void)
{
	static pthread_t threads[WAITERS];

	start(threads, WAITERS);
	for (int i = 0; i < 5; i++) {
		CHECK_EQUAL(futex(&word, FUTEX_REQUEUE, 0, INT_MAX, &other, 0), WAITERS);
		CHECK_EQUAL(futex(&other, FUTEX_CMP_REQUEUE, 0, INT_MAX, &word, 0), WAITERS);
	}
	CHECK_EQUAL(futex(&word, FUTEX_WAKE, INT_MAX, 0, NULL, 0), WAITERS);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
}

/* A robust list that never ends, and one with entries at unmapped addresses. */
static int leave_a_list(void *argument)
{
	struct robust_list_head *head = argument;

	MUST(syscall(SYS_set_robust_list, head, sizeof(*head)));
	return 0;
}

static void robust_lists(void)
{
	static struct robust_list circle = { &circle };
	struct robust_list_head endless = { .list = { &circle }, .futex_offset = 8 };
	struct robust_list_head wild = { .list = { (struct robust_list *)0xbffffffc }, .futex_offset = LONG_MAX };
	struct robust_list_head kernel = { .list = { (struct robust_list *)0xc0000000 }, .futex_offset = 1 };

	CHECK_EQUAL(test_in_child(leave_a_list, &endless), 0);
	CHECK_EQUAL(test_in_child(leave_a_list, &wild), 0);
	CHECK_EQUAL(test_in_child(leave_a_list, &kernel), 0);
	CHECK_EQUAL(test_in_child(leave_a_list, (void *)1), 0);
	CHECK_EQUAL(test_in_child(leave_a_list, (void *)0xfffffff8), 0);
}

/* Locks a mutex whose owner is about to end, again and again, and a mutex whose owner does not exist. */
static void *lock_it(void *argument)
{
	(void)argument;
	(void)futex(&word, FUTEX_LOCK_PI, 0, 0, NULL, 0);
	return NULL;
}

static void an_owner_who_ends(void)
{
	for (int i = 0; i < 8; i++) {
		pthread_t threads[4];

		word = 0;
		for (int n = 0; n < 4; n++)
			CHECK_EQUAL(pthread_create(&threads[n], NULL, lock_it, NULL), 0);
		for (int n = 0; n < 4; n++)
			pthread_join(threads[n], NULL);
	}
	word = 30000;
	CHECK_ERROR(futex(&word, FUTEX_LOCK_PI, 0, 0, NULL, 0), ESRCH);
	word = (uint32_t)getpid();
	CHECK_ERROR(futex(&word, FUTEX_LOCK_PI, 0, 0, NULL, 0), EDEADLK);
	word = 1;
	CHECK_ERROR(futex(&word, FUTEX_TRYLOCK_PI, 0, 0, NULL, 0), EAGAIN);
}

static void ignore_signal(int n)
{
	(void)n;
}

/* A signal handler ends a wait with a timeout, however far away the timeout is. */
static void a_far_timeout(void)
{
	struct timespec far = { LONG_MAX, 0 };
	const struct sigaction action = { .sa_handler = ignore_signal, .sa_flags = SA_RESTART };

	MUST(sigaction(SIGALRM, &action, NULL));
	ualarm(20000, 0);
	CHECK_ERROR(futex(&word, FUTEX_WAIT, word, (long)&far, NULL, 0), EINTR);
}

/* The same for a mutex with priority inheritance: the waiter gets it when the owner unlocks it, and not before. */
static void *let_go(void *argument)
{
	const struct timespec some = { 0, 30000000 };

	CHECK_EQUAL(futex(&word, FUTEX_LOCK_PI, 0, 0, NULL, 0), 0);
	*(volatile int *)argument = 1;
	MUST(nanosleep(&some, NULL));
	*(volatile int *)argument = 2;
	CHECK_EQUAL(futex(&word, FUTEX_UNLOCK_PI, 0, 0, NULL, 0), 0);
	return NULL;
}

static void a_far_date(void)
{
	static const struct timespec dates[] = { { LONG_MAX, 0 }, { LONG_MAX, 999999999 } };

	for (int i = 0; i < 2; i++) {
		volatile int state = 0;
		pthread_t thread;

		word = 0;
		CHECK_EQUAL(pthread_create(&thread, NULL, let_go, (void *)&state), 0);
		while (!state)
			sched_yield();
		CHECK_EQUAL(futex(&word, FUTEX_LOCK_PI, 0, (long)&dates[i], NULL, 0), 0);
		CHECK_EQUAL(state, 2);
		CHECK_EQUAL(futex(&word, FUTEX_UNLOCK_PI, 0, 0, NULL, 0), 0);
		pthread_join(thread, NULL);
	}
}

static int start_threads(void *argument)
{
	struct rlimit limit = { 40, 40 };
	pthread_t thread;
	int made = 0;

	(void)argument;
	MUST(setrlimit(RLIMIT_NPROC, &limit));
	while (made < 100 && pthread_create(&thread, NULL, wait_for_word, NULL) == 0)
		made++;
	return made;
}

/* RLIMIT_NPROC counts threads too. */
static void threads_are_limited(void)
{
	int made = test_in_child(start_threads, NULL);

	CHECK(made > 20 && made < 40);
}

/* What remains when the owner of a mutex ends at the moment when its waiter (the heir) gives up or is killed. */
struct inheritance {
	uint32_t word;          /* other processes write it, so read it with word_of */
	volatile int result;    /* the heir's: 0 or an error number; -1: killed before it got a result */
	long delay;             /* microseconds until the owner ends */
};

static uint32_t word_of(const struct inheritance *i)
{
	return *(const volatile uint32_t *)&i->word;
}

static int own_and_end(void *argument)
{
	struct inheritance *i = argument;

	CHECK_EQUAL(futex(&i->word, FUTEX_LOCK_PI, 0, 0, NULL, 0), 0);
	usleep((useconds_t)i->delay);
	return 0;
}

static int wait_as_heir(void *argument)
{
	struct inheritance *i = argument;
	struct timespec end;

	MUST(clock_gettime(CLOCK_REALTIME, &end));
	end.tv_nsec += 4000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_nsec -= 1000000000;
		end.tv_sec++;
	}
	i->result = futex(&i->word, FUTEX_LOCK_PI, 0, (long)&end, NULL, 0) ? errno : 0;
	return 0;
}

static void heirs_give_up(void)
{
	struct inheritance *i = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(i != MAP_FAILED);
	for (int round = 0; round < 80; round++) {
		int kills = round % 2;
		pid_t owner_id;
		pid_t owner, heir;

		i->word = 0;
		i->result = -1;
		i->delay = 2000 + 50 * round;
		owner = test_child(own_and_end, i);
		while (!word_of(i))
			sched_yield();
		heir = test_child(wait_as_heir, i);
		if (kills) {
			usleep(2000 + 30 * (useconds_t)round);
			MUST(kill(heir, SIGKILL));
		}
		(void)test_wait(heir);
		CHECK_EQUAL(test_wait(owner), 0);
		owner_id = (pid_t)(word_of(i) & FUTEX_TID_MASK);
		if (i->result == 0)
			CHECK(owner_id == heir || owner_id == 0);
		else if (i->result > 0)
			CHECK(owner_id != heir);
		/* The owner that the word names is gone, and nobody waits for it. */
		if (futex(&i->word, FUTEX_TRYLOCK_PI, 0, 0, NULL, 0))
			CHECK_EQUAL(errno, ESRCH);
	}
}

/* Two wait for the same mutex, and the word named another owner to each. The second owner ends. */
static int lock_for(void *argument)
{
	CHECK_EQUAL(futex(argument, FUTEX_LOCK_PI, 0, 0, NULL, 0) < 0 ? errno : 0, EINVAL);
	return 0;
}

static int wait_for_ever(void *argument)
{
	(void)futex(argument, FUTEX_LOCK_PI, 0, 0, NULL, 0);
	for (;;)
		pause();
	return 0;
}

static int end_soon(void *argument)
{
	(void)argument;
	usleep(100000);
	return 0;
}

static void owners_of_one_word(void)
{
	uint32_t *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t first, waiter, second;

	CHECK(at != MAP_FAILED);
	first = test_child(wait_for_ever, at);
	*at = (uint32_t)first;
	waiter = test_child(wait_for_ever, at);
	usleep(20000);
	second = test_child(end_soon, NULL);
	*at = (uint32_t)second;
	CHECK_EQUAL(test_in_child(lock_for, at), 0);
	CHECK_EQUAL(test_wait(second), 0);
	MUST(kill(waiter, SIGKILL));
	MUST(kill(first, SIGKILL));
	CHECK_EQUAL(test_wait(waiter), 1000 + SIGKILL);
	CHECK_EQUAL(test_wait(first), 1000 + SIGKILL);
}

/* A thread waits on a word of a file that has gone. Its wait takes no wakeup from who waits on a word of a new file. */
static void *wait_for_mapped(void *at)
{
	(void)futex(at, FUTEX_WAIT, 0, 0, NULL, 0);
	return NULL;
}

static uint32_t *map_new_file(void)
{
	int fd = (int)MUST(memfd_create("words", 0));
	uint32_t *at;

	MUST(ftruncate(fd, 4096));
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(at != MAP_FAILED);
	MUST(close(fd));
	return at;
}

static int wait_and_tell(void *argument)
{
	return (int)futex(argument, FUTEX_WAIT, 0, 0, NULL, 0);
}

static void a_file_that_has_gone(void)
{
	uint32_t *gone[8], *at;
	pthread_t thread;
	pid_t waiter;

	for (int i = 0; i < 8; i++) {
		gone[i] = map_new_file();
		CHECK_EQUAL(pthread_create(&thread, NULL, wait_for_mapped, gone[i]), 0);
	}
	usleep(20000);
	for (int i = 0; i < 8; i++)
		MUST(munmap(gone[i], 4096));
	at = map_new_file();
	waiter = test_child(wait_and_tell, at);
	usleep(20000);
	CHECK_EQUAL(futex(at, FUTEX_WAKE, 1, 0, NULL, 0), 1);
	/* Another waiter that took the wakeup would leave this one asleep for ever. */
	alarm(20);
	CHECK_EQUAL(waitpid(waiter, NULL, 0), waiter);
	alarm(0);
}

static const struct test_case cases[] = {
	CASE(a_file_that_has_gone),
	CASE(owners_of_one_word),
	CASE(heirs_give_up),
	CASE(moved_to_itself),
	CASE(many_are_moved),
	CASE(robust_lists),
	CASE(an_owner_who_ends),
	CASE(a_far_timeout),
	CASE(a_far_date),
	CASE(threads_are_limited),
};

ATTACK_MAIN("futex", cases)
