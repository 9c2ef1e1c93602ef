/* Scheduling and barriers (uapi linux/sched.h, linux/sched/types.h, linux/membarrier.h, linux/ioprio.h). */
#ifndef ABI_SCHED_H
#define ABI_SCHED_H
#include <types.h>

#define SCHED_NORMAL 0u
#define SCHED_FIFO   1u
#define SCHED_RR     2u
#define SCHED_BATCH  3u
#define SCHED_IDLE   5u
#define SCHED_RESET_ON_FORK 0x40000000u      /* or-ed to the policy */

#define PRIO_PROCESS 0
#define PRIO_PGRP    1
#define PRIO_USER    2

/* uapi linux/sched/types.h. The times are for the deadline policy, which is not offered. */
struct sched_attr {
	u32 size, policy;
	u64 flags;
	s32 nice;
	u32 priority;
	u64 runtime, deadline, period;
	u32 util_min, util_max;         /* not in the first version; for SCHED_FLAG_UTIL_CLAMP */
};
#define SCHED_ATTR_SIZE_FIRST 48u
#define SCHED_ATTR_SIZE       56u
#define SCHED_FLAG_RESET_ON_FORK 0x01u
#define SCHED_FLAG_KEEP_POLICY   0x08u
#define SCHED_FLAG_KEEP_PARAMS   0x10u
#define SCHED_FLAG_UTIL_CLAMP    0x60u  /* not offered */
/* With SCHED_FLAG_RECLAIM and SCHED_FLAG_DL_OVERRUN, which mean something for the deadline policy only. */
#define SCHED_FLAGS              0x7fu
_Static_assert(sizeof(struct sched_attr) == SCHED_ATTR_SIZE, "struct sched_attr");

#define MEMBARRIER_QUERY                      0
#define MEMBARRIER_GLOBAL                     1
#define MEMBARRIER_GLOBAL_EXPEDITED           2
#define MEMBARRIER_REGISTER_GLOBAL_EXPEDITED  4
#define MEMBARRIER_PRIVATE_EXPEDITED          8
#define MEMBARRIER_REGISTER_PRIVATE_EXPEDITED 16
#define MEMBARRIER_ALL                        31

/* An I/O priority: class, hints, and level. */
#define IOPRIO_CLASS(p) ((p) >> 13)
enum { IOPRIO_NONE, IOPRIO_REAL_TIME, IOPRIO_BEST_EFFORT, IOPRIO_IDLE };
enum { IOPRIO_WHO_PROCESS = 1, IOPRIO_WHO_GROUP, IOPRIO_WHO_USER };

#endif
