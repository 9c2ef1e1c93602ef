/* The kernel's random numbers: random_u32() and random_bytes() are in lib.h. */
#ifndef RANDOM_H
#define RANDOM_H

#include <types.h>

/* The word seed=<n>, else a fixed seed: the same command line gives the same run. */
void random_seed(u32 seed);

#endif
