/* Descriptors and limits in /proc, enforcement of limits, and calls about the caller that qemu-ppc lacks. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096ul

/* The fdinfo text of a descriptor. */
static const char *info(int fd)
{
	static char text[1024];
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	test_read_file(path, text, sizeof(text));
	return text;
}

static void descriptors_told(void)
{
	const char *path = test_path("file");
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 7 };
	int fd, ends[2], set, watcher, process, watch;
	char expected[128];
	struct stat status;
	sigset_t mask;

	test_write_file(path, "text", 4);
	fd = (int)MUST(open(path, O_RDWR | O_APPEND | O_CLOEXEC));
	MUST(lseek(fd, 3, SEEK_SET));
	MUST(fstat(fd, &status));
	CHECK(strncmp(info(fd), "pos:\t3\nflags:\t0", 15) == 0);
	CHECK_EQUAL(strtol(strstr(info(fd), "flags:\t") + 7, NULL, 8) & ~O_LARGEFILE,
		    (O_RDWR | O_APPEND | O_CLOEXEC) & ~O_LARGEFILE);
	snprintf(expected, sizeof(expected), "ino:\t%llu\n", (unsigned long long)status.st_ino);
	CHECK(strstr(info(fd), expected) != NULL);
	MUST(pipe(ends));
	set = (int)MUST(epoll_create1(0));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
	snprintf(expected, sizeof(expected), "tfd: %8d events:", ends[0]);
	CHECK(strstr(info(set), expected) != NULL);
	watcher = (int)MUST(inotify_init1(0));
	watch = (int)MUST(inotify_add_watch(watcher, path, IN_OPEN));
	snprintf(expected, sizeof(expected), "inotify wd:%x ino:%llx", watch, (unsigned long long)status.st_ino);
	CHECK(strstr(info(watcher), expected) != NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	CHECK(strstr(info((int)MUST(signalfd(-1, &mask, 0))), "sigmask:\t0000000000000200\n") != NULL);
	process = (int)MUST(syscall(SYS_pidfd_open, getpid(), 0));
	snprintf(expected, sizeof(expected), "Pid:\t%d\n", getpid());
	CHECK(strstr(info(process), expected) != NULL);
	MUST(close(process));
	snprintf(expected, sizeof(expected), "/proc/self/fdinfo/%d", process);
	CHECK_ERROR(open(expected, O_RDONLY), ENOENT);
}

static unsigned long limit_told(const char *path)
{
	char text[64];

	test_read_file(path, text, sizeof(text));
	return strtoul(text, NULL, 10);
}

static void limits_hold(void)
{
	size_t most = limit_told("/proc/sys/kernel/msgmax");
	struct msgbuf *message = calloc(1, sizeof(long) + most + 1);
	int queue = (int)MUST(msgget(IPC_PRIVATE, 0600)), ends[2];

	message->mtype = 1;
	CHECK_ERROR(msgsnd(queue, message, most + 1, 0), EINVAL);
	MUST(msgsnd(queue, message, most, 0));
	MUST(msgctl(queue, IPC_RMID, NULL));
	MUST(pipe(ends));
	CHECK_EQUAL(fcntl(ends[0], F_SETPIPE_SZ, limit_told("/proc/sys/fs/pipe-max-size")),
		    limit_told("/proc/sys/fs/pipe-max-size"));
	CHECK_EQUAL(limit_told("/proc/sys/kernel/cap_last_cap"), 40);
	CHECK(limit_told("/proc/sys/kernel/pty/nr") < limit_told("/proc/sys/kernel/pty/max"));
	CHECK_EQUAL(limit_told("/proc/sys/vm/max_map_count"), 65536);
}

static void too_large_a_mapping(void)
{
	const char *path = test_path("file");
	int fd;
	char *place = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	test_write_file(path, "text", 4);
	fd = (int)MUST(open(path, O_RDWR));
	CHECK(mmap(place, 0xfffff000, PROT_READ, MAP_FIXED | MAP_SHARED, fd, 0) == MAP_FAILED);
	CHECK_EQUAL(errno, ENOMEM);
}

