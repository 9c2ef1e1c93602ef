/* The kernel's synchronous messages: which partners meet, and that every wait ends. No other system has these calls, so
 * only our kernel can pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/rendezvous.h"

#define ROUNDS 300

static int send_to_parent(void *early)
{
	if (!early)
		let_wait();
	CHECK_EQUAL(send_words(getppid(), IPC_FOREVER, 1, 0xffffffff, 0x12345678), 0);
	return 0;
}

static void words_arrive(void)
{
	for (int early = 0; early < 2; early++) {
		pid_t child = test_child(send_to_parent, early ? &early : NULL);
		struct ipc_message message = { { 9, 9, 9 }, 9 };

		if (early)
			let_wait();
		CHECK_EQUAL(receive_words(IPC_ANYONE, IPC_FOREVER, &message), child);
		CHECK_EQUAL(message.word[0], 1);
		CHECK_EQUAL(message.word[1], 0xffffffffu);
		CHECK_EQUAL(message.word[2], 0x12345678);
		CHECK_EQUAL(message.size, 0);
		CHECK_EQUAL(test_wait(child), 0);
	}
}

static void receiving_from_one_leaves_others_waiting(void)
{
	struct ipc_message message = { { 0 }, 0 };
	pid_t first = test_child(send_number, (void *)1), second, third;

	let_wait();
	second = test_child(send_number, (void *)2);
	let_wait();
	third = test_child(send_number, (void *)3);
	let_wait();
	CHECK_EQUAL(receive_words(second, IPC_FOREVER, &message), second);
	CHECK_EQUAL(message.word[0], 2);
	CHECK_EQUAL(receive_words(IPC_ANYONE, IPC_FOREVER, &message), first);
	CHECK_EQUAL(message.word[0], 1);
	CHECK_EQUAL(receive_words(IPC_ANYONE, IPC_FOREVER, &message), third);
	CHECK_EQUAL(message.word[0], 3);
	CHECK_EQUAL(receive_words(IPC_ANYONE, 0, &message), -EAGAIN);
	CHECK_EQUAL(test_wait(first) + test_wait(second) + test_wait(third), 0);
}

static int add_up(void *unused)
{
	struct ipc_message message = { { 0 }, 0 };
	long client = IPC_ANYONE;
	uint32_t sum = 0;

	(void)unused;
	for (;;) {
		client = ipc_invoke(IPC_REPLY_WAIT, client, NULL, IPC_FOREVER, &message);
		CHECK(client > 0);
		if (message.word[0] == 0)
			break;
		sum += message.word[0];
		message.word[1] = sum;
		message.word[2] ^= 0xffffffff;
	}
	CHECK_EQUAL(send_words(client, 0, 0, sum, 0), 0);
	return 0;
}

static void calls_are_answered(void)
{
	pid_t server = test_child(add_up, NULL);
	struct ipc_message message = { { 0 }, 0 };
	uint32_t sum = 0;

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		sum += i;
		message.word[0] = i;
		message.word[2] = i * 7;
		CHECK_EQUAL(call_words(server, IPC_FOREVER, &message), server);
		CHECK_EQUAL(message.word[0], i);
		CHECK_EQUAL(message.word[1], sum);
		CHECK_EQUAL(message.word[2], ~(i * 7));
	}
	message.word[0] = 0;
	CHECK_EQUAL(call_words(server, IPC_FOREVER, &message), server);
	CHECK_EQUAL(message.word[1], sum);
	CHECK_EQUAL(test_wait(server), 0);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

/* The same until no signal has interrupted it. */
static long send_at_last(long to, uint32_t a, uint32_t b, uint32_t c)
{
	long result;

	do {
		result = send_words(to, IPC_FOREVER, a, b, c);
	} while (result == -EINTR);
	return result;
}

static long receive_at_last(long from, struct ipc_message *message)
{
	long result;

	do {
		result = receive_words(from, IPC_FOREVER, message);
	} while (result == -EINTR);
	return result;
}

/* Answers a message's number and the sum of its other words, by a send and a receive. */
static int add_separately(void *unused)
{
	struct ipc_message message = { { 0 }, 0 };
	long client;

	(void)unused;
	while ((client = receive_at_last(IPC_ANYONE, &message)) > 0)
		CHECK_EQUAL(send_at_last(client, message.word[0], message.word[1] + message.word[2], ~0u), 0);
	return 1;
}

static void compute_with_reals(void)
{
	volatile double number = 4;

	CHECK_EQUAL(number + 0.5, 4.5);
}

