/*
 * storm: a thread on each processor asks all other processors to flush, in turn for data and for instructions, and no
 * lock keeps the threads apart. Prints how many threads have come to their end: firmware that can lock up in its queues
 * of requests does so here.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../bench/common/bench.h"

#define MOST 8
#define ROUNDS 100
#define PAGES 2
#define PAGE 4096

static pthread_barrier_t begun;

static void *storm(void *argument)
{
	unsigned long number = (unsigned long)argument;
	unsigned char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cpu_set_t processors;

	if (memory == MAP_FAILED)
		bench_die("mmap");
	CPU_ZERO(&processors);
	CPU_SET(number, &processors);
	bench_check(sched_setaffinity(0, sizeof(processors), &processors), "sched_setaffinity");
	pthread_barrier_wait(&begun);
	for (int round = 0; round < ROUNDS; round++) {
		for (int page = 0; page < PAGES; page++)
			*(volatile unsigned char *)(memory + page * PAGE) = 1;
		bench_check(madvise(memory, PAGES * PAGE, MADV_DONTNEED), "madvise");
		bench_check(syscall(SYS_riscv_flush_icache, memory, memory + PAGE, 0), "riscv_flush_icache");
	}
	return NULL;
}

int main(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[MOST];

	if (count > MOST)
		count = MOST;
	pthread_barrier_init(&begun, NULL, (unsigned int)count);
	for (long n = 0; n < count; n++)
		if (pthread_create(&threads[n], NULL, storm, (void *)n) != 0)
			bench_die("pthread_create");
	for (long n = 0; n < count; n++)
		pthread_join(threads[n], NULL);
	printf("storm: %ld threads have ended\n", count);
	return 0;
}
