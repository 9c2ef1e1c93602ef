/* A chain of processes, each of which forks once and ends. Other processes must get their share of the processor. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/attack.h"

#define LINKS 200u
#define LINK_NS 12000000
#define VICTIM_NS 300000000

/* Computes until this process has used `ns` of processor time. */
static void compute(long ns)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec * 1000000000ll + used.tv_nsec < ns);
}

static void chain(volatile uint32_t *links)
{
	while (++*links < LINKS) {
		compute(LINK_NS);
		if (fork())
			_exit(0);
	}
	_exit(0);
}

/* While two processes compute, each gets about half of the time, so the chain cannot get far. */
static void others_go_on(void)
{
	volatile uint32_t *links = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t first;

	CHECK(links != MAP_FAILED);
	compute(VICTIM_NS / 3);	/* uses up its time slice, as a process that has run for a while */
	first = (pid_t)MUST(fork());
	if (first == 0)
		chain(links);
	CHECK_EQUAL(waitpid(first, NULL, 0), first);
	compute(VICTIM_NS);
	CHECK(*links < LINKS / 2);
	while (*links < LINKS)
		usleep(10000);
}

static const struct test_case cases[] = {
	CASE(others_go_on),
};

ATTACK_MAIN("chain", cases)
