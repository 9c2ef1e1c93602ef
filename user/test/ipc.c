/* The kernel's synchronous messages: who meets whom, what arrives, and that every wait ends. No other system has these
 * calls, so only the kernel can pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "ipc.h"

#define PAGE  4096ul
#define SHORT 20000u            /* microseconds: what somebody else needs to get to its call */
#define ROUNDS 300

static long send_words(long to, uint32_t time, uint32_t a, uint32_t b, uint32_t c)
{
	struct ipc_message message = { .word = { a, b, c } };

	return ipc_invoke(IPC_SEND, to, NULL, time, &message);
}

static long receive_words(long from, uint32_t time, struct ipc_message *message)
{
	return ipc_invoke(IPC_RECEIVE, from, NULL, time, message);
}

static long call_words(long to, uint32_t time, struct ipc_message *message)
{
	return ipc_invoke(IPC_CALL, to, NULL, time, message);
}

static long send_bytes(long to, const void *data, uint32_t size, uint32_t time)
{
	struct ipc_buffers buffers = { .send = data, .send_size = size };
	struct ipc_message message = { { 0 }, 0 };

	return ipc_invoke(IPC_SEND, to, &buffers, time, &message);
}

static long receive_bytes(long from, void *data, uint32_t room, uint32_t time, uint32_t *size)
{
	struct ipc_buffers buffers = { .receive = data, .receive_size = room };
	struct ipc_message message = { { 0 }, 0 };
	long result = ipc_invoke(IPC_RECEIVE, from, &buffers, time, &message);

	*size = message.size;
	return result;
}

