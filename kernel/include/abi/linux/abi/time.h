/* Clocks and times: numbers and structures (uapi linux/time.h, linux/time_types.h, linux/timerfd.h, linux/utime.h). */
#ifndef ABI_TIME_H
#define ABI_TIME_H
#include <types.h>

/* clockid_t */
#define CLOCK_REALTIME           0
#define CLOCK_MONOTONIC          1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_THREAD_CPUTIME_ID  3
#define CLOCK_MONOTONIC_RAW      4
#define CLOCK_REALTIME_COARSE    5
#define CLOCK_MONOTONIC_COARSE   6
#define CLOCK_BOOTTIME           7
#define CLOCK_TAI                11     /* equal to CLOCK_REALTIME: no leap seconds are set */

#define TIMER_ABSTIME 1

/* ABI structures: the 32-bit-time forms and the time64 forms. */
struct timespec32 { s32 sec; s32 nsec; };
struct timespec64 { s64 sec; s64 nsec; };
struct timeval32 { s32 sec; s32 usec; };
struct itimerval32 { struct timeval32 interval, value; };
struct itimerspec32 { struct timespec32 interval, value; };
struct itimerspec64 { struct timespec64 interval, value; };
struct timezone32 { s32 minuteswest; s32 dsttime; };

#define ITIMER_REAL    0
#define ITIMER_VIRTUAL 1        /* user time */
#define ITIMER_PROF    2        /* user and kernel time */

#define TFD_TIMER_CANCEL_ON_SET 2u

#define UTIME_NOW 0x3fffffff
#define UTIME_OMIT 0x3ffffffe

struct utimbuf32 {
	s32 atime, mtime;
};

#endif
