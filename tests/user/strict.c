/* Promises of Linux that qemu-ppc does not keep, so only our kernel can pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "machine.h"

static void on_fpe(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	_exit(info->si_code == FPE_FLTDIV ? 44 : 45);
}

static int divide_by_zero(void *argument)
{
	volatile double zero = 0.0, one = 1.0;
	struct sigaction action;

	(void)argument;
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fpe;
	action.sa_flags = SA_SIGINFO;
	MUST(sigaction(SIGFPE, &action, NULL));
	feenableexcept(FE_DIVBYZERO);
	one = one / zero;
	machine_float_wait();
	return one > 0;
}

static void floating_point_exceptions(void)
{
	CHECK_EQUAL(test_in_child(divide_by_zero, NULL), test_has_fpu() ? 44 : 1000 + SIGILL);
}

/* init must reap a child that has no exit signal. */
static int leave_silent_child(void *where)
{
	long child = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);

	if (child == 0) {
		usleep(10000);
		_exit(0);
	}
	*(volatile long *)where = child;
	return child < 0;
}

static void silent_orphans_are_buried(void)
{
	volatile long *child = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(child != MAP_FAILED);
	CHECK_EQUAL(test_in_child(leave_silent_child, (void *)child), 0);
	for (int i = 0; i < 100 && kill((pid_t)*child, 0) == 0; i++)
		usleep(10000);
	CHECK_ERROR(kill((pid_t)*child, 0), ESRCH);
}

#define NAME "/strict"

static void message_notification(void)
{
	mqd_t queue = (mqd_t)MUST(mq_open(NAME, O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK, 0600, NULL));
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 42 };
	struct timespec none = { 0, 0 };
	char buffer[8192];
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	MUST(mq_notify(queue, &event));
	CHECK_ERROR(mq_notify(queue, &event), EBUSY);
	MUST(mq_send(queue, "1", 1, 0));
	CHECK_EQUAL(sigtimedwait(&set, &info, &none), SIGUSR1);
	CHECK_EQUAL(info.si_code, SI_MESGQ);
	CHECK_EQUAL(info.si_value.sival_int, 42);
	CHECK_EQUAL(info.si_pid, getpid());
	/* Sent once only, and only when the queue was empty. */
	CHECK_EQUAL(mq_receive(queue, buffer, sizeof(buffer), NULL), 1);
	MUST(mq_send(queue, "2", 1, 0));
	CHECK_ERROR(sigtimedwait(&set, &info, &none), EAGAIN);
	MUST(mq_notify(queue, &event));
	MUST(mq_send(queue, "3", 1, 0));
	CHECK_ERROR(sigtimedwait(&set, &info, &none), EAGAIN);
	MUST(mq_notify(queue, NULL));
	MUST(mq_notify(queue, &event));
	/* Who polls the queue does not wait for the message itself. */
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(mq_receive(queue, buffer, sizeof(buffer), NULL), 1);
	MUST(epoll_ctl((int)MUST(epoll_create1(0)), EPOLL_CTL_ADD, queue, &(struct epoll_event){ .events = EPOLLIN }));
	MUST(mq_send(queue, "4", 1, 0));
	CHECK_EQUAL(sigtimedwait(&set, &info, &none), SIGUSR1);
	MUST(mq_notify(queue, &event));
	MUST(mq_close(queue));
	MUST(mq_unlink(NAME));
}

static int by_descriptor(void *argument)
{
	char *const arguments[] = { "by-descriptor", NULL };
	char *const none[] = { NULL };
	int fd = *(int *)argument;

	syscall(SYS_execveat, fd, "", arguments, none, AT_EMPTY_PATH);
	return 99;
}

static int by_folder(void *argument)
{
	char *const arguments[] = { "by-folder", NULL };
	char *const none[] = { NULL };

	syscall(SYS_execveat, *(int *)argument, "hello", arguments, none, 0);
	return 99;
}

static void execveat_by_descriptor(void)
{
	int fd = (int)MUST(open("/bin/hello", O_RDONLY)), folder = (int)MUST(open("/bin", O_RDONLY));

	CHECK_EQUAL(test_in_child(by_descriptor, &fd), 0);
	CHECK_EQUAL(test_in_child(by_folder, &folder), 0);
}

