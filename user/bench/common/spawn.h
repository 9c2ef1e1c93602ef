/* fork, exec, wait. */
#ifndef PAGEWALK_BENCH_SPAWN_H
#define PAGEWALK_BENCH_SPAWN_H

/* Runs a program with standard output closed (LmBench does so to silence it) and waits. Ends the benchmark if the
 * program could not be run (its exit status is 127). */
void bench_spawn(const char *path, char *const argv[]);

#endif
