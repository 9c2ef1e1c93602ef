/* Shared by the benchmark rows: parameters, regions of interest and the @row lines (docs/interfaces.md, 2 and 8).
 *
 * A row encloses its work in a region of the control device, so that the machine counts cycles and events inside of it.
 * Where there is no control device (Linux, QEMU) the row reads the clock instead and its line carries ns=. */
#ifndef PAGEWALK_BENCH_H
#define PAGEWALK_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum bench_unit { BENCH_US, BENCH_MBS };

/* A parameter `name=value` of the program: a number (k, m suffixes), or a word when `word` is set. */
struct bench_option {
	const char *name;
	unsigned long *number;
	unsigned long least, most;
	const char **word;
	const char *choices; /* "a|b|c", or NULL for any word */
	const char *meaning;
};

#define BENCH_NUMBER(name_, where, least_, most_, meaning_) \
	{ .name = (name_), .number = (where), .least = (least_), .most = (most_), .meaning = (meaning_) }
#define BENCH_WORD(name_, where, choices_, meaning_) \
	{ .name = (name_), .word = (where), .choices = (choices_), .meaning = (meaning_) }
#define BENCH_END { .name = NULL }

/* Set by bench_start from iterations= and warmup=. */
extern unsigned long bench_iterations, bench_warmup;

/* Reads the parameters and opens the control device. `iterations` and `warmup` are the defaults. */
void bench_start(const char *program, int argc, char **argv, const struct bench_option *options,
		 unsigned long iterations, unsigned long warmup);

/* One piece of work that is measured: does it `count` times. */
typedef void bench_work(void *context, unsigned long count);

/* Begins the next region; returns its number. */
unsigned int bench_region_begin(void);
void bench_region_end(unsigned int region);
/* Continues a region that has ended. Its counts are the sum of its parts. */
void bench_region_again(unsigned int region);

/* Warms up, then does the work bench_iterations times in a region of its own; returns the region. */
unsigned int bench_measure(bench_work *work, void *context);

/* Prints the row of a region: `count` operations, or `bytes` moved. If `minus` is not 0, the time of one operation in
 * that region is subtracted (the cost of the benchmark itself, as LmBench does). */
void bench_row(const char *name, unsigned int region, unsigned long long count, unsigned long long bytes,
	       enum bench_unit unit, unsigned int minus);

/* Ends the program with a message: "<program>: <what>: <errno's text>". */
void bench_die(const char *what) __attribute__((noreturn));
/* Returns `result`; ends the program if the call failed. */
long bench_check(long result, const char *what);

/* Reads and adds up every word, as a program that uses the data. */
unsigned int bench_sum(const void *buffer, size_t bytes);
/* Keeps the compiler from removing the computation of a result. */
void bench_use(unsigned int value);
/* Page-aligned memory; every page has been written once. */
void *bench_memory(size_t bytes);
/* Makes a file of `bytes` bytes and returns its path (static storage). */
const char *bench_file(const char *name, size_t bytes);
/* Reads or writes exactly `bytes` bytes. */
void bench_read_all(int fd, void *buffer, size_t bytes);
void bench_write_all(int fd, const void *buffer, size_t bytes);
/* Prints the numbers of a file such as /proc/mmu/hash as values (docs/experiments.md): of a line `name number` under
 * that name, of a table under `row.column`. */
void bench_report(const char *path);
/* Binds the calling thread, and what it starts, to a processor. */
void bench_bind(unsigned long processor);
/* Ends a helper process. */
void bench_kill(pid_t pid);

#endif
