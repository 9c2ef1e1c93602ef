/* How long interrupts wait in calls that look at many names, attributes, watches, signals or processes. Uses guest
 * time, so only our kernel can pass. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/latency.h"

#define FILES 3000

static void enter_new_directory(const char *name)
{
	MUST(mkdir(test_path(name), 0700));
	MUST(chdir(test_path(name)));
}

static void make_files(const char *directory)
{
	char name[16];

	enter_new_directory(directory);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%d", i);
		MUST(mknod(name, S_IFREG | 0600, 0));
	}
}

static void list_files(void)
{
	static char entries[32768];
	struct stat s;
	int fd;

	make_files("listed");
	fd = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
	while (MUST(syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		;
	MUST(lseek(fd, 0x7fffffff, SEEK_SET));
	CHECK_EQUAL(syscall(SYS_getdents64, fd, entries, sizeof(entries)), 0);
	MUST(stat("0", &s));
}

static void watch_files(void)
{
	int fd = (int)MUST(inotify_init1(0));
	char name[16];

	make_files("watched");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%d", i);
		MUST(inotify_add_watch(fd, name, IN_ATTRIB));
	}
	CHECK_EQUAL(inotify_rm_watch(fd, FILES + 100), -1);
	MUST(close(fd));
}

static void have_many_attributes(void)
{
	static char value[65536], other[sizeof(value)], list[sizeof(value)];
	char name[256], names[16];
	int fd = (int)MUST(open(test_path("attributes"), O_RDWR | O_CREAT, 0600));

	MUST(fsetxattr(fd, "user.long", value, sizeof(value), 0));
	CHECK_EQUAL(fgetxattr(fd, "user.long", other, sizeof(other)), sizeof(other));
	for (int i = 0; i < 127; i++) {
		snprintf(name, sizeof(name), "user.%0250d", i);
		MUST(fsetxattr(fd, name, "x", 1, 0));
	}
	CHECK_EQUAL(fgetxattr(fd, "user.none", name, sizeof(name)), -1);
	MUST(flistxattr(fd, NULL, 0));
	CHECK_EQUAL(flistxattr(fd, names, sizeof(names)), -1);
	CHECK_EQUAL(flistxattr(fd, list, sizeof(list)), sizeof("user.long") + 127 * 256);
}

/* The descriptor holds the deepest directory, which holds those above it. */
static void leave_removed_directories(void)
{
	int fd;

	enter_new_directory("removed");
	for (int i = 0; i < 1000; i++) {
		MUST(mkdir("d", 0700));
		MUST(chdir("d"));
	}
	fd = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
	for (int i = 0; i < 1000; i++) {
		MUST(chdir(".."));
		MUST(rmdir("d"));
	}
	MUST(close(fd));
}

static void queue_signals(void)
{
	const struct timespec none = { 0, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGRTMIN + 1);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 900; i++)
		MUST(sigqueue(getpid(), SIGRTMIN, (union sigval){ i }));
	MUST(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ 0 }));
	sigdelset(&set, SIGRTMIN);
	CHECK_EQUAL(sigtimedwait(&set, NULL, &none), SIGRTMIN + 1);
	CHECK(signal(SIGRTMIN + 1, SIG_IGN) != SIG_ERR);
	/* The end of the process frees the other signals. */
}

static int wait_for_a_signal(void *argument)
{
	(void)argument;
	pause();
	return 0;
}

/* Each child in a group of its own: the kernel asks whether its end orphans others. */
static void end_many_groups(void)
{
	pid_t children[300];

	for (int i = 0; i < 300; i++) {
		children[i] = test_child(wait_for_a_signal, NULL);
		MUST(setpgid(children[i], 0));
	}
	CHECK_EQUAL(waitpid(-1, NULL, WNOHANG), 0);
	MUST(getpriority(PRIO_USER, 0));
	for (int i = 0; i < 300; i++)
		MUST(kill(children[i], SIGKILL));
	for (int i = 300; i-- > 0;)
		CHECK_EQUAL(test_wait(children[i]), 1000 + SIGKILL);
}

static void splice_much(void)
{
	static char data[1 << 20];
	int from[2], to[2], nowhere = (int)MUST(open("/dev/null", O_WRONLY));

	MUST(pipe(from));
	MUST(pipe(to));
	MUST(fcntl(from[1], F_SETPIPE_SZ, sizeof(data)));
	MUST(fcntl(to[1], F_SETPIPE_SZ, sizeof(data)));
	CHECK_EQUAL(write(from[1], data, sizeof(data)), sizeof(data));
	CHECK_EQUAL(tee(from[0], to[1], sizeof(data), 0), sizeof(data));
	CHECK_EQUAL(splice(to[0], NULL, nowhere, NULL, sizeof(data), 0), sizeof(data));
	CHECK_EQUAL(splice(from[0], NULL, to[1], NULL, sizeof(data), 0), sizeof(data));
}

static void send_descriptor(int through, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec one = { "x", 1 };
	struct msghdr message = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	CHECK_EQUAL(sendmsg(through, &message, 0), 1);
}

