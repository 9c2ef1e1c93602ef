/* Threads: creation, thread-local storage, mutexes and condition variables (futex), exit of a thread group. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/threads.h"

#define THREADS 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long shared;
static __thread int own = 5;

static void *square(void *argument)
{
	long n = (long)argument;

	return (void *)(n * n);
}

static void create_and_join(void)
{
	for (long round = 0; round < 20; round++) {
		pthread_t threads[THREADS];

		for (long i = 0; i < THREADS; i++)
			threads[i] = test_start(square, (void *)(round + i));
		for (long i = 0; i < THREADS; i++)
			CHECK_EQUAL((long)test_join(threads[i]), (round + i) * (round + i));
	}
}

static void *count_up(void *argument)
{
	for (long i = 0; i < (long)argument; i++) {
		pthread_mutex_lock(&lock);
		shared++;
		if (i % 64 == 0)
			sched_yield();
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void mutex(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		threads[i] = test_start(count_up, (void *)1000);
	for (long i = 0; i < THREADS; i++)
		test_join(threads[i]);
	CHECK_EQUAL(shared, THREADS * 1000);
}

static void *use_own(void *argument)
{
	CHECK_EQUAL(own, 5);
	own = (int)(long)argument;
	for (int i = 0; i < 50; i++) {
		sched_yield();
		CHECK_EQUAL(own, (int)(long)argument);
	}
	return NULL;
}

static void thread_local_storage(void)
{
	pthread_t threads[THREADS];

	own = 99;
	for (long i = 0; i < THREADS; i++)
		threads[i] = test_start(use_own, (void *)i);
	for (long i = 0; i < THREADS; i++)
		test_join(threads[i]);
	CHECK_EQUAL(own, 99);
}

static void *take_turns(void *argument)
{
	long me = (long)argument;

	for (int round = 0; round < 50; round++) {
		pthread_mutex_lock(&lock);
		while (shared % THREADS != me)
			pthread_cond_wait(&changed, &lock);
		shared++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void condition_variable(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		threads[i] = test_start(take_turns, (void *)i);
	for (long i = 0; i < THREADS; i++)
		test_join(threads[i]);
	CHECK_EQUAL(shared, THREADS * 50);
}

static void timed_waits(void)
{
	struct timespec limit;

	MUST(clock_gettime(CLOCK_REALTIME, &limit));
	limit.tv_nsec += 10000000;
	if (limit.tv_nsec >= 1000000000) {
		limit.tv_nsec -= 1000000000;
		limit.tv_sec++;
	}
	pthread_mutex_lock(&lock);
	CHECK_EQUAL(pthread_cond_timedwait(&changed, &lock, &limit), ETIMEDOUT);
	pthread_mutex_unlock(&lock);
}

static void futex_words(void)
{
	int word = 1;
	struct timespec limit = { 0, 1000000 };

	CHECK_ERROR(syscall(SYS_futex, &word, FUTEX_WAIT, 2, NULL, NULL, 0), EAGAIN);
	CHECK_ERROR(syscall(SYS_futex, &word, FUTEX_WAIT, 1, &limit, NULL, 0), ETIMEDOUT);
	CHECK_EQUAL(syscall(SYS_futex, &word, FUTEX_WAKE, 10, NULL, NULL, 0), 0);
	CHECK_ERROR(syscall(SYS_futex, (char *)&word + 1, FUTEX_WAIT, 1, NULL, NULL, 0), EINVAL);
	CHECK_ERROR(syscall(SYS_futex, &word, 127, 1, NULL, NULL, 0), ENOSYS);
}

static void shared_futex(void)
{
	sem_t *semaphores = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	CHECK(semaphores != MAP_FAILED);
	MUST(sem_init(&semaphores[0], 1, 0));
	MUST(sem_init(&semaphores[1], 1, 0));
	child = (pid_t)MUST(fork());
	for (int i = 0; i < 100; i++) {
		if (child == 0) {
			sem_wait(&semaphores[0]);
			sem_post(&semaphores[1]);
		} else {
			sem_post(&semaphores[0]);
			sem_wait(&semaphores[1]);
		}
	}
	if (child == 0)
		_exit(0);
	CHECK_EQUAL(test_wait(child), 0);
}

static void *sleep_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		pause();
	return NULL;
}

static int exit_with_threads(void *argument)
{
	for (int i = 0; i < THREADS; i++)
		test_start(sleep_for_ever, argument);
	exit(23);
}

static void exit_ends_all_threads(void)
{
	CHECK_EQUAL(test_in_child(exit_with_threads, NULL), 23);
}

static void *die(void *argument)
{
	(void)argument;
	*(volatile int *)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
	return NULL;
}

static int die_with_threads(void *argument)
{
	for (int i = 0; i < THREADS; i++)
		test_start(i == 5 ? die : sleep_for_ever, argument);
	sleep_for_ever(NULL);
	return 1;
}

static void fatal_signal_ends_all_threads(void)
{
	CHECK_EQUAL(test_in_child(die_with_threads, NULL), 1000 + SIGSEGV);
}

static void *outlive(void *argument)
{
	(void)argument;
	usleep(20000);
	exit(17);
}

static int main_thread_leaves(void *argument)
{
	test_start(outlive, argument);
	pthread_exit(NULL);
}

static void main_thread_may_leave(void)
{
	CHECK_EQUAL(test_in_child(main_thread_leaves, NULL), 17);
}

static void *end_silently(void *argument)
{
	usleep(30000);
	syscall(SYS_exit, 0);
	return argument;
}

/* The last thread of a process whose parent does not wait is not the main one. */
static void main_thread_leaves_unwatched(void)
{
	signal(SIGCHLD, SIG_IGN);
	for (int round = 0; round < 100; round++) {
		if (MUST(fork()) == 0) {
			test_start(end_silently, NULL);
			syscall(SYS_exit, 0);
		}
		usleep(1000);
	}
	CHECK_ERROR(wait(NULL), ECHILD);
	/* Whatever was freed is used again. */
	signal(SIGCHLD, SIG_DFL);
	CHECK_EQUAL(test_in_child(main_thread_leaves, NULL), 17);
}

