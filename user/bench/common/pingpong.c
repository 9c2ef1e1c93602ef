/* Two processes that pass messages through a pair of descriptors. */
#include "pingpong.h"

#include <string.h>
#include <unistd.h>

#include "bench.h"

struct channel {
	int out, in;
	unsigned long size, total;
	char *buffer;
};

/* A message is no longer than one call of a pipe or socket transfers, so that each message is one call, as in
 * LmBench. */
static inline void send(int to, const char *message, unsigned long size)
{
	if (write(to, message, size) != (ssize_t)size)
		bench_die("write");
}

static inline void receive(int from, char *message, unsigned long size)
{
	if (read(from, message, size) != (ssize_t)size)
		bench_die("read");
}

static void round_trips(void *context, unsigned long count)
{
	struct channel *channel = context;

	while (count--) {
		send(channel->out, channel->buffer, channel->size);
		receive(channel->in, channel->buffer, channel->size);
	}
}

void bench_pingpong(const char *name, int out, int in, int helper_in, int helper_out, unsigned long size)
{
	struct channel channel = { .out = out, .in = in, .size = size, .buffer = bench_memory(size) };
	pid_t helper = (pid_t)bench_check(fork(), "fork");

	if (helper == 0) {
		/* The helper echoes until a signal ends it. */
		for (;;) {
			receive(helper_in, channel.buffer, size);
			send(helper_out, channel.buffer, size);
		}
	}
	bench_row(name, bench_measure(round_trips, &channel), bench_iterations, 0, BENCH_US, 0);
	bench_kill(helper);
}

static void receive_all(void *context, unsigned long count)
{
	struct channel *channel = context;

	while (count--)
		for (unsigned long done = 0; done < channel->total;)
			done += (unsigned long)bench_check(read(channel->in, channel->buffer, channel->size), "read");
}

void bench_stream(const char *name, int from, int to, unsigned long size, unsigned long total, unsigned long offset)
{
	struct channel channel = {
		.in = from, .size = size, .total = total, .buffer = (char *)bench_memory(size + 4096) + offset,
	};
	pid_t helper = (pid_t)bench_check(fork(), "fork");

	if (helper == 0) {
		void *buffer = bench_memory(size);

		for (;;)
			bench_write_all(to, buffer, size);
	}
	bench_row(name, bench_measure(receive_all, &channel), bench_iterations,
		  (unsigned long long)total * bench_iterations, BENCH_MBS, 0);
	bench_kill(helper);
}
