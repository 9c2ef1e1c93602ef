/* Linux before 2.5.8 cannot bind a process to a processor: sched_setaffinity() fails with ENOSYS. */
#ifndef PAGEWALK_SCHED_H
#define PAGEWALK_SCHED_H

#include <sys/types.h>

typedef struct {
	unsigned long bits;
} cpu_set_t;

#define CPU_ZERO(set)         ((set)->bits = 0)
#define CPU_SET(number, set)  ((set)->bits |= 1ul << (number))

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);

#endif
