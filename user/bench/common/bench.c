/* Regions of interest, and the lines that describe them to the lab. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "board.h"
#include "counts.h"
#include "options.h"

enum { REGION_BEGIN = 0x00 / 4, REGION_END = 0x04 / 4, MAGIC = 0x18 / 4 };
#define CONTROL_MAGIC 0x50574c4bu
#define CONTROL_ADDRESS (BOARD_CONTROL + 0x1000ll)
/* Below programs, and far from where the kernel places mappings: what a benchmark maps shares no page table with it. */
#define CONTROL_PLACE   ((void *)0x07f00000)
#define REGIONS_MOST 256

unsigned long bench_iterations, bench_warmup;

static const char *program_name = "bench";
static volatile uint32_t *control;
#define ANY_CPU 8

static unsigned long first_region = 1, heap, cpu = ANY_CPU;
static unsigned int next_region;
static uint64_t nanoseconds[REGIONS_MOST];

/* Maps the control device. On Linux, init says by which file programs reach physical memory; a host that runs this
 * program under an emulator says nothing, and nothing of its memory is touched. */
static void open_control(void)
{
	const char *memory = getenv("PAGEWALK_CONTROL");
	const char *path = memory ? memory : "/dev/pagewalk";
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *page;

	if (fd < 0)
		return;
	page = mmap(CONTROL_PLACE, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, memory ? CONTROL_ADDRESS : 0);
	close(fd);
	if (page == MAP_FAILED)
		bench_die(path);
	control = page;
	if (control[MAGIC] != CONTROL_MAGIC) {
		errno = ENXIO;
		bench_die(path);
	}
}

void bench_bind(unsigned long processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	bench_check(sched_setaffinity(0, sizeof(set), &set), "there is no such processor");
}

void bench_start(const char *program, int argc, char **argv, const struct bench_option *options,
		 unsigned long iterations, unsigned long warmup)
{
	const struct bench_option common[] = {
		BENCH_NUMBER("iterations", &bench_iterations, 1, 1000000000, "measured repetitions"),
		BENCH_NUMBER("warmup", &bench_warmup, 0, 1000000000, "repetitions before measuring"),
		BENCH_NUMBER("heap", &heap, 0, 1 << 28, "bytes of heap that the program has and does not touch"),
		BENCH_NUMBER("cpu", &cpu, 0, ANY_CPU - 1, "the processor that it is bound to, with all its processes"),
		BENCH_WORD("counts", &bench_counts, NULL, "a file of numbers whose change while measuring is printed"),
		BENCH_NUMBER("region", &first_region, 1, 65535, "number of the first region of interest"),
		BENCH_END,
	};

	program_name = program;
	bench_iterations = iterations;
	bench_warmup = warmup;
	bench_parse_options(program, argc, argv, common, options);
	/* Keep a helper process from writing its parent's buffered output a second time. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (cpu != ANY_CPU)
		bench_bind(cpu);
	if (heap)
		bench_check((long)sbrk((intptr_t)heap), "heap");
	open_control();
}

static uint64_t now(void)
{
	struct timespec t;

	bench_check(clock_gettime(CLOCK_MONOTONIC, &t), "clock_gettime");
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

unsigned int bench_region_begin(void)
{
	unsigned int index = next_region++;

	if (index >= REGIONS_MOST) {
		errno = ENOSPC;
		bench_die("regions");
	}
	if (control)
		control[REGION_BEGIN] = first_region + index;
	else
		nanoseconds[index] = now();
	return (unsigned int)first_region + index;
}

void bench_region_again(unsigned int region)
{
	if (control)
		control[REGION_BEGIN] = region;
	else
		nanoseconds[region - first_region] = now() - nanoseconds[region - first_region];
}

void bench_region_end(unsigned int region)
{
	unsigned int index = region - (unsigned int)first_region;

	if (control)
		control[REGION_END] = region;
	else
		nanoseconds[index] = now() - nanoseconds[index];
}

unsigned int bench_measure(bench_work *work, void *context)
{
	unsigned int region;

	if (bench_warmup)
		work(context, bench_warmup);
	bench_counts_begin();
	region = bench_region_begin();
	work(context, bench_iterations);
	bench_region_end(region);
	bench_counts_end();
	return region;
}

void bench_row(const char *name, unsigned int region, unsigned long long count, unsigned long long bytes,
	       enum bench_unit unit, unsigned int minus)
{
	printf("@row name=%s region=%u iterations=%llu bytes=%llu unit=%s", name, region, count, bytes,
	       unit == BENCH_US ? "us" : "mb/s");
	if (minus)
		printf(" minus=%u", minus);
	if (!control)
		printf(" ns=%llu", (unsigned long long)nanoseconds[region - first_region]);
	printf("\n");
	fflush(stdout);
}

void bench_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_name, what, strerror(errno));
	exit(1);
}

long bench_check(long result, const char *what)
{
	if (result == -1)
		bench_die(what);
	return result;
}
