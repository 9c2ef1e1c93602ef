/* Functions that musl lacks, or that it refuses to pass to the kernel. */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int renameat2(int from, const char *old, int to, const char *name, unsigned flags)
{
	return (int)syscall(SYS_renameat2, from, old, to, name, flags);
}

ssize_t preadv2(int fd, const struct iovec *vector, int count, off_t position, int flags)
{
	return syscall(SYS_preadv2, fd, vector, count, (long)position, (long)(position >> 32), flags);
}

ssize_t pwritev2(int fd, const struct iovec *vector, int count, off_t position, int flags)
{
	return syscall(SYS_pwritev2, fd, vector, count, (long)position, (long)(position >> 32), flags);
}

/* Unmasks exceptions of the floating-point unit. */
int feenableexcept(int exceptions)
{
	uint16_t control;

	__asm__ volatile("fnstcw %0" : "=m"(control));
	control = (uint16_t)(control & ~(unsigned)(exceptions & FE_ALL_EXCEPT));
	__asm__ volatile("fldcw %0" : : "m"(control));
	return 0;
}

int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
	return (int)syscall(SYS_sched_setscheduler, pid, policy, param);
}

int sched_getscheduler(pid_t pid)
{
	return (int)syscall(SYS_sched_getscheduler, pid);
}

int sched_setparam(pid_t pid, const struct sched_param *param)
{
	return (int)syscall(SYS_sched_setparam, pid, param);
}

int sched_getparam(pid_t pid, struct sched_param *param)
{
	return (int)syscall(SYS_sched_getparam, pid, param);
}

/* musl lets nobody move the break. */
int brk(void *end)
{
	if ((void *)syscall(SYS_brk, end) == end)
		return 0;
	errno = ENOMEM;
	return -1;
}

void *sbrk(intptr_t bytes)
{
	uintptr_t old = (uintptr_t)syscall(SYS_brk, 0);

	return bytes && brk((void *)(old + (uintptr_t)bytes)) ? (void *)-1 : (void *)old;
}

/* musl checks or changes arguments that the kernel is to refuse. */
int mprotect(void *address, size_t size, int protection)
{
	return (int)syscall(SYS_mprotect, address, size, protection);
}

int fchmod(int fd, mode_t mode)
{
	return (int)syscall(SYS_fchmod, fd, mode);
}

int sigaltstack(const stack_t *new, stack_t *old)
{
	return (int)syscall(SYS_sigaltstack, new, old);
}
