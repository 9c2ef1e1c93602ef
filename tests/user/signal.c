/* Signals: delivery, masks, frames, alternate stacks, queues. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/check.h"
#include "machine.h"

static volatile sig_atomic_t count, last, nested, order[8], order_length;
static volatile siginfo_t last_info;
static volatile uintptr_t handler_stack;

static void counting(int number)
{
	count++;
	last = number;
}

static void with_info(int number, siginfo_t *info, void *context)
{
	(void)context;
	count++;
	last = number;
	*(siginfo_t *)&last_info = *info;
}

static void install(int number, void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	MUST(sigaction(number, &action, NULL));
}

static void handled(void)
{
	install(SIGUSR1, counting, 0);
	for (int i = 1; i <= 100; i++) {
		MUST(raise(SIGUSR1));
		CHECK_EQUAL(count, i);
	}
	CHECK_EQUAL(last, SIGUSR1);
}

static int defaults(void *argument)
{
	MUST(kill(getpid(), *(int *)argument));
	return 0;
}

static void default_actions(void)
{
	static const int kill_by[] = { SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGPIPE, SIGALRM, SIGKILL, SIGSEGV };
	static const int ignored[] = { SIGCHLD, SIGURG, SIGWINCH, SIGCONT };

	for (unsigned int i = 0; i < sizeof(kill_by) / sizeof(kill_by[0]); i++)
		CHECK_EQUAL(test_in_child(defaults, (void *)&kill_by[i]), 1000 + kill_by[i]);
	for (unsigned int i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		CHECK_EQUAL(test_in_child(defaults, (void *)&ignored[i]), 0);
}

static void blocked_until_unblocked(void)
{
	sigset_t set, old, pending;

	install(SIGUSR1, counting, 0);
	install(SIGUSR2, counting, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	MUST(sigprocmask(SIG_BLOCK, &set, &old));
	MUST(raise(SIGUSR1));
	MUST(raise(SIGUSR1));
	CHECK_EQUAL(count, 0);
	MUST(sigpending(&pending));
	CHECK(sigismember(&pending, SIGUSR1));
	CHECK(!sigismember(&pending, SIGUSR2));
	MUST(sigprocmask(SIG_SETMASK, &old, NULL));
	/* A standard signal sent twice while blocked is delivered once. */
	CHECK_EQUAL(count, 1);
}

static void ignored_are_gone(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	MUST(raise(SIGUSR1));
	install(SIGUSR1, SIG_IGN, 0);
	install(SIGUSR1, counting, 0);
	MUST(sigprocmask(SIG_UNBLOCK, &set, NULL));
	CHECK_EQUAL(count, 0);
}

static void real_time_signals_queue(void)
{
	struct sigaction action;
	sigset_t set;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = with_info;
	action.sa_flags = SA_SIGINFO;
	MUST(sigaction(SIGRTMIN, &action, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 5; i++)
		MUST(sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i }));
	CHECK_EQUAL(count, 0);
	MUST(sigprocmask(SIG_UNBLOCK, &set, NULL));
	CHECK_EQUAL(count, 5);
	CHECK_EQUAL(last_info.si_value.sival_int, 4);
	CHECK_EQUAL(last_info.si_code, SI_QUEUE);
	CHECK_EQUAL(last_info.si_pid, getpid());
}

static void inner(int number)
{
	order[order_length++] = number;
}

static void outer(int number)
{
	order[order_length++] = number;
	raise(SIGUSR1); /* its own signal: masked while it runs */
	raise(SIGUSR2); /* in its sa_mask */
	raise(SIGWINCH); /* not masked */
	order[order_length++] = -number;
	install(SIGUSR1, inner, 0);
}

static void mask_in_handler(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = outer;
	sigaddset(&action.sa_mask, SIGUSR2);
	MUST(sigaction(SIGUSR1, &action, NULL));
	install(SIGUSR2, inner, 0);
	install(SIGWINCH, inner, 0);
	MUST(raise(SIGUSR1));
	CHECK_EQUAL(order_length, 5);
	CHECK_EQUAL(order[0], SIGUSR1);
	CHECK_EQUAL(order[1], SIGWINCH);
	CHECK_EQUAL(order[2], -SIGUSR1);
	/* The two waiting signals come afterwards, in an order that the kernel chooses. */
	CHECK_EQUAL(order[3] + order[4], SIGUSR1 + SIGUSR2);
}