static void execveat_errors(void)
{
	char *const arguments[] = { "x", NULL };
	int fd = (int)MUST(open("/bin/hello", O_RDONLY)), folder;

	MUST(symlink("/bin/hello", test_path("link")));
	folder = (int)MUST(open(test_path("."), O_RDONLY | O_DIRECTORY));
	CHECK_ERROR(syscall(SYS_execveat, folder, "link", arguments, NULL, AT_SYMLINK_NOFOLLOW), ELOOP);
	CHECK_ERROR(syscall(SYS_execveat, folder, "nothing", arguments, NULL, 0), ENOENT);
	CHECK_ERROR(syscall(SYS_execveat, fd, "link", arguments, NULL, 0), ENOTDIR);
	CHECK_ERROR(syscall(SYS_execveat, 99, "link", arguments, NULL, 0), EBADF);
	CHECK_ERROR(syscall(SYS_execveat, fd, "", arguments, NULL, 0x10), ENOENT);
	CHECK_ERROR(syscall(SYS_execveat, fd, NULL, arguments, NULL, 0x10), EFAULT);
	CHECK_ERROR(syscall(SYS_execveat, folder, "link", arguments, NULL, 0x10), EINVAL);
}

static void select_by_block(void)
{
	fd_set set;
	struct timeval now = { 0, 0 };
	int fds[2];
	long block[5];

	MUST(pipe(fds));
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	block[0] = fds[0] + 1;
	block[1] = (long)&set;
	block[2] = block[3] = 0;
	block[4] = (long)&now;
	CHECK_EQUAL(syscall(SYS_select, block), 0);
	FD_SET(fds[0], &set);
	CHECK_EQUAL(write(fds[1], "x", 1), 1);
	CHECK_EQUAL(syscall(SYS_select, block), 1);
	CHECK(FD_ISSET(fds[0], &set));
}

/* Uses raw system calls, because the C library's SIGEV_THREAD starts a thread. */
static void raw_timers(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_signo = SIGUSR1 };
	int id;

	MUST(syscall(SYS_timer_create, CLOCK_TAI, &event, &id));
	CHECK_ERROR(syscall(SYS_timer_settime, id, 0, NULL, NULL), EINVAL);
	MUST(syscall(SYS_timer_delete, id));
}

static void *send_to_a_thread(void *argument)
{
	siginfo_t info = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };

	/* The number of any thread stands for the process. */
	*(long *)argument = syscall(SYS_rt_sigqueueinfo, gettid(), SIGUSR1, &info);
	return NULL;
}

static void queued_by_a_threads_number(void)
{
	struct timespec none = { 0, 0 };
	pthread_t thread;
	long result = -1;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	CHECK_EQUAL(pthread_create(&thread, NULL, send_to_a_thread, &result), 0);
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(sigtimedwait(&set, NULL, &none), SIGUSR1);
}

