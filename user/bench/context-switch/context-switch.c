/* context-switch: a token goes round a ring of processes through pipes; each process adds up an array of `size` bytes
 * before it passes the token on. The row is the time of one hop, less the time of the same pipe operations and
 * additions within one process, as in LmBench's lat_ctx.
 *
 * Without processes= and size= it runs LmBench's classic combinations: 2, 8, 16 processes with 0, 4, 16 KB each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/bench.h"

#define PROCESSES_MOST 64

struct ring {
	unsigned long processes, size;
	int pipes[PROCESSES_MOST][2];
	pid_t helpers[PROCESSES_MOST];
	void *array;
};

/* The same operations without a switch: one process passes the token through every pipe of the ring in turn. */
static void alone(void *context, unsigned long rounds)
{
	struct ring *ring = context;
	int token = 1;

	while (rounds--)
		for (unsigned long i = 0; i < ring->processes; i++) {
			bench_check(write(ring->pipes[i][1], &token, sizeof(token)), "write");
			bench_check(read(ring->pipes[i][0], &token, sizeof(token)), "read");
			bench_use(bench_sum(ring->array, ring->size));
		}
}

static void round_the_ring(void *context, unsigned long rounds)
{
	struct ring *ring = context;
	int token = 1;

	while (rounds--) {
		bench_check(write(ring->pipes[0][1], &token, sizeof(token)), "write");
		bench_check(read(ring->pipes[ring->processes - 1][0], &token, sizeof(token)), "read");
		bench_use(bench_sum(ring->array, ring->size));
	}
}

static void *make_array(unsigned long size)
{
	void *array = NULL;

	if (size) {
		array = malloc(size);
		if (!array)
			bench_die("malloc");
		memset(array, 0, size);
	}
	return array;
}

static void helper(const struct ring *ring, unsigned long self)
{
	int from = ring->pipes[self - 1][0], to = ring->pipes[self][1], token;
	void *array = make_array(ring->size);

	for (unsigned long i = 0; i < ring->processes; i++) {
		if (ring->pipes[i][0] != from)
			close(ring->pipes[i][0]);
		if (ring->pipes[i][1] != to)
			close(ring->pipes[i][1]);
	}
	while (read(from, &token, sizeof(token)) == sizeof(token)) {
		bench_use(bench_sum(array, ring->size));
		if (write(to, &token, sizeof(token)) != sizeof(token))
			break;
	}
	_exit(0);
}

static void measure(unsigned long processes, unsigned long size)
{
	static struct ring ring;
	unsigned int overhead, region;
	char name[64];

	ring.processes = processes;
	ring.size = size;
	ring.array = make_array(size);
	for (unsigned long i = 0; i < processes; i++)
		bench_check(pipe(ring.pipes[i]), "pipe");
	overhead = bench_measure(alone, &ring);
	for (unsigned long i = 1; i < processes; i++) {
		ring.helpers[i] = (pid_t)bench_check(fork(), "fork");
		if (ring.helpers[i] == 0)
			helper(&ring, i);
	}
	region = bench_measure(round_the_ring, &ring);
	for (unsigned long i = 1; i < processes; i++)
		bench_kill(ring.helpers[i]);
	for (unsigned long i = 0; i < processes; i++) {
		close(ring.pipes[i][0]);
		close(ring.pipes[i][1]);
	}
	free(ring.array);

	snprintf(name, sizeof(name), "context-switch-overhead-%lup-%luk", processes, size >> 10);
	bench_row(name, overhead, (unsigned long long)bench_iterations * processes, 0, BENCH_US, 0);
	snprintf(name, sizeof(name), "context-switch-%lup-%luk", processes, size >> 10);
	bench_row(name, region, (unsigned long long)bench_iterations * processes, 0, BENCH_US, overhead);
}

int main(int argc, char **argv)
{
	static const unsigned long all_processes[] = { 2, 8, 16 }, all_sizes[] = { 0, 4 << 10, 16 << 10 };
	const unsigned long unset = ~0ul;
	unsigned long processes = unset, size = unset;
	const struct bench_option options[] = {
		BENCH_NUMBER("processes", &processes, 2, PROCESSES_MOST, "processes in the ring"),
		BENCH_NUMBER("size", &size, 0, 1 << 24, "bytes that each adds up"),
		BENCH_END,
	};

	bench_start("context-switch", argc, argv, options, 50, 5);
	if (processes != unset || size != unset) {
		measure(processes == unset ? 2 : processes, size == unset ? 0 : size);
		return 0;
	}
	for (unsigned int s = 0; s < 3; s++)
		for (unsigned int p = 0; p < 3; p++)
			measure(all_processes[p], all_sizes[s]);
	return 0;
}