/* What may happen between a send and the receive of its answer, by number. */
static void meanwhile(uint32_t kind, pid_t server)
{
	char byte;

	switch (kind) {
	case 1:
		let_wait();             /* the answer waits */
		break;
	case 2:
		sched_yield();
		break;
	case 3:
		CHECK_EQUAL(test_in_child(end_soon, NULL), 0);
		break;
	case 4:
		if (test_has_fpu())
			compute_with_reals();
		break;
	case 5:
		MUST(kill(server, SIGSTOP));
		MUST(kill(server, SIGCONT));
		break;
	case 6:
		MUST(setpriority(PRIO_PROCESS, server, 3));
		MUST(setpriority(PRIO_PROCESS, server, 0));
		break;
	case 7:
		test_read_file("/proc/self/stat", &byte, 1);
		break;
	}
}

/* By four calls for a round trip, of which a signal interrupts some, and whatever happens in between. */
static void sends_and_receives_in_turn(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	pid_t server = test_child(add_separately, NULL);

	MUST(sigaction(SIGALRM, &action, NULL));
	for (uint32_t round = 0; round < 4 * ROUNDS; round++) {
		uint32_t kind = round % 10 ? 0 : round / 10 % 8;
		struct ipc_message message = { { 0 }, 0 };

		if (round % 100 == 50)
			ualarm(500, 500);
		if (round % 100 == 70)
			ualarm(0, 0);
		CHECK_EQUAL(send_at_last(server, round, 7, round * 3), 0);
		meanwhile(kind, server);
		CHECK_EQUAL(receive_at_last(round % 2 ? server : IPC_ANYONE, &message), server);
		CHECK(message.word[0] == round && message.word[1] == 7 + round * 3 && message.word[2] == ~0u);
		CHECK_EQUAL(message.size, 0);
	}
	end_child(server);
}

/* A call that had to wait for its receiver then waits for the answer, so the server can answer at once. */
static int call_parent(void *number)
{
	struct ipc_message message = { { (uint32_t)(uintptr_t)number, 0, 0 }, 0 };

	CHECK_EQUAL(call_words(getppid(), IPC_FOREVER, &message), getppid());
	CHECK_EQUAL(message.word[1], message.word[0] + 1);
	return 0;
}

static void calls_that_waited_are_answered_at_once(void)
{
	pid_t clients[4];

	for (uintptr_t i = 0; i < 4; i++)
		clients[i] = test_child(call_parent, (void *)(i * 10));
	let_wait();
	for (uintptr_t i = 0; i < 4; i++) {
		struct ipc_message message = { { 0 }, 0 };
		long client = receive_words(IPC_ANYONE, IPC_FOREVER, &message);

		CHECK(client > 0);
		message.word[1] = message.word[0] + 1;
		CHECK_EQUAL(ipc_invoke(IPC_SEND, client, NULL, 0, &message), 0);
	}
	for (uintptr_t i = 0; i < 4; i++)
		CHECK_EQUAL(test_wait(clients[i]), 0);
}

static int many_calls(void *server)
{
	struct ipc_message message = { { 0 }, 0 };

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		message.word[0] = i;
		message.word[2] = (uint32_t)getpid();
		CHECK_EQUAL(call_words((long)server, IPC_FOREVER, &message), (long)server);
		CHECK_EQUAL(message.word[2], ~(uint32_t)getpid());
	}
	return 0;
}

static void one_server_has_many_clients(void)
{
	pid_t server = test_child(add_up, NULL), clients[5];
	struct ipc_message message = { { 0 }, 0 };

	for (int i = 0; i < 5; i++)
		clients[i] = test_child(many_calls, (void *)(long)server);
	for (int i = 0; i < 5; i++)
		CHECK_EQUAL(test_wait(clients[i]), 0);
	CHECK_EQUAL(call_words(server, IPC_FOREVER, &message), server);
	CHECK_EQUAL(message.word[1], 5u * (ROUNDS * (ROUNDS + 1) / 2));
	CHECK_EQUAL(test_wait(server), 0);
}

/* Two processes that call each other must not keep a third from running. */
static void callers_starve_nobody(void)
{
	volatile uint32_t *count = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t server = test_child(add_up, NULL), counter;
	struct ipc_message message = { { 0 }, 0 };
	struct timespec now, begin;

	CHECK(count != MAP_FAILED);
	counter = MUST(fork());
	for (; counter == 0; ++*count)
		;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		message.word[0] = 1;
		CHECK_EQUAL(call_words(server, IPC_FOREVER, &message), server);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!*count && now.tv_sec - begin.tv_sec < 3);
	CHECK(*count);
	end_child(counter);
	end_child(server);
}