static void several_messages(void)
{
	struct iovec out[2] = { { "first", 5 }, { "second one", 10 } };
	struct mmsghdr messages[3];
	char buffer[3][16];
	struct iovec in[3] = { { buffer[0], 16 }, { buffer[1], 16 }, { buffer[2], 16 } };
	int ends[2];

	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < 2; i++) {
		messages[i].msg_hdr.msg_iov = &out[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	CHECK_EQUAL(sendmmsg(ends[0], messages, 2, 0), 2);
	CHECK_EQUAL(messages[1].msg_len, 10);
	for (int i = 0; i < 3; i++) {
		messages[i].msg_hdr.msg_iov = &in[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	CHECK_EQUAL(recvmmsg(ends[1], messages, 2, 0, NULL), 2);
	CHECK_EQUAL(messages[0].msg_len, 5);
	CHECK_EQUAL(messages[1].msg_len, 10);
	CHECK(memcmp(buffer[1], "second one", 10) == 0);
	CHECK_ERROR(recvmmsg(ends[1], messages, 3, MSG_DONTWAIT, NULL), EAGAIN);
	/* A Unix socket has no queue of errors, and does not heed the flag. */
	CHECK_ERROR(recv(ends[1], buffer[0], 16, MSG_ERRQUEUE | MSG_DONTWAIT), EAGAIN);
	CHECK_EQUAL(send(ends[0], "third", 5, 0), 5);
	CHECK_EQUAL(recv(ends[1], buffer[0], 16, MSG_ERRQUEUE), 5);
	/* The next call reports why the second message failed; that message is lost. */
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(send(ends[0], "123", (size_t)i + 1, 0), i + 1);
	in[1].iov_base = NULL;
	CHECK_EQUAL(recvmmsg(ends[1], messages, 3, 0, NULL), 1);
	CHECK_ERROR(recv(ends[1], buffer[0], 16, 0), EFAULT);
	CHECK_EQUAL(recv(ends[1], buffer[0], 16, 0), 3);
}

static void offsets_beyond_all_files(void)
{
	FILE *file = tmpfile();

	CHECK(file != NULL);
	CHECK_ERROR(syscall(SYS_mmap2, NULL, 0xfffff000u, PROT_READ, MAP_SHARED, fileno(file), 0xffffffffu), EOVERFLOW);
}

static void kernel_log(void)
{
	char text[256];
	int size = (int)MUST(klogctl(10, NULL, 0)), n;

	CHECK(size >= 4096);
	n = (int)MUST(klogctl(3, text, sizeof(text)));
	CHECK(n > 0 && n <= (int)sizeof(text));
	CHECK(text[n - 1] == '\n');
	MUST(klogctl(5, NULL, 0));
	CHECK_EQUAL(klogctl(3, text, sizeof(text)), 0);
	CHECK(MUST(klogctl(9, NULL, 0)) >= n);
	CHECK(MUST(klogctl(2, text, 16)) == 16);
	CHECK_ERROR(klogctl(11, NULL, 0), EINVAL);
	CHECK_ERROR(klogctl(3, NULL, 1), EINVAL);
	MUST(setuid(1000));
	CHECK_ERROR(klogctl(5, NULL, 0), EPERM);
}

static int go_elsewhere(void *own)
{
	if (own)
		MUST(unshare(CLONE_FS | CLONE_FILES));
	MUST(chdir("/dev"));
	MUST(close(0));
	return 0;
}

static void tables_of_its_own(void)
{
	static char stack[2][16384];
	char where[64];

	for (int shared = 0; shared < 2; shared++) {
		pid_t child = (pid_t)MUST(clone(go_elsewhere, stack[shared] + sizeof(stack[0]),
						CLONE_FS | CLONE_FILES | SIGCHLD, shared ? NULL : stack));

		CHECK_EQUAL(test_wait(child), 0);
		CHECK(getcwd(where, sizeof(where)) != NULL);
		CHECK_EQUAL(strcmp(where, "/dev") == 0, shared);
		CHECK_EQUAL(fcntl(0, F_GETFD) < 0, shared);
	}
	CHECK_ERROR(unshare(CLONE_NEWNS), EINVAL);
	CHECK_ERROR(unshare(1), EINVAL);
}

/* Under qemu-ppc the running program would be qemu. */
static void running_program_is_not_written(void)
{
	CHECK_ERROR(open("/proc/self/exe", O_WRONLY), ETXTBSY);
	CHECK_ERROR(open("/proc/self/exe", O_RDONLY | O_TRUNC), ETXTBSY);
	CHECK_ERROR(truncate("/proc/self/exe", 0), ETXTBSY);
}

/* A process in a user namespace of its own may not do this; the reference runs in one. */
static void privileged_attributes(void)
{
	const char *path = test_path("file"), *other = test_path("link");
	char value[8];

	test_write_file(path, "", 0);
	MUST(setxattr(path, "trusted.a", "x", 1, 0));
	MUST(setxattr(path, "security.a", "xy", 2, 0));
	CHECK_EQUAL(listxattr(path, NULL, 0), (long)(sizeof("trusted.a") + sizeof("security.a")));
	/* A symbolic link can have such attributes too, but no user attributes. */
	MUST(symlink(path, other));
	MUST(lsetxattr(other, "trusted.b", "x", 1, 0));
	CHECK_ERROR(getxattr(path, "trusted.b", value, sizeof(value)), ENODATA);
	MUST(setxattr(path, "user.a", "x", 1, 0));
	MUST(chmod(path, 0640));
	MUST(chmod(test_path(""), 0755));
	MUST(seteuid(1000));
	CHECK_EQUAL(getxattr(path, "user.a", value, sizeof(value)), 1);
	CHECK_ERROR(setxattr(path, "user.a", "y", 1, 0), EACCES);
	CHECK_ERROR(removexattr(path, "user.a"), EACCES);
	CHECK_ERROR(getxattr(path, "trusted.a", value, sizeof(value)), ENODATA);
	CHECK_ERROR(setxattr(path, "trusted.a", "y", 1, 0), EPERM);
	CHECK_EQUAL(getxattr(path, "security.a", value, sizeof(value)), 2);
	CHECK_ERROR(setxattr(path, "security.a", "y", 1, 0), EPERM);
	CHECK_EQUAL(listxattr(path, NULL, 0), (long)(sizeof("security.a") + sizeof("user.a")));
	MUST(seteuid(0));
}

/* qemu-ppc refuses the flag CLONE_PIDFD. */
static void descriptor_of_the_child(void)
{
	struct clone_args {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} arguments = { .flags = CLONE_PIDFD, .exit_signal = SIGCHLD };
	int fd = -1;

	for (int third = 0; third < 2; third++) {
		long child;

		arguments.pidfd = (uintptr_t)&fd;
		child = third ? syscall(SYS_clone3, &arguments, sizeof(arguments)) :
				syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &fd, 0, 0);
		if (child == 0)
			pause();
		MUST(child);
		CHECK_EQUAL(fcntl(fd, F_GETFD), FD_CLOEXEC);
		MUST(syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0));
		CHECK_EQUAL(test_wait((pid_t)child), 1000 + SIGKILL);
		MUST(close(fd));
	}
	arguments.pidfd = 1;
	CHECK_ERROR(syscall(SYS_clone3, &arguments, sizeof(arguments)), EFAULT);
	CHECK_ERROR(syscall(SYS_clone, CLONE_PIDFD | CLONE_PARENT_SETTID | SIGCHLD, 0, &fd, 0, 0), EINVAL);
	CHECK_ERROR(syscall(SYS_clone, CLONE_PIDFD | CLONE_DETACHED | SIGCHLD, 0, &fd, 0, 0), EINVAL);
}

/* A call may change some registers, but must not return values of the kernel in them. */
static void registers_after_a_call(void)
{
	static const long calls[] = { SYS_getpid, SYS_getuid, SYS_close, SYS_sched_yield, SYS_read, SYS_brk };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		CHECK(machine_call_is_clean(calls[i], calls[i] == SYS_brk ? 0 : (unsigned long)-1));
}

static void *map_above_the_limit(void *unused)
{
	const struct rlimit small = { 64 << 20, 64 << 20 };

	usleep(20000);
	MUST(setrlimit(RLIMIT_AS, &small));
	_exit(mmap(NULL, 128 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 0 : 1);
	return unused;
}

static int leader_ends_first(void *unused)
{
	pthread_t thread;

	(void)unused;
	CHECK_EQUAL(pthread_create(&thread, NULL, map_above_the_limit, NULL), 0);
	syscall(SYS_exit, 3);
	return 4;
}

static void limits_after_the_leader(void)
{
	CHECK_EQUAL(test_in_child(leader_ends_first, NULL), 0);
}

/* Locked settings cannot change; only the superuser can lock them. */
static void locked_settings(void)
{
	struct {
		unsigned flags[4];
		unsigned char characters[20];
		unsigned speeds[2];
	} before, locks, after;
	const unsigned get = MACHINE_TCGETS, set = MACHINE_TCSETS, interrupt = MACHINE_CHARACTERS_FROM + VINTR,
		       quit = MACHINE_CHARACTERS_FROM + VQUIT;
	int fd = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY));

	MUST(ioctl(fd, get, &before));
	MUST(ioctl(fd, TIOCGLCKTRMIOS, &locks));
	CHECK_EQUAL(locks.flags[3] | locks.characters[interrupt], 0);
	locks.flags[3] = ECHO;
	locks.characters[interrupt] = 1;
	MUST(ioctl(fd, TIOCSLCKTRMIOS, &locks));
	after = before;
	after.flags[3] ^= ECHO | ISIG;
	after.characters[interrupt] ^= 1;
	after.characters[quit] ^= 1;
	MUST(ioctl(fd, set, &after));
	MUST(ioctl(fd, get, &after));
	CHECK_EQUAL(after.flags[3] ^ before.flags[3], ISIG);
	CHECK_EQUAL(after.characters[interrupt] ^ before.characters[interrupt], 0);
	CHECK_EQUAL(after.characters[quit] ^ before.characters[quit], 1);
	MUST(ioctl(fd, TIOCGLCKTRMIOS, &after));
	CHECK_EQUAL(after.flags[3], ECHO);
	CHECK_ERROR(ioctl(fd, TIOCSLCKTRMIOS, NULL), EFAULT);
	MUST(setuid(1000));
	CHECK_ERROR(ioctl(fd, TIOCSLCKTRMIOS, &locks), EPERM);
}