static void leave_connections(void)
{
	struct sockaddr_un address = { AF_UNIX, "\0many" };
	int pair[2], listener = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));

	MUST(bind(listener, (struct sockaddr *)&address, 8));
	MUST(listen(listener, 3000));
	for (int i = 0; i < 3000; i++) {
		int fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));

		MUST(connect(fd, (struct sockaddr *)&address, 8));
		MUST(close(fd));
	}
	/* The search for sockets that nobody can receive looks at each connection. */
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	send_descriptor(pair[0], listener);
	MUST(close(listener));
	MUST(close(pair[0]));
	MUST(close(pair[1]));
}

static void poll_most(void)
{
	static struct pollfd set[4096];

	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 }));
	for (size_t i = 0; i < 4096; i++)
		set[i] = (struct pollfd){ .fd = 1, .events = POLLOUT };
	CHECK_EQUAL(poll(set, 4096, 0), 4096);
}

/* A path of 2048 components, and forty links whose texts have as many. */
static void walk_long_paths(void)
{
	static char path[4096];
	char name[16];
	struct stat s;

	enter_new_directory("paths");
	for (size_t i = 0; i < sizeof(path) - 5; i += 2)
		memcpy(path + i, "./", 2);
	MUST(stat(path, &s));
	strcpy(path + strlen(path) - 2, "/0");
	MUST(mknod("0", S_IFREG | 0600, 0));
	for (int i = 1; i <= 40; i++) {
		snprintf(name, sizeof(name), "%d", i);
		MUST(symlink(path, name));
		snprintf(path + strlen(path) - (i > 10 ? 2 : 1), 4, "%d", i);
	}
	MUST(stat(name, &s));
	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	strcpy(path + sizeof(path) - 4, "dev");
	MUST(stat(path, &s));
	memset(path, '/', sizeof(path) - 4);
	for (int i = 1; i <= 39; i++) {
		snprintf(name, sizeof(name), "/s%d", i);
		MUST(symlink(path, name));
		memset(path, '/', sizeof(path) - 1);
		strcpy(path + sizeof(path) - strlen(name) - 1, name + 1);
	}
	MUST(stat(name, &s));
	for (int i = 1; i <= 39; i++) {
		snprintf(name, sizeof(name), "/s%d", i);
		MUST(unlink(name));
	}
}

/* The path of a directory below as many as a path can name. */
static void find_out_where(void)
{
	static char path[4096];
	int depth = 0;

	enter_new_directory("deep");
	while (getcwd(path, sizeof(path))) {
		MUST(mkdir("d", 0700));
		MUST(chdir("d"));
		depth++;
	}
	CHECK(depth > 2000);
}

static void open_most(int flags)
{
	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 }));
	for (int i = 3; i < 4096; i++)
		MUST(open("/dev/null", O_RDONLY | flags));
}

static void close_most(void)
{
	open_most(0);
	MUST(syscall(SYS_close_range, 3, 4095, 0));
	MUST(syscall(SYS_close_range, 3, 4095, 0));
}

static void close_most_in_exec(void)
{
	open_most(O_CLOEXEC);
	MUST(execl("/proc/self/exe", "latency_many", "do_nothing", NULL));
}

static void pass_most(void)
{
	static union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(253 * sizeof(int))];
	} control;
	char byte = 0;
	struct iovec piece = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control),
	};
	int pair[2], fds[253] = { 0 };

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	control.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(fds)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
	};
	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	MUST(sendmsg(pair[0], &message, 0));
	MUST(recvmsg(pair[1], &message, 0));
	CHECK_EQUAL(control.header.cmsg_len, CMSG_LEN(sizeof(fds)));
}

/* A pipe signals each file that has it in the mode O_ASYNC: every time, all processes of a group. */
static void tell_groups(void)
{
	enum { PROCESSES = 100 };
	int ends[2], go[2];
	char path[32];

	MUST(pipe(ends));
	MUST(pipe(go));
	MUST(setpgid(0, 0));
	signal(SIGIO, SIG_IGN);
	for (int i = 0; i < PROCESSES; i++)
		if (MUST(fork()) == 0) {
			close(go[1]);
			_exit((int)read(go[0], path, 1));
		}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	for (int i = 0; i < 32; i++) {
		int fd = (int)MUST(open(path, O_RDONLY));

		MUST(fcntl(fd, F_SETOWN, -getpid()));
		MUST(fcntl(fd, F_SETFL, O_ASYNC));
	}
	MUST(write(ends[1], "", 1));
	close(go[1]);
	for (int i = 0; i < PROCESSES; i++)
		MUST(wait(NULL));
}

static const struct test_case calls[] = {
	CASE(list_files), CASE(watch_files), CASE(have_many_attributes), CASE(leave_removed_directories),
	CASE(queue_signals), CASE(end_many_groups), CASE(splice_much), CASE(leave_connections),
	CASE(poll_most), CASE(walk_long_paths), CASE(find_out_where), CASE(close_most), CASE(close_most_in_exec),
	CASE(pass_most), CASE(tell_groups),
};

static void interrupts_wait_little(void)
{
	latency_check(calls, sizeof(calls) / sizeof(calls[0]));
}

/* For close_most_in_exec. */
static void do_nothing(void)
{
}

static const struct test_case cases[] = {
	CASE(interrupts_wait_little), CASE(do_nothing),
};

TEST_MAIN("latency_many", cases)
