/* Threads on processors of their own that share the measuring thread's memory; or processes, which do not. */
#ifndef PAGEWALK_BENCH_CREW_H
#define PAGEWALK_BENCH_CREW_H

#include <stddef.h>

/* Starts `others` threads and binds them to processors 1, 2, ... and the caller to processor 0. Between two calls of
 * bench_crew_touch they spin in user mode, or sleep if `sleep` is set. */
void bench_crew_start(unsigned long others, int sleep);

/* The same with processes, which spin. Each has the memory of the caller as it is now, and what it maps later is its
 * own. bench_crew_end_processes() ends them. */
void bench_crew_start_processes(unsigned long others);
void bench_crew_end_processes(void);

/* Has each thread, numbered from 1, do a piece of work; bench_crew_wait() waits until all spin or sleep again. */
typedef void bench_piece(void *context, unsigned long number);
void bench_crew_begin(bench_piece *piece, void *context);
void bench_crew_wait(void);

/* Has each thread read every page of the range, so that its TLB holds their translations, and waits. */
void bench_crew_touch(const void *start, size_t bytes);

#endif