/* The next msync updates the file's time after a store through a mapping. */
static void msync_tells_of_stores(void)
{
	const char *path = test_path("file");
	struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	struct stat status;
	char *area;
	int fd;

	test_write_file(path, "text", 4);
	fd = (int)MUST(open(path, O_RDWR));
	area = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(area != MAP_FAILED);
	MUST(futimens(fd, old));
	*area = 'T';
	MUST(msync(area, PAGE, MS_SYNC));
	MUST(fstat(fd, &status));
	CHECK(status.st_mtim.tv_sec > 1000);
}

/* Old calls refuse an inode's number of more than 32 bits. */
static void numbers_of_inodes_are_short(void)
{
	unsigned long long each = 0xffffffffull / (limit_told("/proc/sys/kernel/pid_max") - 1);
	struct stat status;

	MUST(stat("/proc/self/", &status));
	CHECK(status.st_ino / (unsigned)getpid() <= each);
	MUST(stat("/proc/self/fdinfo/2", &status));
	CHECK(status.st_ino <= (unsigned long long)getpid() * each + 0x1ffff);
}

static void queued_signals_are_limited(void)
{
	struct rlimit few = { 5, 5 };
	union sigval value = { .sival_int = 1 };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGRTMIN);
	MUST(sigprocmask(SIG_BLOCK, &blocked, NULL));
	MUST(setrlimit(RLIMIT_SIGPENDING, &few));
	for (int i = 0; i < 5; i++)
		MUST(sigqueue(getpid(), SIGRTMIN, value));
	CHECK_ERROR(sigqueue(getpid(), SIGRTMIN, value), EAGAIN);
	CHECK_ERROR(syscall(SYS_tkill, getpid(), SIGRTMIN), EAGAIN);
	MUST(kill(getpid(), SIGRTMIN));
	MUST(sigqueue(getpid(), SIGURG, value));
}

/* A process of another user that may queue five signals, blocks SIGRTMIN (as the caller does), and sleeps. */
static pid_t sleeper_of(uid_t user)
{
	struct rlimit few = { 5, 5 };
	int ends[2];
	pid_t child;
	char byte;

	MUST(pipe(ends));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		MUST(setrlimit(RLIMIT_SIGPENDING, &few));
		MUST(setuid(user));
		close(ends[0]);
		close(ends[1]);
		pause();
		_exit(1);
	}
	MUST(close(ends[1]));
	CHECK_EQUAL(read(ends[0], &byte, 1), 0);
	return child;
}

static void queued_signals_are_limited_by_user(void)
{
	union sigval value = { .sival_int = 1 };
	pid_t first, second;
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGRTMIN);
	MUST(sigprocmask(SIG_BLOCK, &blocked, NULL));
	first = sleeper_of(4321);
	second = sleeper_of(4321);
	for (int i = 0; i < 3; i++)
		MUST(sigqueue(first, SIGRTMIN, value));
	for (int i = 0; i < 2; i++)
		MUST(sigqueue(second, SIGRTMIN, value));
	CHECK_ERROR(sigqueue(first, SIGRTMIN, value), EAGAIN);
	CHECK_ERROR(sigqueue(second, SIGRTMIN, value), EAGAIN);
	MUST(sigqueue(getpid(), SIGRTMIN, value));
	MUST(kill(first, SIGKILL));
	CHECK_EQUAL(test_wait(first), 1000 + SIGKILL);
	for (int i = 0; i < 3; i++)
		MUST(sigqueue(second, SIGRTMIN, value));
	CHECK_ERROR(sigqueue(second, SIGRTMIN, value), EAGAIN);
	MUST(kill(second, SIGKILL));
	CHECK_EQUAL(test_wait(second), 1000 + SIGKILL);
}

/* A descriptor opened with O_PATH names a file, but cannot be used to access it. */
static void places_are_no_files(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int place = (int)MUST(open("/tmp", O_PATH)), set = (int)MUST(epoll_create1(0)), ends[2];

	MUST(pipe(ends));
	CHECK_ERROR(listen(place, 1), EBADF);
	CHECK_ERROR(epoll_ctl(set, EPOLL_CTL_ADD, place, &event), EBADF);
	CHECK_ERROR(epoll_ctl(place, EPOLL_CTL_ADD, ends[0], &event), EBADF);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, place, 0) == MAP_FAILED);
	CHECK_EQUAL(errno, EBADF);
}

struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t times[3];
};

struct clamped {
	struct attributes first;
	uint32_t minimum, maximum;
};

static int child_is_ordinary(void *unused)
{
	struct attributes now;

	(void)unused;
	MUST(syscall(SYS_sched_getattr, 0, &now, sizeof(now), 0));
	return now.policy == SCHED_OTHER && now.flags == 0 && now.priority == 0 ? 0 : 1;
}

static void scheduling_attributes(void)
{
	struct attributes wanted = { .size = sizeof(wanted), .policy = SCHED_FIFO, .flags = 1, .priority = 3 }, now;
	struct clamped clamped;
	struct sched_param none = { 0 };

	MUST(syscall(SYS_sched_setattr, 0, &wanted, 0));
	CHECK_EQUAL(sched_getscheduler(0), SCHED_FIFO | SCHED_RESET_ON_FORK);
	MUST(syscall(SYS_sched_getattr, 0, &now, sizeof(now), 0));
	CHECK(memcmp(&now, &wanted, sizeof(now)) == 0);
	CHECK_EQUAL(test_in_child(child_is_ordinary, NULL), 0);
	MUST(sched_setscheduler(0, SCHED_OTHER, &none));
	wanted = (struct attributes){ .size = sizeof(wanted), .policy = SCHED_BATCH, .nice = 5 };
	MUST(syscall(SYS_sched_setattr, 0, &wanted, 0));
	CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), 5);
	/* What only the deadline policy heeds is no error for others. */
	wanted.flags = 2 | 4;
	MUST(syscall(SYS_sched_setattr, 0, &wanted, 0));
	MUST(syscall(SYS_sched_getattr, 0, &now, sizeof(now), 0));
	CHECK_EQUAL(now.flags, 0);
	/* The policy, its parameters, or both stay. */
	wanted = (struct attributes){ .size = sizeof(wanted), .policy = SCHED_OTHER, .flags = 8, .nice = 7 };
	MUST(syscall(SYS_sched_setattr, 0, &wanted, 0));
	CHECK_EQUAL(sched_getscheduler(0), SCHED_BATCH);
	CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), 7);
	wanted.flags = 0x10;
	wanted.nice = 9;
	MUST(syscall(SYS_sched_setattr, 0, &wanted, 0));
	CHECK_EQUAL(sched_getscheduler(0), SCHED_BATCH);
	CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), 7);
	/* Clamps of the utilisation are not in the first version of the structure, and are not offered. */
	wanted.flags = 0x20;
	CHECK_ERROR(syscall(SYS_sched_setattr, 0, &wanted, 0), EINVAL);
	clamped = (struct clamped){ .first = wanted, .minimum = 1, .maximum = 2 };
	clamped.first.size = sizeof(clamped);
	CHECK_ERROR(syscall(SYS_sched_setattr, 0, &clamped, 0), EOPNOTSUPP);
	wanted.flags = 0x80;
	CHECK_ERROR(syscall(SYS_sched_setattr, 0, &wanted, 0), EINVAL);
	wanted.size = 40;
	CHECK_ERROR(syscall(SYS_sched_setattr, 0, &wanted, 0), E2BIG);
	CHECK_EQUAL(wanted.size, 56);
	CHECK_ERROR(syscall(SYS_sched_getattr, 0, &now, 47, 0), EINVAL);
	CHECK_ERROR(syscall(SYS_sched_getattr, 0x3fffffff, &now, sizeof(now), 0), ESRCH);
}

static void barriers(void)
{
	CHECK(syscall(SYS_membarrier, 0, 0) & 8);
	CHECK_ERROR(syscall(SYS_membarrier, 8, 0), EPERM);
	MUST(syscall(SYS_membarrier, 16, 0));
	MUST(syscall(SYS_membarrier, 8, 0));
	CHECK_ERROR(syscall(SYS_membarrier, 3, 0), EINVAL);
}

/* Makes a child that outlives it. */
static int leaves_a_child(void *ends)
{
	char byte;

	if (fork() == 0) {
		close(((int *)ends)[1]);
		_exit(read(((int *)ends)[0], &byte, 1) == 0 ? 3 : 4);
	}
	return 0;
}