static void reset_hand(void)
{
	struct sigaction now;

	install(SIGUSR1, counting, SA_RESETHAND);
	MUST(raise(SIGUSR1));
	CHECK_EQUAL(count, 1);
	MUST(sigaction(SIGUSR1, NULL, &now));
	CHECK(now.sa_handler == SIG_DFL);
}

static void raise_self(int number)
{
	if (++count < 3)
		raise(number);
	if (count > nested)
		nested = count;
}

static void no_defer(void)
{
	install(SIGUSR1, raise_self, SA_NODEFER);
	MUST(raise(SIGUSR1));
	CHECK_EQUAL(count, 3);
	CHECK_EQUAL(nested, 3);
}

static void waits_are_interrupted(void)
{
	int ends[2];
	char byte;
	struct itimerval soon = { { 0, 0 }, { 0, 20000 } };

	MUST(pipe(ends));
	install(SIGALRM, counting, 0);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	CHECK_ERROR(read(ends[0], &byte, 1), EINTR);
	CHECK_EQUAL(count, 1);
	CHECK_EQUAL(last, SIGALRM);
}

static int write_later(void *argument)
{
	usleep(100000);
	return write(*(int *)argument, "x", 1) == 1 ? 0 : 1;
}

static void waits_are_restarted(void)
{
	int ends[2];
	char byte;
	struct itimerval soon = { { 0, 0 }, { 0, 20000 } };
	pid_t child;

	MUST(pipe(ends));
	install(SIGALRM, counting, SA_RESTART);
	child = test_child(write_later, &ends[1]);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	CHECK_EQUAL(MUST(read(ends[0], &byte, 1)), 1);
	CHECK_EQUAL(count, 1);
	CHECK_EQUAL(test_wait(child), 0);
}

static void pause_and_suspend(void)
{
	struct itimerval soon = { { 0, 0 }, { 0, 20000 } };
	sigset_t block, none;

	install(SIGALRM, counting, 0);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	CHECK_ERROR(pause(), EINTR);
	CHECK_EQUAL(count, 1);
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	MUST(sigprocmask(SIG_BLOCK, &block, NULL));
	MUST(raise(SIGALRM));
	CHECK_EQUAL(count, 1);
	CHECK_ERROR(sigsuspend(&none), EINTR);
	CHECK_EQUAL(count, 2);
	MUST(sigprocmask(SIG_BLOCK, NULL, &none));
	CHECK(sigismember(&none, SIGALRM));
}

static void timed_wait(void)
{
	struct timespec soon = { 0, 10000000 };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	CHECK_ERROR(sigtimedwait(&set, &info, &soon), EAGAIN);
	MUST(raise(SIGUSR1));
	CHECK_EQUAL(sigtimedwait(&set, &info, &soon), SIGUSR1);
	CHECK_EQUAL(info.si_signo, SIGUSR1);
	CHECK_EQUAL(info.si_pid, getpid());
}

static void note_stack(int number)
{
	int here;

	last = number;
	handler_stack = (uintptr_t)&here;
}

static void alternate_stack(void)
{
	size_t size = 64 << 10;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = memory, .ss_size = size }, old;

	CHECK(memory != MAP_FAILED);
	MUST(sigaltstack(&stack, NULL));
	MUST(sigaltstack(NULL, &old));
	CHECK(old.ss_sp == memory && old.ss_size == size);
	install(SIGUSR1, note_stack, SA_ONSTACK);
	MUST(raise(SIGUSR1));
	CHECK(handler_stack > (uintptr_t)memory && handler_stack < (uintptr_t)memory + size);
	install(SIGUSR1, note_stack, 0);
	MUST(raise(SIGUSR1));
	CHECK(!(handler_stack > (uintptr_t)memory && handler_stack < (uintptr_t)memory + size));
	stack.ss_size = 100;
	CHECK_ERROR(sigaltstack(&stack, NULL), ENOMEM);
	stack.ss_flags = 77;
	CHECK_ERROR(sigaltstack(&stack, NULL), EINVAL);
	stack.ss_flags = SS_DISABLE | SS_ONSTACK;
	CHECK_ERROR(sigaltstack(&stack, NULL), EINVAL);
}

