/* The kernel's random numbers: random_u32() and random_bytes() are in lib.h. */
#ifndef RANDOM_H
#define RANDOM_H
#include <types.h>

/* Called at boot with the value of the word seed=<n>, else with a fixed one: equal command lines give equal runs. */
void random_seed(u32 seed);

#endif
