/* The multiplexed ipc(2), which the C libraries of this ABI use. */
#include <err.h>
#include <syscall.h>
#include <time.h>
#include <uaccess.h>

#include "sysv_calls.h"

enum { SEMOP = 1, SEMGET = 2, SEMCTL = 3, SEMTIMEDOP = 4 };

static long timed_operations(int id, u32 count, u32 operations, u32 timeout)
{
	u64 deadline = TIME_NEVER, ns;

	if (timeout) {
		int error = timespec32_from_user((const struct timespec32 *)timeout, &ns);

		if (error)
			return error;
		deadline = time_deadline(ns);
	}
	return sem_operations(id, (const struct sembuf *)operations, count, deadline);
}

/* The upper half of the call's number is a version; all versions of these calls are alike. */
long sys_ipc(u32 call, int first, int second, u32 third, u32 pointer, u32 fifth)
{
	u32 argument;

	switch (call & 0xffff) {
	case SEMOP:
		return timed_operations(first, (u32)second, pointer, 0);
	case SEMTIMEDOP:
		return timed_operations(first, (u32)second, pointer, fifth);
	case SEMGET:
		return sys_semget(first, second, third);
	case SEMCTL:
		/* Here the union comes by reference (on this architecture, not in semctl(2) itself). */
		if (!pointer)
			return -EINVAL;
		if (get_user(argument, (const u32 *)pointer))
			return -EFAULT;
		return sys_semctl(first, second, (int)third, argument);
	}
	return -ENOSYS;
}