/* A handler must not change registers, condition fields or floating point of the interrupted program. */
static void use_registers(int number)
{
	volatile double a = 1.0;

	(void)number;
	for (int i = 0; i < 50 && test_has_fpu(); i++)
		a = a * 1.5 + i;
	count++;
}

static void registers_survive(void)
{
	volatile double x = 1.0, y = 1.0;
	unsigned int h = 1, g = 1;
	int fpu = test_has_fpu();

	install(SIGUSR1, use_registers, 0);
	for (int i = 0; i < 200; i++) {
		if (fpu)
			x = x * 1.0001 + 0.25;
		h = h * 31 + (unsigned int)i;
		if (i % 10 == 0)
			raise(SIGUSR1);
	}
	for (int i = 0; i < 200; i++) {
		if (fpu)
			y = y * 1.0001 + 0.25;
		g = g * 31 + (unsigned int)i;
	}
	CHECK(!fpu || x == y);
	CHECK_EQUAL(h, g);
	CHECK_EQUAL(count, 20);
}

static sigjmp_buf back;

static void jump_out(int number)
{
	siglongjmp(back, number);
}

static void long_jumps(void)
{
	install(SIGSEGV, jump_out, 0);
	for (volatile int i = 0; i < 10; i++) {
		if (sigsetjmp(back, 1) == 0) {
			machine_store((void *)8, 8);
			CHECK(0 && "a store to address 8 goes through");
		}
		count++;
	}
	CHECK_EQUAL(count, 10);
}

/* A handler changes the context that it returns to: it skips the faulting instruction. */
static unsigned skipped;

static void step_over(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	machine_skip(context, skipped);
	count++;
}

static void context_can_be_changed(void)
{
	struct sigaction action;
	uint32_t value = 5;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = step_over;
	action.sa_flags = SA_SIGINFO;
	MUST(sigaction(SIGSEGV, &action, NULL));
	skipped = MACHINE_LOAD_SIZE;
	value = machine_load_fault(value);
	CHECK_EQUAL(count, 1);
	CHECK_EQUAL(value, 5);
}

static void illegal_instruction(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = step_over;
	action.sa_flags = SA_SIGINFO;
	MUST(sigaction(SIGILL, &action, NULL));
	MUST(sigaction(SIGTRAP, &action, NULL));
	MUST(sigaction(MACHINE_PRIVILEGED_SIGNAL, &action, NULL));
	skipped = MACHINE_ILLEGAL_SIZE;
	machine_illegal();
	CHECK_EQUAL(count, 1);
	skipped = MACHINE_PRIVILEGED_SIZE;
	machine_privileged();
	CHECK_EQUAL(count, 2);
	skipped = MACHINE_TRAP_SIZE;
	machine_trap();
	CHECK_EQUAL(count, 3);
}