/* Lets the other side get to its call: whoever comes first waits for the other. */
static void let_wait(void)
{
	struct timespec pause = { .tv_nsec = SHORT * 1000 };

	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

static char *map(size_t size, int protection)
{
	char *where = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(where != MAP_FAILED);
	return where;
}

static void end(pid_t child)
{
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

/* Words -------------------------------------------------------------------- */

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

static int send_number(void *number)
{
	CHECK_EQUAL(send_words(getppid(), IPC_FOREVER, (uint32_t)(uintptr_t)number, 0, 0), 0);
	return 0;
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

/* A call that had to wait for its receiver waits for the answer from then on: it can be given at once. */
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

/* Two that call each other, and a third that has to get its turns. */
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
	end(counter);
	end(server);
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

/* Who is ready and of a higher priority than the receiver runs before it, however the message is passed. */
static void priorities_hold(void)
{
	uint32_t *flag = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sched_param high = { .sched_priority = 50 }, low = { .sched_priority = 10 };
	struct ipc_message message = { { 0 }, 0 };
	pid_t server, between;

	CHECK(flag != MAP_FAILED);
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

/* Ends of waits -------------------------------------------------------------- */

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
	end(child);
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
	end(child);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

static void signals_interrupt(void)
{
	/* SA_RESTART makes no difference. */
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	pid_t child = test_child(sleep_for_long, NULL), taker = test_child(take_one_and_never_answer, NULL);
	struct ipc_message message = { { 0 }, 0 };

	MUST(sigaction(SIGALRM, &action, NULL));
	for (int call = IPC_SEND; call <= IPC_CALL; call++) {
		ualarm(3000, 0);
		CHECK_EQUAL(ipc_invoke(call, child, NULL, IPC_FOREVER, &message), -EINTR);
		CHECK_EQUAL(alarms, call - IPC_SEND + 1);
	}
	ualarm(3000, 0);
	CHECK_EQUAL(receive_words(IPC_ANYONE, IPC_FOREVER, &message), -EINTR);
	let_wait();
	ualarm(3000, 0);
	CHECK_EQUAL(call_words(taker, IPC_FOREVER, &message), -EINTR);  /* while it waits for the answer */
	CHECK_EQUAL(alarms, 5);
	CHECK_EQUAL(call_words(taker, 0, &message), -EAGAIN);
	end(child);
	end(taker);
}

static int end_soon(void *unused)
{
	(void)unused;
	let_wait();
	return 0;
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
		/* It has not been waited for, and can be met no more. */
		CHECK_EQUAL(ipc_invoke(call, child, NULL, IPC_FOREVER, &message), -ESRCH);
		CHECK_EQUAL(test_wait(child), 0);
		CHECK_EQUAL(ipc_invoke(call, child, NULL, IPC_FOREVER, &message), -ESRCH);
	}
	child = test_child(take_one_and_end, NULL);
	let_wait();
	CHECK_EQUAL(call_words(child, IPC_FOREVER, &message), -ESRCH);
	CHECK_EQUAL(test_wait(child), 0);
	child = test_child(take_one_and_end, NULL);
	CHECK_EQUAL(call_words(child, IPC_FOREVER, &message), -ESRCH);  /* had to wait for its receiver */
	CHECK_EQUAL(test_wait(child), 0);
}

static void a_killed_waiter_is_forgotten(void)
{
	struct ipc_message message = { { 0 }, 0 };
	pid_t sender = test_child(send_number, (void *)1), caller = test_child(call_parent, (void *)2), last;

	let_wait();
	end(sender);
	end(caller);
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

/* Rights ------------------------------------------------------------------- */

static int try_parent(void *unused)
{
	struct ipc_message message = { { 0 }, 0 };

	(void)unused;
	MUST(setresuid(1000, 1000, 1000));
	CHECK_EQUAL(send_words(getppid(), IPC_FOREVER, 0, 0, 0), -EPERM);
	CHECK_EQUAL(call_words(getppid(), IPC_FOREVER, &message), -EPERM);
	/* Who calls has agreed to the answer, whoever gives it. */
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

/* Memory --------------------------------------------------------------------- */

static uint8_t byte_at(uint32_t i, uint32_t seed)
{
	return (uint8_t)(i * 7 + (i >> 8) + seed);
}

static void fill(uint8_t *data, uint32_t size, uint32_t seed)
{
	for (uint32_t i = 0; i < size; i++)
		data[i] = byte_at(i, seed);
}

static void check_filled(const uint8_t *data, uint32_t size, uint32_t seed)
{
	for (uint32_t i = 0; i < size; i++)
		if (data[i] != byte_at(i, seed))
			CHECK_EQUAL(i, -1);
}

static const uint32_t sizes[] = { 1, 8, 31, 4095, 4096, 4097, 16384, IPC_BYTES_MOST };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Sends each size from the end of a mapping, so that nothing behind it may be read. */
static int send_sizes(void *early)
{
	uint8_t *data = (uint8_t *)map(IPC_BYTES_MOST + PAGE, PROT_READ | PROT_WRITE);

	for (uint32_t i = 0; i < SIZES; i++) {
		uint8_t *from = data + IPC_BYTES_MOST + PAGE - sizes[i];

		fill(from, sizes[i], i);
		if (!early)
			let_wait();
		CHECK_EQUAL(send_bytes(getppid(), from, sizes[i], IPC_FOREVER), 0);
		memset(from, 0xee, sizes[i]);
	}
	return 0;
}

static void memory_arrives(void)
{
	for (int early = 0; early < 2; early++) {
		pid_t child = test_child(send_sizes, early ? &early : NULL);
		/* Pages that nobody has touched, and an address that is aligned to nothing. */
		uint8_t *data = (uint8_t *)map(IPC_BYTES_MOST + PAGE, PROT_READ | PROT_WRITE);
		uint32_t size;

		for (uint32_t i = 0; i < SIZES; i++) {
			if (early)
				let_wait();
			CHECK_EQUAL(receive_bytes(child, data + 5, IPC_BYTES_MOST, IPC_FOREVER, &size), child);
			CHECK_EQUAL(size, sizes[i]);
			check_filled(data + 5, sizes[i], i);
			CHECK(!data[4] && !data[5 + sizes[i]]);
			madvise(data, IPC_BYTES_MOST + PAGE, MADV_DONTNEED);
		}
		CHECK_EQUAL(test_wait(child), 0);
	}
}

/* A caller that nobody takes the message of: what it sent is not what it receives. */
static void nothing_arrives_without_an_answer(void)
{
	uint8_t *data = (uint8_t *)map(2 * PAGE, PROT_READ | PROT_WRITE);
	uint8_t *answer = (uint8_t *)map(16 * PAGE, PROT_READ | PROT_WRITE);
	struct ipc_buffers buffers = { data, 2 * PAGE, answer, 16 * PAGE };
	struct ipc_message message = { { 0 }, 0 };
	pid_t child = test_child(end_soon, NULL);

	fill(data, 2 * PAGE, 9);
	CHECK_EQUAL(ipc_invoke(IPC_CALL, child, &buffers, IPC_FOREVER, &message), -ESRCH);
	for (uint32_t i = 0; i < 16 * PAGE; i++)
		CHECK(!answer[i]);
	CHECK_EQUAL(test_wait(child), 0);
	child = test_child(send_number, (void *)1);
	CHECK_EQUAL(receive_bytes(child, answer, 16 * PAGE, IPC_FOREVER, &(uint32_t){ 0 }), child);
	for (uint32_t i = 0; i < 16 * PAGE; i++)
		CHECK(!answer[i]);
	CHECK_EQUAL(test_wait(child), 0);
}

static int echo_bytes(void *unused)
{
	uint8_t *data = (uint8_t *)map(IPC_BYTES_MOST, PROT_READ | PROT_WRITE);
	struct ipc_buffers buffers = { .send = data, .receive = data, .receive_size = IPC_BYTES_MOST };
	struct ipc_message message = { { 0 }, 0 };
	long client = IPC_ANYONE;

	(void)unused;
	for (;;) {
		client = ipc_invoke(IPC_REPLY_WAIT, client, &buffers, IPC_FOREVER, &message);
		CHECK(client > 0);
		buffers.send_size = message.size;
		for (uint32_t i = 0; i < message.size; i++)
			data[i] ^= 0x55;
	}
}

static void calls_carry_memory_both_ways(void)
{
	pid_t server = test_child(echo_bytes, NULL);
	uint8_t *data = (uint8_t *)map(IPC_BYTES_MOST, PROT_READ | PROT_WRITE);
	uint8_t *answer = (uint8_t *)map(IPC_BYTES_MOST, PROT_READ | PROT_WRITE);

	for (uint32_t i = 0; i < SIZES; i++) {
		struct ipc_buffers buffers = { data, sizes[i], answer, IPC_BYTES_MOST };
		struct ipc_message message = { { 0 }, 0 };

		fill(data, sizes[i], i);
		CHECK_EQUAL(ipc_invoke(IPC_CALL, server, &buffers, IPC_FOREVER, &message), server);
		CHECK_EQUAL(message.size, sizes[i]);
		for (uint32_t at = 0; at < sizes[i]; at++)
			answer[at] ^= 0x55;
		check_filled(answer, sizes[i], i);
		check_filled(data, sizes[i], i);
	}
	end(server);
}

static int send_page(void *from)
{
	CHECK_EQUAL(send_bytes(getppid(), from, PAGE, IPC_FOREVER), 0);
	return 0;
}

static void what_is_too_long_is_cut_off(void)
{
	uint8_t *data = (uint8_t *)map(PAGE, PROT_READ | PROT_WRITE), got[100] = { 0 };
	struct ipc_message message = { { 0 }, 0 };
	uint32_t size;
	pid_t child;

	fill(data, PAGE, 3);
	for (int late = 0; late < 2; late++) {
		child = test_child(send_page, data);
		if (late)
			let_wait();
		CHECK_EQUAL(receive_bytes(child, got, 60, IPC_FOREVER, &size), child);
		CHECK_EQUAL(size, PAGE);
		check_filled(got, 60, 3);
		CHECK(!got[60]);
		CHECK_EQUAL(test_wait(child), 0);
		child = test_child(send_page, data);
		if (late)
			let_wait();
		CHECK_EQUAL(receive_words(child, IPC_FOREVER, &message), child);
		CHECK_EQUAL(message.size, PAGE);
		CHECK_EQUAL(test_wait(child), 0);
	}
	CHECK_EQUAL(send_bytes(getppid(), data, IPC_BYTES_MOST + 1, 0), -EMSGSIZE);
}

/* Two pages of which the second is missing. */
static uint8_t *half_missing(void)
{
	uint8_t *data = (uint8_t *)map(2 * PAGE, PROT_READ | PROT_WRITE);

	fill(data, PAGE, 4);
	MUST(munmap(data + PAGE, PAGE));
	return data;
}

static int send_bad_then_good(void *early)
{
	uint8_t *bad = half_missing();

	if (!early)
		let_wait();
	CHECK_EQUAL(send_bytes(getppid(), bad, 2 * PAGE, IPC_FOREVER), -EFAULT);
	CHECK_EQUAL(send_bytes(getppid(), bad, PAGE, IPC_FOREVER), 0);
	return 0;
}

static void a_bad_sender_does_not_disturb_the_receiver(void)
{
	uint8_t *data = (uint8_t *)map(2 * PAGE, PROT_READ | PROT_WRITE);
	uint32_t size;

	for (int early = 0; early < 2; early++) {
		pid_t child = test_child(send_bad_then_good, early ? &early : NULL);

		if (early)
			let_wait();
		CHECK_EQUAL(receive_bytes(IPC_ANYONE, data, 2 * PAGE, IPC_FOREVER, &size), child);
		CHECK_EQUAL(size, PAGE);
		check_filled(data, PAGE, 4);
		CHECK_EQUAL(test_wait(child), 0);
	}
}

static int send_two_pages(void *early)
{
	uint8_t *data = (uint8_t *)map(2 * PAGE, PROT_READ | PROT_WRITE);

	fill(data, 2 * PAGE, 5);
	if (!early)
		let_wait();
	CHECK_EQUAL(send_bytes(getppid(), data, 2 * PAGE, IPC_FOREVER), 0);
	return 0;
}

static void receivers_without_room_fault(void)
{
	uint8_t *readable = (uint8_t *)map(2 * PAGE, PROT_READ), *bad[] = { half_missing(), readable, NULL };
	uint32_t size;

	for (int early = 0; early < 2; early++) {
		for (int i = 0; i < 3; i++) {
			pid_t child = test_child(send_two_pages, early ? &early : NULL);

			if (early)
				let_wait();
			CHECK_EQUAL(receive_bytes(child, bad[i], 2 * PAGE, IPC_FOREVER, &size), -EFAULT);
			CHECK_EQUAL(test_wait(child), 0);
		}
	}
	CHECK(!readable[0] && !readable[PAGE]);
	CHECK_EQUAL(receive_bytes(getppid(), (void *)0xbfffffff, PAGE, 0, &size), -EFAULT);
	CHECK_EQUAL(send_bytes(getppid(), (void *)0xc0000000, PAGE, 0), -EFAULT);
	CHECK_EQUAL(ipc_invoke(IPC_RECEIVE, 0, (void *)8, 0, &(struct ipc_message){ { 0 }, 0 }), -EFAULT);
}

/* Pages that parent and child have in common until one of them writes. */
static void copied_pages_stay_apart(void)
{
	uint8_t *data = (uint8_t *)map(4 * PAGE, PROT_READ | PROT_WRITE);
	pid_t child;
	uint32_t size;

	fill(data, PAGE, 1);
	fill(data + 2 * PAGE, 2 * PAGE, 2);
	child = test_child(send_page, data + 2 * PAGE);
	CHECK_EQUAL(receive_bytes(child, data, PAGE, IPC_FOREVER, &size), child);
	CHECK_EQUAL(test_wait(child), 0);
	check_filled(data, PAGE, 2);
	child = test_child(send_page, data + 2 * PAGE);
	let_wait();
	fill(data + 2 * PAGE, PAGE, 6);
	CHECK_EQUAL(receive_bytes(child, data + 2 * PAGE + 100, PAGE, IPC_FOREVER, &size), child);
	CHECK_EQUAL(test_wait(child), 0);
	check_filled(data + 2 * PAGE, 100, 6);
	check_filled(data + 2 * PAGE + 100, PAGE, 2);
}

/* The same number of a segment on both sides, and the one that a window takes first. */
static int send_from_high(void *unused)
{
	uint8_t *data = mmap((void *)0xb0000000, 2 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	(void)unused;
	CHECK(data != MAP_FAILED);
	fill(data, 2 * PAGE, 7);
	CHECK_EQUAL(send_bytes(getppid(), data, 2 * PAGE, IPC_FOREVER), 0);
	check_filled(data, 2 * PAGE, 7);
	return 0;
}

static void windows_leave_their_segment_as_it_was(void)
{
	static const uint32_t places[] = { 0x20000000, 0x7ffff000, 0xb0000000 };

	for (int n = 0; n < 6; n++) {
		pid_t child = test_child(send_from_high, NULL);
		uint8_t *data = mmap((void *)places[n / 2], 3 * PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		uint32_t size;

		CHECK(data != MAP_FAILED);
		if (n % 2)
			let_wait();
		CHECK_EQUAL(receive_bytes(child, data + 9, 2 * PAGE, IPC_FOREVER, &size), child);
		check_filled(data + 9, 2 * PAGE, 7);
		CHECK(!data[8] && !data[2 * PAGE + 9]);
		CHECK_EQUAL(test_wait(child), 0);
		MUST(munmap(data, 3 * PAGE));
	}
}

/* Threads -------------------------------------------------------------------- */

static volatile long receiver_thread;
static uint8_t thread_data[3 * PAGE];

static void *receive_in_thread(void *unused)
{
	uint32_t size;
	long result;

	(void)unused;
	receiver_thread = syscall(SYS_gettid);
	result = receive_bytes(getpid(), thread_data, sizeof(thread_data), IPC_FOREVER, &size);
	return (void *)(result == getpid() ? (long)size : result);
}

static void threads_of_a_process(void)
{
	uint8_t *data = (uint8_t *)map(2 * PAGE, PROT_READ | PROT_WRITE);
	pthread_t thread;
	void *result;

	fill(data, 2 * PAGE, 8);
	for (int late = 0; late < 2; late++) {
		receiver_thread = 0;
		memset(thread_data, 0, sizeof(thread_data));
		CHECK_EQUAL(pthread_create(&thread, NULL, receive_in_thread, NULL), 0);
		while (!receiver_thread)
			sched_yield();
		if (late)
			let_wait();
		CHECK_EQUAL(send_bytes(receiver_thread, data, 2 * PAGE, IPC_FOREVER), 0);
		CHECK_EQUAL(pthread_join(thread, &result), 0);
		CHECK_EQUAL((long)result, 2 * PAGE);
		check_filled(thread_data, 2 * PAGE, 8);
	}
}

/* Policies --------------------------------------------------------------------- */

/* Where there are no segment registers a window is refused, and the other choice stays. */
static void choose(const char *words)
{
	int file = (int)MUST(open("/proc/policy", O_WRONLY));
	ssize_t n = write(file, words, strlen(words));

	CHECK(n == (ssize_t)strlen(words) || (n == -1 && errno == ENODEV && access("/proc/mmu/segments", F_OK) == -1));
	MUST(close(file));
}

/* A message that waits was begun under one choice and is received under the other. */
static void a_change_of_policy_loses_nothing(void)
{
	static const char *const copy[] = { "ipc.copy=twice", "ipc.copy=window" };
	uint8_t *data = (uint8_t *)map(IPC_BYTES_MOST, PROT_READ | PROT_WRITE);
	char text[4096], *was;
	int file = (int)MUST(open("/proc/policy", O_RDONLY)), windows;
	ssize_t n = MUST(read(file, text, sizeof(text) - 1));

	text[n] = '\0';
	MUST(close(file));
	was = strstr(text, "ipc.copy ");
	CHECK(was != NULL);
	windows = strncmp(was, "ipc.copy window", 15) == 0;
	for (int i = 0; i < 2; i++) {
		pid_t child;
		uint32_t size;

		choose(copy[i]);
		child = test_child(send_two_pages, "");
		let_wait();
		choose(copy[!i]);
		CHECK_EQUAL(receive_bytes(child, data, IPC_BYTES_MOST, IPC_FOREVER, &size), child);
		check_filled(data, 2 * PAGE, 5);
		CHECK_EQUAL(test_wait(child), 0);
	}
	choose(copy[windows]);
}

static const struct test_case cases[] = {
	CASE(words_arrive),
	CASE(receiving_from_one_leaves_others_waiting),
	CASE(calls_are_answered),
	CASE(calls_that_waited_are_answered_at_once),
	CASE(one_server_has_many_clients),
	CASE(callers_starve_nobody),
	CASE(priorities_hold),
	CASE(time_limits),
	CASE(a_time_limit_is_of_the_answer_too),
	CASE(signals_interrupt),
	CASE(a_partner_that_ends_is_told_of),
	CASE(a_killed_waiter_is_forgotten),
	CASE(nobody_to_meet),
	CASE(rights_are_those_of_signals),
	CASE(memory_arrives),
	CASE(nothing_arrives_without_an_answer),
	CASE(calls_carry_memory_both_ways),
	CASE(what_is_too_long_is_cut_off),
	CASE(a_bad_sender_does_not_disturb_the_receiver),
	CASE(receivers_without_room_fault),
	CASE(copied_pages_stay_apart),
	CASE(windows_leave_their_segment_as_it_was),
	CASE(threads_of_a_process),
	CASE(a_change_of_policy_loses_nothing),
};

TEST_MAIN("ipc", cases)
