/* Files of numbers, such as those of /proc/mmu: lines `name number`, and tables whose first line names the columns and
 * whose other lines begin with a name. And /proc/policy, whose lines end with `counter=number`. */
#ifndef PAGEWALK_BENCH_COUNTS_H
#define PAGEWALK_BENCH_COUNTS_H

/* The file, set by bench_start from counts=; empty for none. */
extern const char *bench_counts;

/* Called before and after the measured work. bench_counts_end() prints how much each number of the file has changed. */
void bench_counts_begin(void);
void bench_counts_end(void);

#endif
