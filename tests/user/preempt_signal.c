/* How long other tasks wait while many timers expire, many signals are sent, or many semaphores change. Uses guest
 * time, so only our kernel can pass. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/threads.h"
#include "common/wait.h"

static int pair[2], go[2];

/* Timers of one moment in a process with many threads, none of which takes their signals. --------------------------*/

#define TIMERS 64
#define SOON 300000000

static timer_t timers[TIMERS];

static void arm_timers(clockid_t clock, int signal)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
	struct itimerspec soon = { 0 };

	test_start_threads();
	for (int i = 0; i < TIMERS; i++)
		MUST(timer_create(clock, &event, &timers[i]));
	MUST(clock_gettime(clock, &soon.it_value));
	soon.it_value.tv_nsec += SOON;
	soon.it_value.tv_sec += soon.it_value.tv_nsec / 1000000000;
	soon.it_value.tv_nsec %= 1000000000;
	for (int i = 0; i < TIMERS; i++)
		MUST(timer_settime(timers[i], TIMER_ABSTIME, &soon, NULL));
}

static void arm_real_timers(void)
{
	arm_timers(CLOCK_MONOTONIC, SIGRTMIN + 2);
}

static void arm_processor_timers(void)
{
	arm_timers(CLOCK_PROCESS_CPUTIME_ID, SIGRTMIN + 2);
}

static void arm_continuing_timers(void)
{
	arm_timers(CLOCK_MONOTONIC, SIGCONT);
}

static void spin_till_expiry(void)
{
	long long begin = test_now();

	while (test_now() - begin < 2 * SOON)
		;
}

/* Sets of as many semaphores as there can be, and processes whose ends adjust them. ---------------------------------*/

#define SEMAPHORES 32000
#define SETS 20
#define ADJUSTERS 60

union semaphores {
	unsigned short *values;
};

static int sets[SETS];

static void make_sets(int count)
{
	MUST(pipe(go));
	for (int i = 0; i < SETS; i++)
		sets[i] = i < count ? (int)MUST(semget(IPC_PRIVATE, SEMAPHORES, 0600)) : -1;
}

/* Adds one to a semaphore of each set, until its end. */
static int adjust_sets(void *unused)
{
	char byte;
	struct sembuf add = { .sem_num = SEMAPHORES - 1, .sem_op = 1, .sem_flg = SEM_UNDO };

	(void)unused;
	MUST(close(go[1]));
	for (int i = 0; i < SETS && sets[i] >= 0; i++)
		MUST(semop(sets[i], &add, 1));
	CHECK_EQUAL(read(go[0], &byte, 1), 0);
	return 0;
}

static void await_adjustments(int value)
{
	while (MUST(semctl(sets[0], SEMAPHORES - 1, GETVAL)) < value)
		usleep(1000);
}

static void end_adjusters(int count)
{
	int status;

	MUST(close(go[1]));
	while (count--) {
		MUST(wait(&status));
		CHECK_EQUAL(status, 0);
	}
	CHECK_EQUAL(semctl(sets[0], SEMAPHORES - 1, GETVAL), 0);
	for (int i = 0; i < SETS && sets[i] >= 0; i++)
		MUST(semctl(sets[i], 0, IPC_RMID));
}

static void adjust_one_often(void)
{
	make_sets(1);
	for (int i = 0; i < ADJUSTERS; i++)
		test_child(adjust_sets, NULL);
	await_adjustments(ADJUSTERS);
}

/* This clears the adjustments. */
static void set_all(void)
{
	static unsigned short values[SEMAPHORES];

	MUST(semctl(sets[0], 0, SETALL, (union semaphores){ values }));
	end_adjusters(ADJUSTERS);
}

static void adjust_many(void)
{
	make_sets(SETS);
	test_child(adjust_sets, NULL);
	await_adjustments(1);
}

static void end_of_one(void)
{
	end_adjusters(1);
}

/* Real-time signals, which are queued and counted, of many processes and of many files. ---------------------------- */

#define SIGNALLED 300
#define TELLING 800

static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	MUST(sigprocmask(SIG_BLOCK, &all, NULL));
	MUST(setpgid(0, 0));
}

static void have_many_processes(void)
{
	char byte;

	block_signals();
	MUST(pipe(go));
	for (int i = 0; i < SIGNALLED; i++)
		if (MUST(fork()) == 0) {
			close(go[1]);
			_exit(read(go[0], &byte, 1) != 0);
		}
}

static void signal_many(void)
{
	MUST(kill(0, SIGRTMIN));
}

static void have_telling_files(void)
{
	char path[32];

	have_many_processes();
	MUST(pipe(pair));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pair[0]);
	for (int i = 0; i < TELLING; i++) {
		int fd = (int)MUST(open(path, O_RDONLY));

		MUST(fcntl(fd, F_SETOWN, getpid()));
		MUST(fcntl(fd, F_SETSIG, SIGRTMIN));
		MUST(fcntl(fd, F_SETFL, O_ASYNC));
	}
}

static void write_to_pipe(void)
{
	CHECK_EQUAL(write(pair[1], "", 1), 1);
}

/* A process ends whose children have a group each: their groups may be orphaned, and they get a signal. */
static void have_many_groups(void)
{
	MUST(pipe(go));
	for (int i = 0; i < SIGNALLED; i++)
		if (MUST(fork()) == 0) {
			MUST(setpgid(0, 0));
			MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
			MUST(write(go[1], "", 1));
			for (;;)
				pause();
		}
	for (int i = 0; i < SIGNALLED; i++) {
		char byte;

		CHECK_EQUAL(read(go[0], &byte, 1), 1);
	}
}

static const struct test_act acts[] = {
	{ "semaphores: all set", adjust_one_often, set_all },
	{ "semaphores: the end", adjust_many, end_of_one },
	{ "signals: to many processes", have_many_processes, signal_many },
	{ "signals: of many files", have_telling_files, write_to_pipe },
	{ "signals: to orphaned groups", have_many_groups, NULL },
	{ "timers: real time", arm_real_timers, spin_till_expiry },
	{ "timers: processor time", arm_processor_timers, spin_till_expiry },
	{ "timers: SIGCONT", arm_continuing_timers, spin_till_expiry },
};

WAIT_MAIN("preempt_signal", acts)
