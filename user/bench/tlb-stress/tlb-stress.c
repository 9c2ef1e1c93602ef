/* tlb-stress: several processes take turns, each with a working set of `pages` pages spread over its address space. In
 * its turn a process touches every page of its set `passes` times. Together the sets are far larger than TLB and hash
 * table, so that the row, the time of one touch, is the cost of translation. Every touch is checked: a page must hold
 * its owner's mark. access=store writes instead of reading. access=execute calls each page, which holds only a return
 * instruction, so that instruction fetches miss too. With shared=1 all processes have the same pages, as with a
 * library; then memory does not limit the number of translations. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/bench.h"
#include "code.h"

#define PAGE 4096ul
#define PROCESSES_MOST 64
#define AREAS 4


static const char *access_kind = "load";
static unsigned long processes = 8, pages = 256, passes = 2, stride = 13, shared;
static int pipes[PROCESSES_MOST][2];

/* Areas far apart, so that several segments are in use. */
static const uintptr_t bases[AREAS] = { 0x20000000, 0x34567000, 0x48000000, 0x5a000000 };

static volatile uint32_t *page_at(unsigned long index)
{
	return (volatile uint32_t *)(bases[index % AREAS] + index / AREAS * stride * PAGE + index * 64 % PAGE);
}

static int executes(void)
{
	return strcmp(access_kind, "execute") == 0;
}

/* Turns the word into an instruction that may be fetched. */
static void make_return(volatile uint32_t *where)
{
	*where = MACHINE_RETURN;
	machine_code_written((const void *)where);
}

static void make_set(uint32_t mark)
{
	unsigned long bytes = (pages / AREAS + 1) * stride * PAGE;
	int kind = shared ? MAP_SHARED : MAP_PRIVATE;

	for (unsigned int i = 0; i < AREAS; i++)
		if (mmap((void *)bases[i], bytes, PROT_READ | PROT_WRITE | (executes() ? PROT_EXEC : 0),
			 kind | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		    MAP_FAILED)
			bench_die("mmap");
	for (unsigned long i = 0; i < pages; i++)
		if (executes())
			make_return(page_at(i));
		else
			*page_at(i) = mark + (uint32_t)i;
}

static uint32_t load_set(uint32_t mark)
{
	uint32_t wrong = 0;

	for (unsigned long i = 0; i < pages; i++)
		wrong += *page_at(i) != mark + (uint32_t)i;
	return wrong;
}

static uint32_t store_set(uint32_t mark)
{
	for (unsigned long i = 0; i < pages; i++)
		*page_at(i) = mark + (uint32_t)i;
	return 0;
}

static uint32_t execute_set(uint32_t mark)
{
	(void)mark;
	for (unsigned long i = 0; i < pages; i++)
		((void (*)(void))(uintptr_t)page_at(i))();
	return 0;
}

static uint32_t (*pass_over_set)(uint32_t mark) = load_set;

/* Touches the whole set; returns the number of pages with wrong contents. */
static uint32_t touch_set(uint32_t mark)
{
	uint32_t wrong = 0;

	for (unsigned long pass = 0; pass < passes; pass++)
		wrong += pass_over_set(mark);
	return wrong;
}

static void helper(unsigned long self)
{
	uint32_t mark = shared ? 0 : (uint32_t)self << 20, wrong;

	if (!shared)
		make_set(mark);
	for (;;) {
		bench_read_all(pipes[self - 1][0], &wrong, sizeof(wrong));
		wrong += touch_set(mark);
		bench_write_all(pipes[self][1], &wrong, sizeof(wrong));
	}
}

static void rounds(void *context, unsigned long count)
{
	while (count--) {
		uint32_t wrong = touch_set(0);

		bench_write_all(pipes[0][1], &wrong, sizeof(wrong));
		bench_read_all(pipes[processes - 1][0], &wrong, sizeof(wrong));
		*(uint32_t *)context += wrong;
	}
}

int main(int argc, char **argv)
{
	const struct bench_option options[] = {
		BENCH_NUMBER("processes", &processes, 2, PROCESSES_MOST, "processes that take turns"),
		BENCH_NUMBER("pages", &pages, 1, 1 << 16, "pages in the working set of each"),
		BENCH_NUMBER("passes", &passes, 1, 1 << 16, "passes over the set in one turn"),
		BENCH_NUMBER("stride", &stride, 1, 64, "pages from one page of an area to its next"),
		BENCH_WORD("access", &access_kind, "load|store|execute", "what a touch is"),
		BENCH_NUMBER("shared", &shared, 0, 1, "1: all processes have the same pages"),
		BENCH_END,
	};
	pid_t helpers[PROCESSES_MOST];
	uint32_t wrong = 0;
	unsigned int region;

	bench_start("tlb-stress", argc, argv, options, 4, 1);
	if (strcmp(access_kind, "store") == 0)
		pass_over_set = store_set;
	else if (executes())
		pass_over_set = execute_set;
	for (unsigned long i = 0; i < processes; i++)
		bench_check(pipe(pipes[i]), "pipe");
	if (shared)
		make_set(0);
	for (unsigned long i = 1; i < processes; i++) {
		helpers[i] = (pid_t)bench_check(fork(), "fork");
		if (helpers[i] == 0)
			helper(i);
	}
	if (!shared)
		make_set(0);
	region = bench_measure(rounds, &wrong);
	for (unsigned long i = 1; i < processes; i++)
		bench_kill(helpers[i]);
	bench_row("tlb-stress", region, (unsigned long long)bench_iterations * processes * pages * passes, 0, BENCH_US,
		  0);
	if (wrong) {
		fprintf(stderr, "tlb-stress: %u pages did not hold their owner's mark\n", wrong);
		return 1;
	}
	return 0;
}
