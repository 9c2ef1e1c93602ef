/* fork, exec, wait. */
#ifndef PAGEWALK_BENCH_SPAWN_H
#define PAGEWALK_BENCH_SPAWN_H

/* Runs a program with standard output closed (LmBench's way of keeping it silent) and waits; ends the benchmark when
 * the program could not be run (its exit status is 127). */
void bench_spawn(const char *path, char *const argv[]);

#endif
