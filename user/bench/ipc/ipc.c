/* ipc: one way of a message between two processes, half of a round trip of synchronous messages. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../common/bench.h"
#include "ipc.h"

#define MESSAGES_EACH 2                 /* there and back */
#define WAITING_MOST  64
#define LIMIT_MOST    1000000000
#define LEAST_NICE    19                /* such a process never preempts the two */

struct side {
	struct ipc_buffers buffers;
	long partner;
	int separate, in_memory;
	uint32_t limit;                 /* microseconds, or IPC_FOREVER */
};

static long invoke(struct side *side, long call, long partner)
{
	long result = ipc_invoke_memory(call, partner, &side->buffers, side->limit);

	if (result < 0) {
		errno = (int)-result;
		bench_die("message");
	}
	return result;
}

/* A message in memory begins with a number of eight bytes; the server adds one to it. */
static void write_number(struct side *side, uint64_t number)
{
	memcpy((void *)side->buffers.send, &number, sizeof(number));
}

static uint64_t read_number(const struct side *side)
{
	uint64_t number;

	memcpy(&number, side->buffers.receive, sizeof(number));
	return number;
}

static inline long invoke_pair(long call, long partner, uint32_t limit, uint32_t word[2])
{
	long result = ipc_invoke_pair(call, partner, limit, word);

	if (result < 0) {
		errno = (int)-result;
		bench_die("message");
	}
	return result;
}

/*
 * What most messages are, two words in registers: no part of them goes through memory. The server adds one to the
 * first.
 */
static inline __attribute__((always_inline)) void pairs_of_words(const struct side *side, int separate,
								 unsigned long count)
{
	uint32_t limit = side->limit, word[2] = { 0, limit };
	long partner = side->partner;

	for (unsigned long i = 0; i < count;) {
		if (separate) {
			invoke_pair(IPC_SEND, partner, limit, word);
			invoke_pair(IPC_RECEIVE, partner, limit, word);
		} else {
			invoke_pair(IPC_CALL, partner, limit, word);
		}
		if (word[0] != ++i || word[1] != limit) {
			errno = EBADMSG;
			bench_die("answer");
		}
	}
}

static inline __attribute__((always_inline)) void serve_pairs(const struct side *side, int separate)
{
	uint32_t limit = side->limit, word[2] = { 0 };
	long client = IPC_ANYONE;

	for (;;) {
		if (separate) {
			if (client != IPC_ANYONE)
				invoke_pair(IPC_SEND, client, limit, word);
			client = invoke_pair(IPC_RECEIVE, IPC_ANYONE, limit, word);
		} else {
			client = invoke_pair(IPC_REPLY_WAIT, client, limit, word);
		}
		word[0]++;
	}
}

static void round_trips(void *context, unsigned long count)
{
	struct side *side = context;

	if (!side->in_memory) {
		if (side->separate)
			pairs_of_words(side, 1, count);
		else
			pairs_of_words(side, 0, count);
		return;
	}
	for (uint64_t i = 0; i < count; i++) {
		write_number(side, i);
		if (side->separate) {
			invoke(side, IPC_SEND, side->partner);
			invoke(side, IPC_RECEIVE, side->partner);
		} else {
			invoke(side, IPC_CALL, side->partner);
		}
		if (read_number(side) != i + 1) {
			errno = EBADMSG;
			bench_die("answer");
		}
	}
}

/* Runs until a signal ends it. Begins with a whole turn, of which fork has left it a part. */
static void serve(struct side *side)
{
	long client = IPC_ANYONE;

	bench_check(sched_yield(), "sched_yield");
	if (!side->in_memory && side->separate)
		serve_pairs(side, 1);
	else if (!side->in_memory)
		serve_pairs(side, 0);
	for (;;) {
		if (!side->separate) {
			client = invoke(side, IPC_REPLY_WAIT, client);
		} else {
			if (client)
				invoke(side, IPC_SEND, client);
			client = invoke(side, IPC_RECEIVE, IPC_ANYONE);
		}
		write_number(side, read_number(side) + 1);
	}
}

