#ifndef PAGEWALK_TIME_H
#define PAGEWALK_TIME_H

#include <sys/types.h>

#define CLOCK_MONOTONIC 1

struct timespec {
	time_t tv_sec;
	long tv_nsec;
};

/* The time of day: older kernels have no other clock. */
int clock_gettime(int clock, struct timespec *now);
int nanosleep(const struct timespec *wanted, struct timespec *left);

#endif