static int answer_flag(void *flag)
{
	struct ipc_message message = { { 0 }, 0 };
	long client = receive_words(IPC_ANYONE, IPC_FOREVER, &message);

	CHECK_EQUAL(send_words(client, 0, *(volatile uint32_t *)flag, 0, 0), 0);
	return 0;
}

static int set_flag(void *flag)
{
	*(volatile uint32_t *)flag = 1;
	return 0;
}

/* A ready process with a higher priority than the receiver runs before the receiver, whichever way the message is
 * passed. */
static void priorities_hold(void)
{
	uint32_t *flag = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sched_param high = { .sched_priority = 50 }, low = { .sched_priority = 10 };
	struct ipc_message message = { { 0 }, 0 };
	const unsigned long one[] = { 1 };
	pid_t server, between;

	CHECK(flag != MAP_FAILED);
	/* On another processor a process runs whatever its priority. */
	MUST(sched_setaffinity(0, sizeof(one), (const void *)one));
	server = test_child(answer_flag, flag);
	let_wait();
	MUST(sched_setscheduler(0, SCHED_FIFO, &high));
	between = test_child(set_flag, flag);
	MUST(sched_setscheduler(between, SCHED_FIFO, &low));
	CHECK_EQUAL(*(volatile uint32_t *)flag, 0);
	CHECK_EQUAL(call_words(server, IPC_FOREVER, &message), server);
	CHECK_EQUAL(message.word[0], 1);
	CHECK_EQUAL(test_wait(between) + test_wait(server), 0);
}

static int sleep_for_long(void *unused)
{
	(void)unused;
	while (pause() == -1)
		;
	return 1;
}

static uint64_t microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void time_limits(void)
{
	pid_t child = test_child(sleep_for_long, NULL);
	struct ipc_message message = { { 0 }, 0 };
	uint64_t begin;

	CHECK_EQUAL(send_words(child, 0, 0, 0, 0), -EAGAIN);
	CHECK_EQUAL(receive_words(child, 0, &message), -EAGAIN);
	CHECK_EQUAL(receive_words(IPC_ANYONE, 0, &message), -EAGAIN);
	CHECK_EQUAL(call_words(child, 0, &message), -EAGAIN);
	CHECK_EQUAL(ipc_invoke(IPC_REPLY_WAIT, child, NULL, IPC_FOREVER, &message), -EAGAIN);
	for (int call = IPC_SEND; call <= IPC_CALL; call++) {
		begin = microseconds();
		CHECK_EQUAL(ipc_invoke(call, child, NULL, 3000, &message), -ETIMEDOUT);
		CHECK(microseconds() - begin >= 3000);
	}
	begin = microseconds();
	CHECK_EQUAL(ipc_invoke(IPC_REPLY_WAIT, IPC_ANYONE, NULL, 3000, &message), -ETIMEDOUT);
	CHECK(microseconds() - begin >= 3000);
	end_child(child);
}

/* A call that the server answers long before its limit. */
static void answered_within(pid_t server, uint32_t limit)
{
	struct ipc_message message = { { 1, 0, 0 }, 0 };

	CHECK_EQUAL(call_words(server, limit, &message), server);
}

/* Whatever a wait left behind among the timers moves no later wait. */
static void a_limit_that_was_not_reached_changes_no_other_wait(void)
{
	pid_t server = test_child(add_up, NULL);
	struct timespec pause_time = { 0, 10000000 };
	struct ipc_message message = { { 0 }, 0 };
	uint64_t begin, passed;

	answered_within(server, 50 * SHORT);
	begin = microseconds();
	CHECK_EQUAL(receive_words(IPC_ANYONE, 3000, &message), -ETIMEDOUT);
	passed = microseconds() - begin;
	CHECK(passed >= 3000 && passed < 40 * SHORT);

	answered_within(server, SHORT);
	begin = microseconds();
	CHECK_EQUAL(receive_words(IPC_ANYONE, 3 * SHORT, &message), -ETIMEDOUT);
	CHECK(microseconds() - begin >= 3 * SHORT);

	answered_within(server, 5000);
	begin = microseconds();
	CHECK_EQUAL(nanosleep(&pause_time, NULL), 0);
	CHECK(microseconds() - begin >= 10000);

	answered_within(server, 50 * SHORT);
	begin = microseconds();
	CHECK_EQUAL(nanosleep(&pause_time, NULL), 0);
	passed = microseconds() - begin;
	CHECK(passed >= 10000 && passed < 40 * SHORT);

	answered_within(server, SHORT);
	message.word[0] = 0;
	CHECK_EQUAL(call_words(server, IPC_FOREVER, &message), server);
	CHECK_EQUAL(test_wait(server), 0);
}