static void orphans_come_to_a_subreaper(void)
{
	int ends[2], status, is = 0;

	MUST(pipe(ends));
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
	MUST(prctl(PR_GET_CHILD_SUBREAPER, &is));
	CHECK_EQUAL(is, 1);
	CHECK_EQUAL(test_in_child(leaves_a_child, ends), 0);
	MUST(close(ends[1]));
	MUST(waitpid(-1, &status, 0));
	CHECK_EQUAL(status, 3 << 8);
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 0));
	MUST(pipe(ends));
	CHECK_EQUAL(test_in_child(leaves_a_child, ends), 0);
	CHECK_ERROR(waitpid(-1, &status, 0), ECHILD);
}

static void interrupts_told(void)
{
	char text[1024];

	test_read_file("/proc/interrupts", text, sizeof(text));
	CHECK(strstr(text, "CPU0") != NULL);
	CHECK(strstr(text, "  4: ") != NULL);
	CHECK(strstr(text, "serial") != NULL);
}

/* The number behind a word at the start of a line of a file; -1: there is no such line. */
static long number_in(const char *file, const char *word)
{
	static char text[8192];
	const char *at;

	test_read_file(file, text, sizeof(text));
	at = strstr(text, word);
	return at && (at == text || at[-1] == '\n') ? strtol(at + strlen(word), NULL, 0) : -1;
}

/* Sleeping needs timer interrupts, and a fork begins a process. */
static void counts_of_the_system(void)
{
	long timers = number_in("/proc/interrupts", "LOC:"), all = number_in("/proc/stat", "intr ");
	long begun = number_in("/proc/stat", "processes ");
	pid_t child;
	int status;

	CHECK(timers >= 0 && all >= timers && begun > 0);
	for (int i = 0; i < 3; i++) {
		child = (pid_t)MUST(fork());
		if (child == 0)
			_exit(usleep(20000) < 0);
		MUST(waitpid(child, &status, 0));
	}
	CHECK_EQUAL(number_in("/proc/stat", "processes "), begun + 3);
	CHECK(number_in("/proc/interrupts", "LOC:") > timers || sysconf(_SC_NPROCESSORS_ONLN) > 1);
	CHECK(number_in("/proc/stat", "intr ") >= all + 3);
	CHECK(number_in("/proc/stat", "softirq ") >= 0);
	CHECK(number_in("/proc/interrupts", "SPU:") >= 0);
	CHECK(number_in("/proc/interrupts", "MCE:") >= 0);
}

/* The ticks that /proc/stat has of programs and of the kernel, of all processors. */
static long ticks_in_stat(long *user, long *kernel)
{
	char text[256], *at;

	test_read_file("/proc/stat", text, sizeof(text));
	CHECK(!strncmp(text, "cpu  ", 5));
	*user = strtol(text + 5, &at, 10);
	CHECK_EQUAL(strtol(at, &at, 10), 0);
	*kernel = strtol(at, &at, 10);
	return *user + *kernel;
}

/* For some ticks does system calls only, or none; then /proc/stat and getrusage say the same of that time. */
static int spends_ticks(void *calls)
{
	long begun_user, begun_kernel, user, kernel, begun, all, user_us, kernel_us;
	struct rusage usage;

	begun = ticks_in_stat(&begun_user, &begun_kernel);
	do {
		for (volatile int i = 0; i < 200000; i++)
			if (calls && i % 4 == 0)
				getppid();
		all = ticks_in_stat(&user, &kernel) - begun;
	} while (all < 10);
	MUST(getrusage(RUSAGE_SELF, &usage));
	user_us = (long)usage.ru_utime.tv_sec * 1000000 + (long)usage.ru_utime.tv_usec;
	kernel_us = (long)usage.ru_stime.tv_sec * 1000000 + (long)usage.ru_stime.tv_usec;
	user -= begun_user;
	/* Two of the ticks may be of other tasks. */
	CHECK(labs(user - user_us * all / (user_us + kernel_us)) <= 2);
	if (calls)
		CHECK(user <= all / 2);
	else if (access("/dev/pagewalk", F_OK) == 0 && sysconf(_SC_NPROCESSORS_ONLN) == 1)
		/* Only where time is simulated: a host that stops QEMU for long makes many ticks late. And only on one
		 * processor: on others, what earlier cases left may still run. */
		CHECK(user >= all / 2);
	return 0;
}