static int connecting;
static atomic_int connecting_thread;

static void ignore_signal(int number)
{
	(void)number;
}

static void *connect_and_wait(void *address)
{
	connecting_thread = (int)syscall(SYS_gettid);
	return (void *)(intptr_t)(connect(connecting, address, sizeof(struct sockaddr_in)) ? errno : 0);
}

static pthread_t start_connecting(struct sockaddr_in *address)
{
	pthread_t thread;

	connecting_thread = 0;
	CHECK_EQUAL(pthread_create(&thread, NULL, connect_and_wait, address), 0);
	while (!connecting_thread)
		sched_yield();
	test_await_sleep(connecting_thread);
	return thread;
}

/* Two threads connect a socket, and wait for a full listener. A signal ends one wait: the other keeps the port. */
static void a_failed_connect_keeps_the_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int listener = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	struct sigaction action = { .sa_handler = ignore_signal };
	socklen_t size = sizeof(address);
	pthread_t first, second;
	void *error;

	MUST(sigaction(SIGUSR1, &action, NULL));
	MUST(bind(listener, (struct sockaddr *)&address, sizeof(address)));
	MUST(getsockname(listener, (struct sockaddr *)&address, &size));
	MUST(listen(listener, 0));
	MUST(connect((int)MUST(socket(AF_INET, SOCK_STREAM, 0)), (struct sockaddr *)&address, sizeof(address)));
	connecting = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	first = start_connecting(&address);
	second = start_connecting(&address);
	CHECK_EQUAL(pthread_kill(first, SIGUSR1), 0);
	CHECK_EQUAL(pthread_join(first, &error), 0);
	CHECK_EQUAL((intptr_t)error, EINTR);
	MUST(getsockname(connecting, (struct sockaddr *)&address, &size));
	CHECK(address.sin_port != 0);
	CHECK_ERROR(bind((int)MUST(socket(AF_INET, SOCK_STREAM, 0)), (struct sockaddr *)&address, size), EADDRINUSE);
	MUST(accept(listener, NULL, NULL));
	CHECK_EQUAL(pthread_join(second, &error), 0);
	CHECK_EQUAL((intptr_t)error, 0);
}