static int take_one_and_never_answer(void *unused)
{
	struct ipc_message message = { { 0 }, 0 };

	(void)unused;
	CHECK(receive_words(IPC_ANYONE, IPC_FOREVER, &message) > 0);
	return sleep_for_long(NULL);
}

static void a_time_limit_is_of_the_answer_too(void)
{
	pid_t child = test_child(take_one_and_never_answer, NULL);
	struct ipc_message message = { { 0 }, 0 };

	CHECK_EQUAL(call_words(child, 3 * SHORT, &message), -ETIMEDOUT);
	end_child(child);
}

/* Alarms again and again until the call returns: the first may come before the wait. */
static long interrupted(long call, long partner)
{
	struct ipc_message message = { { 0 }, 0 };
	long result;

	alarms = 0;
	ualarm(3000, 3000);
	result = ipc_invoke(call, partner, NULL, IPC_FOREVER, &message);
	ualarm(0, 0);
	CHECK(alarms > 0);
	return result;
}

static void signals_interrupt(void)
{
	/* SA_RESTART makes no difference: the call is never restarted. */
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	pid_t child = test_child(sleep_for_long, NULL), taker = test_child(take_one_and_never_answer, NULL);
	struct ipc_message message = { { 0 }, 0 };

	MUST(sigaction(SIGALRM, &action, NULL));
	CHECK_EQUAL(interrupted(IPC_SEND, child), -EINTR);
	CHECK_EQUAL(interrupted(IPC_CALL, child), -EINTR);
	CHECK_EQUAL(interrupted(IPC_RECEIVE, child), -EINTR);
	CHECK_EQUAL(interrupted(IPC_RECEIVE, IPC_ANYONE), -EINTR);
	let_wait();
	CHECK_EQUAL(interrupted(IPC_CALL, taker), -EINTR);      /* while it waits for the answer */
	CHECK_EQUAL(call_words(taker, 0, &message), -EAGAIN);
	end_child(child);
	end_child(taker);
}

static int take_one_and_end(void *unused)
{
	struct ipc_message message = { { 0 }, 0 };

	(void)unused;
	CHECK(receive_words(IPC_ANYONE, IPC_FOREVER, &message) > 0);
	return 0;
}

static void a_partner_that_ends_is_told_of(void)
{
	struct ipc_message message = { { 0 }, 0 };
	pid_t child;

	for (int call = IPC_SEND; call <= IPC_CALL; call++) {
		child = test_child(end_soon, NULL);
		CHECK_EQUAL(ipc_invoke(call, child, NULL, IPC_FOREVER, &message), -ESRCH);
		/* The child is a zombie; no message can be sent to it or received from it. */
		CHECK_EQUAL(ipc_invoke(call, child, NULL, IPC_FOREVER, &message), -ESRCH);
		CHECK_EQUAL(test_wait(child), 0);
		CHECK_EQUAL(ipc_invoke(call, child, NULL, IPC_FOREVER, &message), -ESRCH);
	}
	child = test_child(take_one_and_end, NULL);
	let_wait();
	CHECK_EQUAL(call_words(child, IPC_FOREVER, &message), -ESRCH);
	CHECK_EQUAL(test_wait(child), 0);
	child = test_child(take_one_and_end, NULL);
	CHECK_EQUAL(call_words(child, IPC_FOREVER, &message), -ESRCH);  /* this call had to wait for its receiver */
	CHECK_EQUAL(test_wait(child), 0);
}

static void a_killed_waiter_is_forgotten(void)
{
	struct ipc_message message = { { 0 }, 0 };
	pid_t sender = test_child(send_number, (void *)1), caller = test_child(call_parent, (void *)2), last;

	let_wait();
	end_child(sender);
	end_child(caller);
	last = test_child(send_number, (void *)3);
	CHECK_EQUAL(receive_words(IPC_ANYONE, IPC_FOREVER, &message), last);
	CHECK_EQUAL(message.word[0], 3);
	CHECK_EQUAL(test_wait(last), 0);
	CHECK_EQUAL(receive_words(IPC_ANYONE, 0, &message), -EAGAIN);
}