/* A tick that comes late because it was due in a system call is the kernel's. */
static void ticks_shared_out(void)
{
	CHECK_EQUAL(test_in_child(spends_ticks, NULL), 0);
	CHECK_EQUAL(test_in_child(spends_ticks, (void *)1), 0);
}

/* Neither removal nor renaming reaches a mount point. */
static void mount_points_stay(void)
{
	char folder[128], file[128];

	strcpy(folder, test_path("folder"));
	strcpy(file, test_path("file"));
	MUST(mkdir(folder, 0777));
	test_write_file(file, "text", 4);
	MUST(mount("none", folder, "tmpfs", 0, NULL));
	CHECK_ERROR(rmdir(folder), EBUSY);
	CHECK_ERROR(rename(folder, file), EBUSY);
	CHECK_ERROR(renameat2(AT_FDCWD, file, AT_FDCWD, folder, RENAME_EXCHANGE), EBUSY);
	CHECK_ERROR(renameat2(AT_FDCWD, folder, AT_FDCWD, file, RENAME_EXCHANGE), EBUSY);
	MUST(umount(folder));
	MUST(renameat2(AT_FDCWD, file, AT_FDCWD, folder, RENAME_EXCHANGE));
}

/* A directory under a mount takes no second one. */
static void covered_directory(void)
{
	char folder[64];

	strcpy(folder, test_path("folder"));
	MUST(mkdir(folder, 0777));
	MUST(chdir(folder));
	MUST(mount("none", folder, "tmpfs", 0, NULL));
	CHECK_ERROR(mount("none", ".", "tmpfs", 0, NULL), EBUSY);
	MUST(chdir("/"));
	MUST(umount(folder));
	CHECK_ERROR(umount(folder), EINVAL);
}

/* Nothing is made in a file system that can only be read, not even a file without a name. */
static void only_read(void)
{
	char folder[64];

	strcpy(folder, test_path("folder"));
	MUST(mkdir(folder, 0777));
	MUST(mount("none", folder, "tmpfs", 0, NULL));
	MUST(close((int)MUST(open(folder, O_TMPFILE | O_RDWR, 0600))));
	MUST(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, NULL));
	CHECK_ERROR(open(folder, O_TMPFILE | O_RDWR, 0600), EROFS);
	MUST(umount(folder));
}

/* A socket keeps the file system of its name, as an open file does, also when the name has been removed. */
static void sockets_keep_file_systems(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char folder[64];
	int fd;

	strcpy(folder, test_path("folder"));
	MUST(mkdir(folder, 0777));
	for (int removed = 0; removed < 2; removed++) {
		MUST(mount("none", folder, "tmpfs", 0, NULL));
		fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
		snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
		MUST(bind(fd, (struct sockaddr *)&address, sizeof(address)));
		if (removed)
			MUST(unlink(address.sun_path));
		CHECK_ERROR(umount(folder), EBUSY);
		MUST(close(fd));
		MUST(umount(folder));
	}
}

/* The oldest uname has nine bytes for each name. Those after the name's end are zero, and not kernel memory. */
static void room_behind_names(void)
{
	char names[5][9];

	memset(names, 'x', sizeof(names));
	/* qemu-ppc does not know the call. */
	if (syscall(SYS_oldolduname, names) < 0 && errno == ENOSYS)
		return;
	for (int i = 0; i < 5; i++)
		for (size_t at = strnlen(names[i], 9); at < 9; at++)
			CHECK_EQUAL(names[i][at], 0);
}

/* A copy of this program that raises its user to root. */
static const char *raising_copy(const char *folder)
{
	static char path[96];
	char buffer[4096];
	ssize_t n;
	int from = (int)MUST(open("/proc/self/exe", O_RDONLY)), to;

	snprintf(path, sizeof(path), "%s/raises", folder);
	to = (int)MUST(open(path, O_CREAT | O_WRONLY, 0755));
	while ((n = MUST(read(from, buffer, sizeof(buffer)))) > 0)
		CHECK_EQUAL(write(to, buffer, (size_t)n), n);
	MUST(close(from));
	MUST(close(to));
	MUST(chmod(path, 04755));
	return path;
}

