/*
 * events CODE...: counts one event after another by perf_event_open while it reads one byte of each of many pages.
 * There is a region of interest for each. A code is what perf calls a raw event, in hexadecimal; with f before it, an
 * event of the firmware. Prints the code and the count.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../bench/common/bench.h"

#define PAGES 1024
#define ROUNDS 4
#define FIRMWARE (1ull << 63)

static unsigned char *memory;

static void work(uint64_t code)
{
	for (int round = 0; round < ROUNDS; round++)
		for (int page = 0; page < PAGES; page++)
			bench_use(*(volatile unsigned char *)(memory + page * 4096 + page % 64 * 64));
	/* Linux asks the firmware to set a timer at each tick. */
	if (code & FIRMWARE)
		for (clock_t end = clock() + CLOCKS_PER_SEC / 40; clock() < end;)
			continue;
}

static uint64_t count(uint64_t code)
{
	struct perf_event_attr event;
	uint64_t found = 0;
	unsigned int region;
	int file;

	memset(&event, 0, sizeof(event));
	event.size = sizeof(event);
	event.type = PERF_TYPE_RAW;
	event.config = code;
	event.disabled = 1;
	file = (int)bench_check(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0), "perf_event_open");
	region = bench_region_begin();
	bench_check(ioctl(file, PERF_EVENT_IOC_ENABLE, 0), "enable");
	work(code);
	bench_check(ioctl(file, PERF_EVENT_IOC_DISABLE, 0), "disable");
	bench_region_end(region);
	if (read(file, &found, sizeof(found)) != sizeof(found))
		bench_die("read");
	close(file);
	return found;
}

int main(int argc, char **argv)
{
	memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		bench_die("mmap");
	memset(memory, 1, PAGES * 4096);
	bench_start("events", 1, argv, NULL, 1, 0);
	for (int i = 1; i < argc; i++) {
		int firmware = argv[i][0] == 'f';
		uint64_t code = strtoull(argv[i] + firmware, NULL, 16);

		printf("%s %llu\n", argv[i], (unsigned long long)count(firmware ? code | FIRMWARE : code));
	}
	return 0;
}