static void nobody_to_meet(void)
{
	struct ipc_message message = { { 0 }, 0 };

	for (int call = IPC_SEND; call <= IPC_REPLY_WAIT; call++) {
		CHECK_EQUAL(ipc_invoke(call, getpid(), NULL, IPC_FOREVER, &message), -EINVAL);
		CHECK_EQUAL(ipc_invoke(call, -1, NULL, IPC_FOREVER, &message), -EINVAL);
		CHECK_EQUAL(ipc_invoke(call, 32000, NULL, IPC_FOREVER, &message), -ESRCH);
	}
	CHECK_EQUAL(ipc_invoke(IPC_SEND, 0, NULL, IPC_FOREVER, &message), -EINVAL);
	CHECK_EQUAL(ipc_invoke(IPC_CALL, 0, NULL, IPC_FOREVER, &message), -EINVAL);
}

static int try_parent(void *unused)
{
	struct ipc_message message = { { 0 }, 0 };

	(void)unused;
	MUST(setresuid(1000, 1000, 1000));
	CHECK_EQUAL(send_words(getppid(), IPC_FOREVER, 0, 0, 0), -EPERM);
	CHECK_EQUAL(call_words(getppid(), IPC_FOREVER, &message), -EPERM);
	/* A caller agrees to an answer from whichever process gives it. */
	CHECK_EQUAL(receive_words(IPC_ANYONE, IPC_FOREVER, &message), getppid());
	CHECK_EQUAL(send_words(getppid(), IPC_FOREVER, message.word[0] + 1, 0, 0), 0);
	CHECK_EQUAL(send_words(getppid(), IPC_FOREVER, 0, 0, 0), -EPERM);
	return 0;
}

static void rights_are_those_of_signals(void)
{
	pid_t child = test_child(try_parent, NULL);
	struct ipc_message message = { { 5, 0, 0 }, 0 };

	CHECK_EQUAL(receive_words(IPC_ANYONE, SHORT, &message), -ETIMEDOUT);
	message.word[0] = 5;
	CHECK_EQUAL(call_words(child, IPC_FOREVER, &message), child);
	CHECK_EQUAL(message.word[0], 6);
	CHECK_EQUAL(test_wait(child), 0);
}

/* Stores words in /proc/policy. A machine without VSIDs refuses them. */
static void store_vsid(const char *words)
{
	int file = (int)MUST(open("/proc/policy", O_WRONLY));

	if (write(file, words, strlen(words)) < 0)
		CHECK(errno == ENODEV || errno == ENOENT);
	MUST(close(file));
}

/* Other VSIDs begin between two messages of a pair that has exchanged many. */
static void messages_go_on_under_other_vsids(void)
{
	static const char *const choices[] = { "vsid=pid", "vsid=scatter:75", "vsid=pid" };
	char text[8192], was[32] = "";
	pid_t server = test_child(add_up, NULL);
	struct ipc_message message = { { 0 }, 0 };
	const char *line;

	test_read_file("/proc/policy", text, sizeof(text));
	line = strstr(text, "vsid ");
	if (line)
		CHECK_EQUAL(sscanf(line, "vsid %20s", was), 1);
	for (unsigned i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		for (uint32_t k = 1; k <= 20; k++) {
			message.word[0] = k;
			CHECK_EQUAL(call_words(server, IPC_FOREVER, &message), server);
		}
		store_vsid(choices[i]);
		message.word[0] = 5;
		CHECK_EQUAL(call_words(server, IPC_FOREVER, &message), server);
		CHECK_EQUAL(message.word[1], (i + 1) * (20 * 21 / 2 + 5));
	}
	if (line) {
		snprintf(text, sizeof(text), "vsid=%s", was);
		store_vsid(text);
	}
	message.word[0] = 0;
	CHECK_EQUAL(call_words(server, IPC_FOREVER, &message), server);
	CHECK_EQUAL(test_wait(server), 0);
}

static const struct test_case cases[] = {
	CASE(words_arrive),
	CASE(receiving_from_one_leaves_others_waiting),
	CASE(calls_are_answered),
	CASE(sends_and_receives_in_turn),
	CASE(calls_that_waited_are_answered_at_once),
	CASE(one_server_has_many_clients),
	CASE(callers_starve_nobody),
	CASE(priorities_hold),
	CASE(time_limits),
	CASE(a_limit_that_was_not_reached_changes_no_other_wait),
	CASE(a_time_limit_is_of_the_answer_too),
	CASE(signals_interrupt),
	CASE(a_partner_that_ends_is_told_of),
	CASE(a_killed_waiter_is_forgotten),
	CASE(nobody_to_meet),
	CASE(rights_are_those_of_signals),
	CASE(messages_go_on_under_other_vsids),
};

TEST_MAIN("ipc", cases)
