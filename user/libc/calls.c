/* System calls. Each returns -1 and sets errno if it failed. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "syscall.h"

int errno;

static long result(long value)
{
	if (value < 0 && value >= -4095) {
		errno = (int)-value;
		return -1;
	}
	return value;
}

#define CALL(name, a, b, c) result(system_call(__NR_##name, (long)(a), (long)(b), (long)(c), 0))

void _exit(int status)
{
	for (;;)
		CALL(exit, status, 0, 0);
}

pid_t fork(void)
{
	return (pid_t)CALL(fork, 0, 0, 0);
}

int execv(const char *path, char *const argv[])
{
	return (int)CALL(execve, path, argv, environ);
}

pid_t waitpid(pid_t pid, int *status, int flags)
{
	return (pid_t)result(system_call(__NR_wait4, pid, (long)status, flags, 0));
}

pid_t getpid(void)
{
	return (pid_t)CALL(getpid, 0, 0, 0);
}

pid_t getppid(void)
{
	return (pid_t)CALL(getppid, 0, 0, 0);
}

pid_t setsid(void)
{
	return (pid_t)CALL(setsid, 0, 0, 0);
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	(void)pid, (void)size, (void)set;
	return (int)result(-ENOSYS);
}

int open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return (int)CALL(open, path, flags, mode);
}

int close(int fd)
{
	return (int)CALL(close, fd, 0, 0);
}

ssize_t read(int fd, void *buffer, size_t size)
{
	return CALL(read, fd, buffer, size);
}

ssize_t write(int fd, const void *buffer, size_t size)
{
	return CALL(write, fd, buffer, size);
}

/* The position is a 64-bit number in r7 and r8: such a pair begins at an odd register, so that r6 is unused. */
ssize_t pwrite(int fd, const void *buffer, size_t size, off_t position)
{
	return result(system_call6(__NR_pwrite64, fd, (long)buffer, (long)size, 0, position < 0 ? -1 : 0, position));
}

off_t lseek(int fd, off_t position, int whence)
{
	return CALL(lseek, fd, position, whence);
}

int dup(int fd)
{
	return (int)CALL(dup, fd, 0, 0);
}

int dup2(int fd, int wanted)
{
	return (int)CALL(dup2, fd, wanted, 0);
}

int pipe(int ends[2])
{
	return (int)CALL(pipe, ends, 0, 0);
}

int unlink(const char *path)
{
	return (int)CALL(unlink, path, 0, 0);
}

int mkdir(const char *path, mode_t mode)
{
	return (int)CALL(mkdir, path, mode, 0);
}

int stat(const char *path, struct stat *found)
{
	return (int)CALL(stat, path, found, 0);
}

int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)
{
	return (int)result(
		system_call6(__NR_mount, (long)source, (long)target, (long)type, (long)flags, (long)data, 0));
}

void *mmap(void *where, size_t size, int protection, int flags, int fd, unsigned long offset)
{
	return (void *)result(
		system_call6(__NR_mmap, (long)where, (long)size, protection, flags, fd, (long)offset));
}

int munmap(void *where, size_t size)
{
	return (int)CALL(munmap, where, size, 0);
}

int mprotect(void *where, size_t size, int protection)
{
	return (int)CALL(mprotect, where, size, protection);
}

/* `brk` returns the end of the heap, the old one if it could not be moved. */
void *sbrk(intptr_t bytes)
{
	static intptr_t end;
	intptr_t before;

	if (!end)
		end = CALL(brk, 0, 0, 0);
	before = end;
	if (CALL(brk, end + bytes, 0, 0) != end + bytes)
		return (void *)result(-ENOMEM);
	end += bytes;
	return (void *)before;
}

int pause(void)
{
	return (int)CALL(pause, 0, 0, 0);
}

int kill(pid_t pid, int number)
{
	return (int)CALL(kill, pid, number, 0);
}

int sigemptyset(sigset_t *set)
{
	*set = 0;
	return 0;
}

int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	return (int)CALL(sigaction, number, action, before);
}

int socketpair(int family, int type, int protocol, int ends[2])
{
	enum { SOCKETPAIR = 8 };
	const long arguments[] = { family, type, protocol, (long)ends };

	return (int)CALL(socketcall, SOCKETPAIR, arguments, 0);
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	return (int)CALL(nanosleep, wanted, left, 0);
}

int clock_gettime(int clock, struct timespec *now)
{
	long day[2];
	int failed = (int)CALL(gettimeofday, day, 0, 0);

	(void)clock;
	now->tv_sec = day[0];
	now->tv_nsec = day[1] * 1000;
	return failed;
}
