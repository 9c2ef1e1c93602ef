/*
 * Registers hold nothing of another program: those of a new program, and the floating-point registers of a program
 * beside one that fills them. Each search first finds what it looks for where it must be. qemu-ppc has no ptrace, so
 * only our kernel can pass.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "machine_fill.h"

#define FLOAT_WORDS 128
#define LOOKS 6

static uint32_t count_filled(const uint32_t *words, uint32_t count)
{
	uint32_t filled = 0;

	for (uint32_t i = 0; i < count; i++)
		filled += words[i] == MACHINE_FILLED;
	return filled;
}

static uint32_t general_filled(pid_t child)
{
	uint32_t words[MACHINE_USER_WORDS];

	for (long i = 0; i < MACHINE_USER_WORDS; i++) {
		errno = 0;
		words[i] = (uint32_t)ptrace(PTRACE_PEEKUSER, child, (void *)(4 * i), NULL);
		CHECK_EQUAL(errno, 0);
	}
	return count_filled(words, MACHINE_USER_WORDS);
}

static uint32_t floats_filled(pid_t child)
{
	static uint32_t words[FLOAT_WORDS];

	memset(words, 0, sizeof(words));
	MUST(ptrace(PTRACE_GETFPREGS, child, NULL, words));
	return count_filled(words, FLOAT_WORDS);
}

static int fill_and_stop(void *unused)
{
	(void)unused;
	MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	machine_fill_and_trap(test_has_fpu());
}

static int fill_and_replace(void *unused)
{
	static char *const argv[] = { "hello", NULL }, *const envp[] = { NULL };

	(void)unused;
	MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	machine_fill_and_exec("/bin/hello", argv, envp, test_has_fpu());
}

static pid_t stopped_child(int (*function)(void *))
{
	pid_t child = test_child(function, NULL);
	int status;

	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	return child;
}

static void end(pid_t child)
{
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

/* The control: a program that has filled its registers has them filled. */
static void filled(void)
{
	pid_t child = stopped_child(fill_and_stop);

	CHECK(general_filled(child) >= MACHINE_FILLED_LEAST);
	if (test_has_fpu())
		CHECK(floats_filled(child) >= 16);
	end(child);
}

static void a_new_program_finds_nothing(void)
{
	pid_t child = stopped_child(fill_and_replace);

	CHECK_EQUAL(general_filled(child), 0);
	if (test_has_fpu())
		CHECK_EQUAL(floats_filled(child), 0);
	end(child);
}

static uint32_t own_floats_filled(void)
{
	static uint32_t words[FLOAT_WORDS];

	memset(words, 0, sizeof(words));
	machine_floats_store(words);
	return count_filled(words, FLOAT_WORDS);
}

/* Fills the registers again and again, and uses them. A sleep hands the processor over with them filled. */
static int fill_for_ever(void *ends)
{
	const struct timespec moment = { 0, 100000 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0;; i++) {
		machine_floats_fill();
		if (own_floats_filled() < 16)
			_exit(1);
		if (*(int *)ends && i == 10)
			_exit(0);
		if (i % 3 == 0)
			nanosleep(&moment, NULL);
	}
	return 0;
}

static int look(void)
{
	const struct timespec moment = { 0, 100000 };

	for (int i = 0; i < LOOKS; i++) {
		if (own_floats_filled())
			return 2;
		nanosleep(&moment, NULL);
	}
	return 0;
}

static int become_a_looker(void *unused)
{
	(void)unused;
	execl("/proc/self/exe", "registers", "look", NULL);
	return 3;
}

/* On all processors together, and on one. */
static void others_find_nothing(void)
{
	int never = 0, soon = 1;

	if (!test_has_fpu())
		return;
	for (int together = 0; together < 2; together++) {
		pid_t first = test_child(fill_for_ever, &never), second = test_child(fill_for_ever, &never);

		for (int i = 0; i < 2; i++) {
			pid_t ending = test_child(fill_for_ever, &soon);

			CHECK_EQUAL(test_in_child(become_a_looker, NULL), 0);
			CHECK_EQUAL(test_wait(ending), 0);
			CHECK_EQUAL(test_in_child(become_a_looker, NULL), 0);
		}
		end(first);
		end(second);
		if (!together) {
			cpu_set_t one;

			CPU_ZERO(&one);
			CPU_SET(0, &one);
			MUST(sched_setaffinity(0, sizeof(one), &one));
		}
	}
}

/* A handler changes the registers; the program has them back afterwards. */
static volatile uint32_t in_handler;

static void count_in_handler(int signal)
{
	(void)signal;
	in_handler = own_floats_filled();
}

static void a_signal_keeps_the_registers(void)
{
	if (!test_has_fpu())
		return;
	CHECK(signal(SIGUSR1, count_in_handler) != SIG_ERR);
	machine_floats_fill();
	kill(getpid(), SIGUSR1);
	CHECK(own_floats_filled() >= 16);
}

static const struct test_case cases[] = {
	CASE(filled),
	CASE(a_new_program_finds_nothing),
	CASE(others_find_nothing),
	CASE(a_signal_keeps_the_registers),
};

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "look") == 0)
		return look();
	return test_run("registers", argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