static void child_signal(void)
{
	struct sigaction action;
	int status = 3;
	sigset_t set, old;
	pid_t child;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = with_info;
	action.sa_flags = SA_SIGINFO;
	MUST(sigaction(SIGCHLD, &action, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	MUST(sigprocmask(SIG_BLOCK, &set, &old));
	child = (pid_t)MUST(fork());
	if (child == 0)
		_exit(3);
	while (count == 0)
		sigsuspend(&old);
	CHECK_EQUAL(last_info.si_pid, child);
	CHECK_EQUAL(last_info.si_status, 3);
	CHECK_EQUAL(last_info.si_code, CLD_EXITED);
	CHECK_EQUAL(waitpid(child, &status, 0), child);
}

static void ignored_children_vanish(void)
{
	pid_t child;

	install(SIGCHLD, SIG_IGN, 0);
	child = (pid_t)MUST(fork());
	if (child == 0)
		_exit(3);
	CHECK_ERROR(waitpid(child, NULL, 0), ECHILD);
}

static int waits_for_ever(void *argument)
{
	(void)argument;
	/* So that it does not run before both signals are there. */
	MUST(nice(10));
	for (;;)
		pause();
	return 0;
}

/* A stop signal to the thread comes first, but the process ends. */
static void killed_before_it_stops(void)
{
	pid_t child = test_child(waits_for_ever, NULL);

	usleep(10000);
	MUST(syscall(SYS_tgkill, child, child, SIGSTOP));
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static void inherited(void)
{
	sigset_t set;
	pid_t child;

	install(SIGUSR1, counting, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	MUST(raise(SIGUSR2));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		sigset_t now;

		raise(SIGUSR1);
		sigprocmask(SIG_BLOCK, NULL, &now);
		if (count != 1 || !sigismember(&now, SIGUSR2))
			_exit(1);
		/* Pending signals are not inherited. */
		sigpending(&now);
		_exit(sigismember(&now, SIGUSR2) ? 2 : 0);
	}
	CHECK_EQUAL(test_wait(child), 0);
	CHECK_EQUAL(count, 0);
}

static void arguments(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = counting;
	CHECK_ERROR(sigaction(SIGKILL, &action, NULL), EINVAL);
	CHECK_ERROR(sigaction(SIGSTOP, &action, NULL), EINVAL);
	CHECK_ERROR(sigaction(65, &action, NULL), EINVAL);
	CHECK_ERROR(kill(getpid(), 65), EINVAL);
	CHECK_ERROR(kill(getpid(), -1), EINVAL);
}

static void group_signals(void)
{
	enum { CHILDREN = 4 };
	pid_t leader = 0, children[CHILDREN];

	for (int i = 0; i < CHILDREN; i++) {
		children[i] = (pid_t)MUST(fork());
		if (children[i] == 0) {
			setpgid(0, leader);
			for (;;)
				pause();
		}
		if (i == 0)
			leader = children[0];
		MUST(setpgid(children[i], leader));
	}
	MUST(kill(-leader, SIGTERM));
	for (int i = 0; i < CHILDREN; i++)
		CHECK_EQUAL(test_wait(children[i]), 1000 + SIGTERM);
	CHECK_ERROR(kill(-leader, 0), ESRCH);
}

#if MACHINE_SWAPS_CONTEXTS
static ucontext_t outside, inside;
static int visits;

static void visitor(void)
{
	visits++;
	MUST(swapcontext(&inside, &outside));
	visits += 10;
}

static void contexts_are_swapped(void)
{
	static char stack[65536];
	volatile int times = 0;
	sigset_t set, now;

	MUST(getcontext(&outside));
	if (times++ == 0)
		setcontext(&outside);
	CHECK_EQUAL(times, 2);
	MUST(getcontext(&inside));
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	makecontext(&inside, visitor, 0);
	MUST(swapcontext(&outside, &inside));
	CHECK_EQUAL(visits, 1);
	/* The signal mask is part of the context. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	MUST(swapcontext(&outside, &inside));
	CHECK_EQUAL(visits, 11);
	MUST(sigprocmask(SIG_BLOCK, NULL, &now));
	CHECK(sigismember(&now, SIGUSR1));
}
#endif

static const struct test_case cases[] = {
	CASE(handled), CASE(default_actions), CASE(blocked_until_unblocked), CASE(ignored_are_gone),
	CASE(real_time_signals_queue), CASE(mask_in_handler), CASE(reset_hand), CASE(no_defer),
	CASE(waits_are_interrupted), CASE(waits_are_restarted), CASE(pause_and_suspend), CASE(timed_wait),
	CASE(alternate_stack), CASE(registers_survive), CASE(long_jumps), CASE(context_can_be_changed),
	CASE(illegal_instruction), CASE(child_signal), CASE(ignored_children_vanish), CASE(inherited),
	CASE(arguments), CASE(group_signals), CASE(killed_before_it_stops),
#if MACHINE_SWAPS_CONTEXTS
	CASE(contexts_are_swapped),
#endif
};

TEST_MAIN("signal", cases)
