/* Process descriptors: how they are made, waited for, and used to send signals and to take descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

#define OUR_P_PIDFD 3

static int descriptor_of(pid_t pid, unsigned flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

static long send_signal(int pidfd, int number)
{
	return syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

static int sleeps(void *unused)
{
	(void)unused;
	pause();
	return 0;
}

static int ends_with(void *status)
{
	return *(int *)status;
}

static void opened(void)
{
	int fd = (int)MUST(descriptor_of(getpid(), 0));

	CHECK_EQUAL(fcntl(fd, F_GETFD), FD_CLOEXEC);
	MUST(close(fd));
	CHECK_ERROR(descriptor_of(0, 0), EINVAL);
	CHECK_ERROR(descriptor_of(-1, 0), EINVAL);
	CHECK_ERROR(descriptor_of(getpid(), 1), EINVAL);
	CHECK_ERROR(descriptor_of(0x3fffffff, 0), ESRCH);
}

static void readable_at_the_end(void)
{
	int ends[2], fd;
	pid_t child;
	struct pollfd asked;
	char byte;

	MUST(pipe(ends));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? 7 : 1);
	}
	fd = (int)MUST(descriptor_of(child, 0));
	asked = (struct pollfd){ .fd = fd, .events = POLLIN };
	CHECK_EQUAL(poll(&asked, 1, 0), 0);
	MUST(close(ends[1]));
	CHECK_EQUAL(poll(&asked, 1, -1), 1);
	CHECK_EQUAL(asked.revents, POLLIN);
	CHECK_EQUAL(test_wait(child), 7);
	/* The process has ended; a new process with the same number must not get the signal. */
	CHECK_ERROR(send_signal(fd, 0), ESRCH);
	CHECK(poll(&asked, 1, 0) == 1 && asked.revents & POLLIN);
}

static void signals(void)
{
	siginfo_t other = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };
	pid_t child = test_child(sleeps, NULL);
	int fd = (int)MUST(descriptor_of(child, 0));

	CHECK_EQUAL(send_signal(fd, 0), 0);
	CHECK_ERROR(send_signal(fd, 65), EINVAL);
	CHECK_ERROR(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0x100), EINVAL);
	CHECK_ERROR(syscall(SYS_pidfd_send_signal, fd, SIGUSR2, &other, 0), EINVAL);
	CHECK_ERROR(send_signal(0, 0), EBADF);
	CHECK_ERROR(send_signal(-1, 0), EBADF);
	CHECK_EQUAL(send_signal(fd, SIGTERM), 0);
	CHECK_EQUAL(test_wait(child), 1000 + SIGTERM);
}

/* A directory of /proc/<pid> can stand for a process descriptor; other files of /proc cannot. */
static void signals_by_directory(void)
{
	pid_t child = test_child(sleeps, NULL);
	char path[64];
	int fd, other;

	snprintf(path, sizeof(path), "/proc/%d", child);
	fd = (int)MUST(open(path, O_RDONLY | O_DIRECTORY));
	CHECK_EQUAL(send_signal(fd, 0), 0);
	other = (int)MUST(open(path, O_PATH));
	CHECK_ERROR(send_signal(other, 0), EBADF);
	strcat(path, "/task");
	other = (int)MUST(open(path, O_RDONLY));
	CHECK_ERROR(send_signal(other, 0), EBADF);
	other = (int)MUST(open("/proc", O_RDONLY));
	CHECK_ERROR(send_signal(other, 0), EBADF);
	CHECK_EQUAL(send_signal(fd, SIGTERM), 0);
	CHECK_EQUAL(test_wait(child), 1000 + SIGTERM);
	CHECK_ERROR(send_signal(fd, 0), ESRCH);
}

static void waited_for(void)
{
	int status = 5, fd;
	pid_t child = test_child(ends_with, &status);
	siginfo_t info;

	fd = (int)MUST(descriptor_of(child, 0));
	memset(&info, 0, sizeof(info));
	MUST(waitid((idtype_t)OUR_P_PIDFD, (id_t)fd, &info, WEXITED));
	CHECK_EQUAL(info.si_pid, child);
	CHECK_EQUAL(info.si_code, CLD_EXITED);
	CHECK_EQUAL(info.si_status, 5);
	CHECK_ERROR(waitid((idtype_t)OUR_P_PIDFD, (id_t)fd, &info, WEXITED), ECHILD);
	CHECK_ERROR(waitid((idtype_t)OUR_P_PIDFD, 0, &info, WEXITED), EBADF);
	CHECK_ERROR(waitid((idtype_t)OUR_P_PIDFD, (id_t)-1, &info, WEXITED), EINVAL);
	/* The process is not a child. */
	fd = (int)MUST(descriptor_of(getpid(), 0));
	CHECK_ERROR(waitid((idtype_t)OUR_P_PIDFD, (id_t)fd, &info, WEXITED), ECHILD);
}

static void waited_for_without_blocking(void)
{
	pid_t child = test_child(sleeps, NULL);
	int fd = (int)MUST(descriptor_of(child, O_NONBLOCK));
	siginfo_t info;

	CHECK_ERROR(waitid((idtype_t)OUR_P_PIDFD, (id_t)fd, &info, WEXITED), EAGAIN);
	MUST(waitid((idtype_t)OUR_P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG));
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

static void descriptors_taken(void)
{
	int ends[2], copy, fd, closed;
	pid_t child;
	char byte = 0;

	MUST(pipe(ends));
	child = test_child(sleeps, NULL);
	closed = ends[0];
	MUST(close(ends[0]));
	fd = (int)MUST(descriptor_of(child, 0));
	/* The child still has the end that was closed here. */
	copy = (int)MUST(syscall(SYS_pidfd_getfd, fd, closed, 0));
	CHECK_EQUAL(fcntl(copy, F_GETFD), FD_CLOEXEC);
	CHECK_EQUAL(write(ends[1], "x", 1), 1);
	CHECK_EQUAL(read(copy, &byte, 1), 1);
	CHECK_EQUAL(byte, 'x');
	CHECK_ERROR(syscall(SYS_pidfd_getfd, fd, 900, 0), EBADF);
	CHECK_ERROR(syscall(SYS_pidfd_getfd, fd, closed, 1), EINVAL);
	CHECK_ERROR(syscall(SYS_pidfd_getfd, ends[1], closed, 0), EBADF);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
	CHECK_ERROR(syscall(SYS_pidfd_getfd, fd, closed, 0), ESRCH);
}

static const struct test_case cases[] = {
	CASE(opened), CASE(readable_at_the_end), CASE(signals), CASE(signals_by_directory), CASE(waited_for),
	CASE(waited_for_without_blocking),
	CASE(descriptors_taken),
};

TEST_MAIN("pidfd", cases)