/* A datagram that no socket takes is refused before its memory is read. */
static void unread(void)
{
	size_t much = 1 << 20;
	char *block = mmap(NULL, much, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ends[2];

	CHECK(block != MAP_FAILED);
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	CHECK_ERROR(send(ends[0], block, much, 0), EMSGSIZE);
	CHECK_ERROR(send(ends[0], block, 1, 0), EFAULT);
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	CHECK_ERROR(send(ends[0], block, much, 0), EMSGSIZE);
}

/* A datagram's source must be an address of this machine. */
static void foreign_source(void)
{
	int fd = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct in_pktinfo from = { .ipi_spec_dst.s_addr = htonl(0x0a010203) };
	char control[CMSG_SPACE(sizeof(from))] __attribute__((aligned(8))) = { 0 };
	struct iovec vector = { control, 1 };
	struct msghdr message = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &vector, .msg_iovlen = 1,
				  .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(from)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO };
	memcpy(CMSG_DATA(c), &from, sizeof(from));
	CHECK_ERROR(sendmsg(fd, &message, 0), ENETUNREACH);
	from.ipi_spec_dst.s_addr = htonl(0x7f000009);
	memcpy(CMSG_DATA(c), &from, sizeof(from));
	CHECK_EQUAL(sendmsg(fd, &message, 0), 1);
}

static const struct test_case cases[] = {
	CASE(a_failed_connect_keeps_the_port),
	CASE(registers_after_a_call), CASE(floating_point_exceptions), CASE(silent_orphans_are_buried),
	CASE(message_notification), CASE(execveat_by_descriptor), CASE(execveat_errors), CASE(select_by_block),
	CASE(raw_timers), CASE(queued_by_a_threads_number), CASE(several_messages),
	CASE(offsets_beyond_all_files), CASE(kernel_log), CASE(tables_of_its_own),
	CASE(running_program_is_not_written), CASE(privileged_attributes), CASE(descriptor_of_the_child),
	CASE(locked_settings), CASE(limits_after_the_leader), CASE(unread),
	CASE(foreign_source),
};

TEST_MAIN("strict", cases)