static volatile sig_atomic_t taken_by;

static void note_taker(int number)
{
	(void)number;
	taken_by = (sig_atomic_t)syscall(SYS_gettid);
}

static void *takes_signals(void *argument)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	*(volatile pid_t *)argument = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

/* A thread is told of a signal, but blocks it again before it takes it: another thread takes it. */
static void blocked_before_it_is_taken(void)
{
	volatile pid_t other = 0;
	struct pollfd asked;
	sigset_t set, none;
	int ends[2];
	pid_t child;

	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	signal(SIGUSR1, note_taker);
	MUST(pipe(ends));
	test_start(takes_signals, (void *)&other);
	while (!other)
		usleep(1000);
	test_await_sleep(other);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		usleep(20000);
		/* Urgent, so that the parent runs after both. Without permission for that, it may run between. */
		sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
		_exit(write(ends[1], "", 1) != 1 || kill(getppid(), SIGUSR1));
	}
	asked = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	CHECK_EQUAL(ppoll(&asked, 1, NULL, &none), 1);
	CHECK_EQUAL(test_wait(child), 0);
	for (int i = 0; i < 100 && !taken_by; i++)
		usleep(1000);
	CHECK_EQUAL(taken_by, other);
}

static volatile struct {
	pid_t number;
	int taken;
} waiting_for_one[2];

static void *waits_for_one(void *argument)
{
	int mine = (int)(intptr_t)argument;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	waiting_for_one[mine].number = (pid_t)syscall(SYS_gettid);
	/* qemu-ppc interrupts it by signals of its own. */
	do
		waiting_for_one[mine].taken = sigwaitinfo(&set, NULL);
	while (waiting_for_one[mine].taken < 0 && errno == EINTR);
	for (;;)
		pause();
	return NULL;
}

/* Two threads wait for either of two signals, which come together: each thread takes one. */
static void each_takes_one(void)
{
	sigset_t set;
	pid_t child;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	for (int i = 0; i < 2; i++) {
		test_start(waits_for_one, (void *)(intptr_t)i);
		while (!waiting_for_one[i].number)
			usleep(1000);
		test_await_sleep(waiting_for_one[i].number);
	}
	child = (pid_t)MUST(fork());
	if (child == 0) {
		/* Urgent, so that no thread runs before both are sent. Without permission, one may. */
		sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
		_exit(kill(getppid(), SIGUSR1) || kill(getppid(), SIGUSR2));
	}
	CHECK_EQUAL(test_wait(child), 0);
	for (int i = 0; i < 100 && !(waiting_for_one[0].taken > 0 && waiting_for_one[1].taken > 0); i++)
		usleep(1000);
	CHECK_EQUAL(waiting_for_one[0].taken + waiting_for_one[1].taken, SIGUSR1 + SIGUSR2);
}

#define LOCKS 4000

static volatile int *leaving;

/* The end of this thread takes long, because its descriptors are its own. */
static void *end_slowly(void *argument)
{
	struct flock range = { .l_type = F_WRLCK, .l_len = 1 };
	int fd;

	MUST(unshare(CLONE_FILES));
	fd = (int)MUST(memfd_create("locks", 0));
	MUST(ftruncate(fd, 4096));
	for (range.l_start = 0; range.l_start < 2 * LOCKS; range.l_start += 2)
		MUST(fcntl(fd, F_OFD_SETLK, &range));
	/* The other thread runs before this one has ended. */
	MUST(setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19));
	*leaving = 1;
	syscall(SYS_exit, 0);
	return argument;
}

