/*
 * What the tests use of the kernel's interface and musl does not have, or has by other names. Included before each
 * file.
 */
#ifndef PAGEWALK_USER_GLIBC_H
#define PAGEWALK_USER_GLIBC_H

#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* musl's names for calls with times of 32 bits. */
#define SYS_clock_gettime SYS_clock_gettime32
#define SYS_gettimeofday  SYS_gettimeofday_time32
#define SYS_timer_settime SYS_timer_settime32

#define SO_RCVTIMEO_NEW 66
#define SO_SNDTIMEO_NEW 67

#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE  2
#define FALLOC_FL_KEEP_SIZE  1
#define FALLOC_FL_PUNCH_HOLE 2
#define FALLOC_FL_ZERO_RANGE 16

/* glibc's types of some first arguments. */
typedef int __rlimit_resource_t, __itimer_which_t;

struct iovec;
struct sched_param;
int renameat2(int from, const char *old, int to, const char *name, unsigned flags);
ssize_t preadv2(int fd, const struct iovec *vector, int count, off_t position, int flags);
ssize_t pwritev2(int fd, const struct iovec *vector, int count, off_t position, int flags);
int feenableexcept(int exceptions);

#endif