/* Ends with the effective user of the copy, or with 99. */
static int run_as_user(void *path)
{
	if (setresgid(42, 42, 42) || setresuid(42, 42, 42))
		return 98;
	execl(path, "system", "--user", NULL);
	return errno == EACCES ? 99 : 98;
}

/* Maps a file of a file system that refuses programs, opened before it did; `before` was mapped then. */
static void maps_no_program(int fd, void *before)
{
	static const int kinds[] = { MAP_PRIVATE, MAP_SHARED };

	for (int i = 0; i < 2; i++) {
		void *at = mmap(NULL, 4096, PROT_READ, kinds[i], fd, 0);

		CHECK(at != MAP_FAILED);
		CHECK_ERROR(mprotect(at, 4096, PROT_READ | PROT_EXEC), EACCES);
		MUST(mprotect(at, 4096, PROT_NONE));
		MUST(munmap(at, 4096));
		errno = 0;
		CHECK(mmap(NULL, 4096, PROT_READ | PROT_EXEC, kinds[i], fd, 0) == MAP_FAILED);
		CHECK_EQUAL(errno, EPERM);
	}
	MUST(mprotect(before, 4096, PROT_READ | PROT_EXEC));
}

/* What mount(2) may refuse a file system. */
static void mounts_refuse(void)
{
	char folder[64], device[96], text[2048], *program;
	struct statvfs status;
	void *before;
	int fd;

	strcpy(folder, test_path("folder"));
	MUST(mkdir(folder, 0777));
	MUST(chmod(test_path("."), 0755));
	MUST(mount("none", folder, "tmpfs", 0, NULL));
	MUST(chmod(folder, 0755));
	program = (char *)raising_copy(folder);
	snprintf(device, sizeof(device), "%s/null", folder);
	MUST(mknod(device, S_IFCHR | 0666, makedev(1, 3)));
	MUST(close((int)MUST(open(device, O_RDWR))));
	CHECK_EQUAL(test_in_child(run_as_user, program), 0);
	MUST(mount(NULL, folder, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, NULL));
	CHECK_EQUAL(test_in_child(run_as_user, program), 42);
	CHECK_ERROR(open(device, O_RDWR), EACCES);
	fd = (int)MUST(open(program, O_RDONLY));
	before = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(before != MAP_FAILED);
	MUST(mount(NULL, folder, NULL, MS_REMOUNT | MS_NOEXEC, NULL));
	maps_no_program(fd, before);
	MUST(munmap(before, 4096));
	MUST(close(fd));
	CHECK_EQUAL(test_in_child(run_as_user, program), 99);
	CHECK_ERROR(access(program, X_OK), EACCES);
	MUST(close((int)MUST(open(device, O_RDWR))));
	MUST(umount(folder));
	MUST(mount("none", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
	MUST(statvfs(folder, &status));
	CHECK_EQUAL(status.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC), ST_NOSUID | ST_NODEV | ST_NOEXEC);
	test_read_file("/proc/mounts", text, sizeof(text));
	CHECK(strstr(text, " rw,nosuid,nodev,noexec,relatime "));
	MUST(umount(folder));
}

static const struct test_case cases[] = {
	CASE(room_behind_names),
	CASE(descriptors_told), CASE(limits_hold), CASE(numbers_of_inodes_are_short),
	CASE(too_large_a_mapping), CASE(msync_tells_of_stores),
	CASE(queued_signals_are_limited), CASE(queued_signals_are_limited_by_user), CASE(places_are_no_files),
	CASE(scheduling_attributes), CASE(interrupts_told), CASE(counts_of_the_system), CASE(ticks_shared_out),
	CASE(barriers), CASE(orphans_come_to_a_subreaper),
	CASE(mount_points_stay), CASE(sockets_keep_file_systems), CASE(covered_directory), CASE(only_read),
	CASE(mounts_refuse),
};

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--user") == 0)
		return (int)geteuid();
	return test_run("system", argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