static int stays_while_one_ends(void *argument)
{
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	test_start(end_slowly, argument);
	for (;;)
		pause();
	return 1;
}

/* A process has stopped when all threads have, but one that is ending does not stop. */
static void stopped_while_a_thread_ends(void)
{
	const struct timespec tick = { 0, 200000 };
	pid_t child;
	int status;

	/* Urgent, so that the signal comes during the end. Without permission for that, it may come later. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	leaving = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(leaving != MAP_FAILED);
	child = test_child(stays_while_one_ends, NULL);
	while (!*leaving)
		nanosleep(&tick, NULL);
	MUST(kill(child, SIGSTOP));
	CHECK_EQUAL(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static void *identity(void *argument)
{
	pid_t *ids = argument;

	ids[0] = getpid();
	ids[1] = (pid_t)syscall(SYS_gettid);
	return NULL;
}

static void identities(void)
{
	pid_t ids[2];

	test_join(test_start(identity, ids));
	CHECK_EQUAL(ids[0], getpid());
	CHECK(ids[1] != getpid());
	CHECK_EQUAL(syscall(SYS_gettid), getpid());
	CHECK_ERROR(syscall(SYS_tgkill, getpid(), 99999999, 0), ESRCH);
}

static volatile sig_atomic_t caught_by;

static void note_thread(int number)
{
	(void)number;
	caught_by = (sig_atomic_t)syscall(SYS_gettid);
}

static void *wait_for_signal(void *argument)
{
	*(volatile pid_t *)argument = (pid_t)syscall(SYS_gettid);
	while (!caught_by)
		sched_yield();
	return NULL;
}

static void signal_one_thread(void)
{
	volatile pid_t id = 0;
	pthread_t thread;

	CHECK(signal(SIGUSR1, note_thread) != SIG_ERR);
	thread = test_start(wait_for_signal, (void *)&id);
	while (!id)
		sched_yield();
	CHECK_EQUAL(pthread_kill(thread, SIGUSR1), 0);
	test_join(thread);
	CHECK_EQUAL(caught_by, id);
}

static int fork_in_thread_child(void *argument)
{
	(void)argument;
	return syscall(SYS_gettid) == getpid() ? 31 : 1;
}

static void *fork_in_thread(void *argument)
{
	(void)argument;
	return (void *)(long)test_in_child(fork_in_thread_child, NULL);
}

static void forks_from_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		threads[i] = test_start(fork_in_thread, NULL);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQUAL((long)test_join(threads[i]), 31);
}

/* One thread forks while another signals itself and a child signals the process. No signal and no child must get
 * lost. */
#define RAISES 400

static volatile sig_atomic_t raised, queued;

static void count_raised(int number)
{
	(void)number;
	raised++;
}

static void count_queued(int number)
{
	(void)number;
	queued++;
}

static void *raise_often(void *unused)
{
	for (int i = 0; i < RAISES; i++) {
		CHECK_EQUAL(raise(SIGRTMIN), 0);
		CHECK_EQUAL(raised, i + 1);
	}
	return unused;
}

static void raising_and_forking(void)
{
	struct sigaction action = { .sa_handler = count_raised, .sa_flags = SA_RESTART };
	pthread_t thread;
	int forks = 0;

	MUST(sigaction(SIGRTMIN, &action, NULL));
	action.sa_handler = count_queued;
	MUST(sigaction(SIGRTMIN + 1, &action, NULL));
	CHECK_EQUAL(pthread_create(&thread, NULL, raise_often, NULL), 0);
	for (; raised < RAISES || forks < 20; forks++) {
		pid_t child = (pid_t)MUST(fork());
		int status, before = raised;

		if (child == 0) {
			MUST(kill(getppid(), SIGRTMIN + 1));
			/* The child has one thread only, and no signal that was sent to the other thread arrives
			 * here. */
			before = raised;
			MUST(raise(SIGRTMIN));
			_exit(raised == before + 1 && queued <= forks ? 0 : 1);
		}
		CHECK_EQUAL(waitpid(child, &status, 0), child);
		CHECK_EQUAL(status, 0);
	}
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(raised, RAISES);
	while (queued < forks)
		sched_yield();
	CHECK_EQUAL(queued, forks);
}

static const struct test_case cases[] = {
	CASE(raising_and_forking),
	CASE(create_and_join), CASE(mutex), CASE(thread_local_storage), CASE(condition_variable), CASE(timed_waits),
	CASE(futex_words), CASE(shared_futex), CASE(exit_ends_all_threads), CASE(fatal_signal_ends_all_threads),
	CASE(main_thread_may_leave), CASE(main_thread_leaves_unwatched), CASE(identities), CASE(signal_one_thread),
	CASE(forks_from_threads), CASE(stopped_while_a_thread_ends),
	CASE(blocked_before_it_is_taken), CASE(each_takes_one),
};

TEST_MAIN("thread", cases)