/* Says that it is there, waits until the other end of `start` is closed, and computes for ever. */
static void wait_for_processor(const int *there, const int *start)
{
	char byte = 0;

	bench_check(setpriority(PRIO_PROCESS, 0, LEAST_NICE), "setpriority");
	close(start[1]);
	bench_write_all(there[1], &byte, sizeof(byte));
	bench_check(read(start[0], &byte, sizeof(byte)), "read");
	for (;;)
		bench_use(0);
}

/*
 * Starts processes that are ready all the time, and so are in the ready queue. They do not run while the two exchange
 * messages: their nice is the least, and each of the two begins with a whole turn.
 */
static void start_waiting(unsigned long count, pid_t *waiting)
{
	int there[2], start[2];
	char byte;

	if (!count)
		return;
	bench_check(pipe(there), "pipe");
	bench_check(pipe(start), "pipe");
	for (unsigned long i = 0; i < count; i++) {
		waiting[i] = (pid_t)bench_check(fork(), "fork");
		if (waiting[i] == 0)
			wait_for_processor(there, start);
		bench_read_all(there[0], &byte, sizeof(byte));
	}
	bench_check(sched_yield(), "sched_yield");
	close(start[1]);
}

static volatile sig_atomic_t ticked;

static void note_tick(int signal)
{
	(void)signal;
	ticked = 1;
}

/*
 * With a send and a receive, the two are in step if each waits only in its receive. The client gets out of step in two
 * ways. If two ticks in a row have found it computing, the kernel runs the server as soon as the client has sent,
 * before the client waits. And a tick between its send and its receive lets the server run. Then each side waits in its
 * send, until another tick.
 *
 * So the client sleeps, in which time the server begins to wait, and computes until the next tick. That tick finds that
 * the client has slept. The messages that follow have a whole tick (10 ms) before another one comes.
 */
static void come_into_step(void)
{
	const struct itimerval at_tick = { { 0, 0 }, { 0, 1 } };        /* a tick looks whether it is over */

	bench_check(nanosleep(&(struct timespec){ 0, 1000000 }, NULL), "nanosleep");
	if (signal(SIGPROF, note_tick) == SIG_ERR)
		bench_die("signal");
	bench_check(setitimer(ITIMER_PROF, &at_tick, NULL), "setitimer");
	while (!ticked)
		bench_use(0);
}

int main(int argc, char **argv)
{
	const char *by = "registers", *calls = "combined";
	unsigned long size = 8, waiting = 0, limit = 0;
	const struct bench_option options[] = {
		BENCH_WORD("by", &by, "registers|memory", "where a message lies"),
		BENCH_NUMBER("size", &size, 8, IPC_BYTES_MOST, "bytes of a message; in registers: 8"),
		BENCH_WORD("calls", &calls, "combined|separate", "two system calls for a round trip, or four"),
		BENCH_NUMBER("limit", &limit, 0, LIMIT_MOST, "microseconds that a side waits for the other; 0: for ever"),
		BENCH_NUMBER("waiting", &waiting, 0, WAITING_MOST, "processes that wait for the processor meanwhile"),
		BENCH_END,
	};
	struct side side = { { 0 }, 0, 0, 0, IPC_FOREVER };
	pid_t others[WAITING_MOST];

	bench_start("ipc", argc, argv, options, 400, 40);
	side.in_memory = strcmp(by, "memory") == 0;
	side.separate = strcmp(calls, "separate") == 0;
	if (limit)
		side.limit = (uint32_t)limit;
	if (!side.in_memory && size != 8) {
		errno = EINVAL;
		bench_die("size in registers");
	}
	side.buffers.send = bench_memory(size);
	side.buffers.receive = bench_memory(size);
	side.buffers.send_size = side.buffers.receive_size = (uint32_t)size;
	side.partner = bench_check(fork(), "fork");
	if (side.partner == 0)
		serve(&side);
	start_waiting(waiting, others);
	if (side.separate)
		come_into_step();
	bench_row("ipc", bench_measure(round_trips, &side), MESSAGES_EACH * bench_iterations, 0, BENCH_US, 0);
	bench_kill((pid_t)side.partner);
	for (unsigned long i = 0; i < waiting; i++)
		bench_kill(others[i]);
	return 0;
}
