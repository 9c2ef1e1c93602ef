/* failalloc: makes every allocation of the kernel fail once.
 *
 *   failalloc [first [last [areas]]]
 *
 * For n = 1, 2, ... allocation number n of the kernel fails (/proc/failalloc) while a workload runs. The workload
 * forks, executes, maps memory, runs a thread, mounts, uses files, locks, pipes, sockets, polling, timers and messages,
 * and leaves a core file. The loop ends when the workload needs fewer than n allocations. The workload may only get an
 * error that means lack of memory, or be killed. A call that failed for lack of memory must succeed when it is
 * repeated. Afterwards the kernel must hold as many frames and objects as before (/proc/frames), and nothing
 * more may be mapped for it (/proc/mmu/kernel_buffers). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "ipc.h"

#define PAGE 4096u
#define FOLDER "/tmp/failalloc"

/* How the workload ends: without an error; a call reported lack of memory; a call failed for another reason. */
enum { WELL = 0, NO_MEMORY = 1, WRONG = 2 };

/* glibc's start-up code ends with this status when it gets no memory. */
#define START_FAILED 127

static const char *self;
static int with_areas;

static int lacks_memory(void)
{
	return errno == ENOMEM || errno == EAGAIN || errno == ENOBUFS || errno == ENOSPC || errno == ENFILE ||
		errno == ENOLCK;
}

static void give_up(const char *call)
{
	if (lacks_memory())
		_exit(NO_MEMORY);
	fprintf(stderr, "%s: %s\n", call, strerror(errno));
	_exit(WRONG);
}

#define TRY(call) ((call) == -1 ? (give_up(#call), -1) : 0)

static void expect(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "failalloc: %s: does not hold\n", what);
	_exit(WRONG);
}

#define EXPECT(condition) expect(condition, #condition)

/* A call that fails changes nothing, so it succeeds when it is repeated. */
#define TRY_TWICE(call) ((call) == -1 && (lacks_memory() || (give_up(#call), 0)) ? again((call) == -1, #call) : (void)0)

static void again(int failed, const char *call)
{
	if (!failed)
		return;
	fprintf(stderr, "failalloc: %s: made again: %s\n", call, strerror(errno));
	_exit(WRONG);
}

static void touch(volatile char *memory, size_t size)
{
	for (size_t at = 0; at < size; at += PAGE)
		memory[at] = 1;
}

static void use_memory(void)
{
	char *where = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *far;

	if (where == MAP_FAILED)
		give_up("mmap");
	touch(where, 8 * PAGE);
	TRY(mprotect(where + PAGE, PAGE, PROT_READ));
	far = mremap(where + 4 * PAGE, 4 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);
	if (far == MAP_FAILED)
		give_up("mremap");
	touch(far, 16 * PAGE);
	TRY(munmap(where + 2 * PAGE, PAGE));
	if (sbrk(3 * PAGE) == (void *)-1)
		give_up("sbrk");
}

static void use_files(void)
{
	static char data[3 * PAGE];
	int fd = open(FOLDER "/file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	ssize_t written;
	char *shared;

	TRY(fd);
	written = write(fd, data, sizeof(data));
	TRY(written);
	if (written < (ssize_t)sizeof(data))
		_exit(NO_MEMORY);
	TRY(lseek(fd, 0, SEEK_SET));
	TRY(read(fd, data, sizeof(data)));
	shared = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		give_up("mmap of a file");
	touch(shared, 2 * PAGE);
	TRY(ftruncate(fd, 20 * PAGE));
	TRY(mkdir(FOLDER "/directory", 0700));
	TRY(symlink("file", FOLDER "/symbolic"));
	TRY(link(FOLDER "/file", FOLDER "/directory/hard"));
	TRY(rename(FOLDER "/symbolic", FOLDER "/directory/moved"));
	TRY(unlink(FOLDER "/file"));
	TRY(close(fd));
}

static void use_channels(void)
{
	struct epoll_event event = { .events = EPOLLIN }, got;
	struct pollfd asked;
	int ends[2], pair[2], set;
	char data[64] = "";

	TRY(pipe(ends));
	TRY(write(ends[1], data, sizeof(data)));
	asked = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	TRY(poll(&asked, 1, 0));
	set = epoll_create1(0);
	TRY(set);
	TRY(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
	TRY(epoll_wait(set, &got, 1, 0));
	TRY(read(ends[0], data, sizeof(data)));
	TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	TRY(write(pair[0], data, sizeof(data)));
	TRY(read(pair[1], data, sizeof(data)));
}

/* A connection and a datagram between two addresses of this machine. */
static void use_network(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(here);
	int listening = socket(AF_INET, SOCK_STREAM, 0), datagrams = socket(AF_INET, SOCK_DGRAM, 0), from, to;
	char data[64] = "";

	TRY(listening);
	TRY(datagrams);
	TRY(bind(listening, (struct sockaddr *)&here, sizeof(here)));
	TRY(listen(listening, 1));
	TRY(getsockname(listening, (struct sockaddr *)&here, &size));
	from = socket(AF_INET, SOCK_STREAM, 0);
	TRY(from);
	TRY(connect(from, (struct sockaddr *)&here, sizeof(here)));
	to = accept(listening, NULL, NULL);
	TRY(to);
	TRY(write(from, data, sizeof(data)));
	TRY(read(to, data, sizeof(data)));
	here.sin_port = 0;
	TRY(bind(datagrams, (struct sockaddr *)&here, sizeof(here)));
	TRY(getsockname(datagrams, (struct sockaddr *)&here, &size));
	TRY(sendto(datagrams, data, sizeof(data), 0, (struct sockaddr *)&here, sizeof(here)));
	TRY(recv(datagrams, data, sizeof(data), 0));
}

/* A descriptor that is sent but never received. */
static void pass_descriptor(void)
{
	char data[1] = "", control[CMSG_SPACE(sizeof(int))];
	struct iovec piece = { data, sizeof(data) };
	struct msghdr message = {
		.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int pair[2];

	TRY(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &pair[0], sizeof(int));
	TRY(sendmsg(pair[0], &message, 0));
}

/* Sockets with names in the file system, and a descriptor that is sent and received. */
static void connect_once(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = FOLDER "/socket" };
	char data[1] = "", control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec piece = { data, sizeof(data) };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), from = socket(AF_UNIX, SOCK_STREAM, 0), to = -1;
	int passed;

	TRY(listener);
	TRY(from);
	TRY_TWICE(bind(listener, (struct sockaddr *)&name, sizeof(name)));
	TRY_TWICE(listen(listener, 4));
	TRY_TWICE(connect(from, (struct sockaddr *)&name, sizeof(name)));
	TRY_TWICE(to = accept(listener, NULL, NULL));
	EXPECT(accept(listener, NULL, NULL) == -1 && lacks_memory());
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &from, sizeof(int));
	TRY_TWICE(sendmsg(from, &message, 0));
	message.msg_controllen = sizeof(control);
	TRY_TWICE(recvmsg(to, &message, 0));
	EXPECT(recv(to, data, sizeof(data), MSG_DONTWAIT) == -1 && errno == EAGAIN);
	if (message.msg_flags & MSG_CTRUNC)
		_exit(NO_MEMORY);
	memcpy(&passed, CMSG_DATA(header), sizeof(int));
	TRY(close(passed));
	TRY(unlink(name.sun_path));
}

/* Objects that are made once, and locks that are split. */
static void make_once(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 100 };
	struct epoll_event event = { .events = EPOLLIN };
	int file = -1, set = epoll_create1(0), ends[2], timer;
	mqd_t queue = -1;

	TRY(set);
	TRY(pipe(ends));
	TRY_TWICE(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
	/* The table of descriptors grows at 32 descriptors. */
	TRY(dup2(ends[0], 31));
	for (int fd = set; fd < 31; fd++)
		if (fcntl(fd, F_GETFD) == -1)
			TRY(dup2(ends[0], fd));
	TRY_TWICE(file = open(FOLDER "/once", O_RDWR | O_CREAT | O_EXCL, 0600));
	TRY_TWICE(fcntl(file, F_SETLK, &lock));
	lock = (struct flock){ .l_type = F_UNLCK, .l_start = 40, .l_len = 10 };
	TRY_TWICE(fcntl(file, F_SETLK, &lock));
	TRY_TWICE(queue = mq_open("/failalloc", O_RDWR | O_CREAT | O_EXCL, 0600, NULL));
	TRY(mq_unlink("/failalloc"));
	TRY_TWICE(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &timer));
	EXPECT(timer == 0);
	TRY(unlink(FOLDER "/once"));
}

/* Reserves all space of a file at once, and remaps memory, which must keep its contents. */
static void keep_memory(void)
{
	char *where = mmap(NULL, 40 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *far;
	int file = memfd_create("space", 0), status;
	struct stat found;
	pid_t child;

	if (where == MAP_FAILED)
		give_up("mmap");
	TRY(file);
	if (fallocate(file, 0, 60 * PAGE, 80 * PAGE) == -1) {
		if (!lacks_memory())
			give_up("fallocate");
		TRY(fstat(file, &found));
		EXPECT(found.st_blocks == 0 && found.st_size == 0);
		again(fallocate(file, 0, 60 * PAGE, 80 * PAGE) == -1, "fallocate");
	}
	for (int i = 0; i < 40; i++)
		where[i * PAGE] = (char)(i + 1);
	child = fork();
	if (child == -1) {
		if (!lacks_memory())
			give_up("fork");
		child = fork();
		again(child == -1, "fork");
	}
	if (child == 0)
		_exit(WELL);
	TRY(waitpid(child, &status, 0));
	far = mremap(where, 40 * PAGE, 2048 * PAGE, MREMAP_MAYMOVE);
	if (far == MAP_FAILED) {
		if (!lacks_memory())
			give_up("mremap");
		far = mremap(where, 40 * PAGE, 2048 * PAGE, MREMAP_MAYMOVE);
		again(far == MAP_FAILED, "mremap");
	}
	for (int i = 0; i < 40; i++)
		EXPECT(far[i * PAGE] == (char)(i + 1));
}

static void use_mounts(void)
{
	TRY(mkdir(FOLDER "/mounted", 0700));
	TRY(mount("none", FOLDER "/mounted", "tmpfs", 0, NULL));
	TRY(mkdir(FOLDER "/mounted/directory", 0700));
	TRY(rename(FOLDER "/mounted/directory", FOLDER "/mounted/moved"));
	TRY(umount(FOLDER "/mounted"));
}

static void *run_thread(void *memory)
{
	touch(memory, PAGE);
	return memory;
}

static void use_threads(void)
{
	static char memory[PAGE];
	pthread_t thread;

	errno = pthread_create(&thread, NULL, run_thread, memory);
	if (errno)
		give_up("pthread_create");
	errno = pthread_join(thread, NULL);
	if (errno)
		give_up("pthread_join");
}

static void on_signal(int number)
{
	(void)number;
}

/*
 * Only if asked for: a fork of more memory than the kernel flushes together, which can fail between two areas of one
 * page table. The parent's pages must not stay writable in the TLB then, which check=on sees.
 */
static void fork_areas(void)
{
	enum { TABLE = 1024 * PAGE };
	char *where = mmap(NULL, 4 * TABLE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *last;
	int status;
	pid_t child;

	if (where == MAP_FAILED)
		give_up("mmap");
	where += -(uintptr_t)where % TABLE;
	last = where + 2 * TABLE;
	TRY(mprotect(where, 2 * TABLE, PROT_READ | PROT_WRITE));
	for (int i = 0; i < 3; i++) {
		TRY(mprotect(last + 2 * i * PAGE, PAGE, PROT_READ | PROT_WRITE));
		touch(last + 2 * i * PAGE, PAGE);
	}
	touch(where, PAGE);
	touch(where + TABLE, PAGE);
	child = fork();
	if (child == -1) {
		if (!lacks_memory())
			give_up("fork");
		touch(last + 4 * PAGE, PAGE);
		child = fork();
		again(child == -1, "fork");
	}
	if (child == 0)
		_exit(WELL);
	TRY(waitpid(child, &status, 0));
	TRY(munmap(where, 3 * TABLE));
}

/* A child that executes this program again, and a child that only writes to pages shared with its parent. */
static void use_processes(void)
{
	for (int again = 0; again < 2; again++) {
		pid_t child = fork();
		int status;

		TRY(child);
		if (child == 0 && again) {
			execl(self, self, "leaf", NULL);
			give_up("execl");
		}
		if (child == 0) {
			static char written[2 * PAGE];

			touch(written, sizeof(written));
			_exit(WELL);
		}
		TRY(waitpid(child, &status, 0));
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
			fprintf(stderr, "child: signal %d\n", WTERMSIG(status));
			_exit(WRONG);
		}
		if (!WIFEXITED(status) || WEXITSTATUS(status) == NO_MEMORY || WEXITSTATUS(status) == START_FAILED)
			_exit(NO_MEMORY);
		if (WEXITSTATUS(status) != WELL)
			_exit(WRONG);
	}
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
}

/* A RAM disk, an extended attribute, a process's descriptor, and a terminal. */
static void use_objects(void)
{
	int disk = open("/dev/ram0", O_RDWR), file, process, terminal, unlocked = 0;

	TRY(disk);
	TRY(write(disk, "x", 1));
	TRY(close(disk));
	file = open(FOLDER "/directory/hard", O_RDWR | O_CREAT, 0600);
	TRY(file);
	TRY(fsetxattr(file, "user.failalloc", "value", 5, 0));
	TRY(close(file));
	process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	TRY(process);
	TRY(syscall(SYS_pidfd_send_signal, process, 0, NULL, 0));
	terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	TRY(terminal);
	TRY(ioctl(terminal, TIOCSPTLCK, &unlocked));
	TRY(ioctl(terminal, TIOCGPTPEER, O_RDWR | O_NOCTTY));
}

/* A child that leaves a core file, if there is memory for one. */
static void leave_core(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	pid_t child = fork();
	int status;

	TRY(child);
	if (child == 0) {
		TRY(setrlimit(RLIMIT_CORE, &all));
		TRY(chdir(FOLDER));
		abort();
	}
	TRY(waitpid(child, &status, 0));
	if (!WIFSIGNALED(status) || !WCOREDUMP(status))
		_exit(NO_MEMORY);
}

/* A message with memory from a child. */
static void use_messages(void)
{
	static char memory[2 * PAGE];
	struct ipc_buffers buffers = { memory, sizeof(memory), memory, sizeof(memory) };
	struct ipc_message message = { { 0 }, 0 };
	pid_t child = fork();
	long result;
	int status;

	TRY(child);
	if (child == 0) {
		touch(memory, sizeof(memory));
		result = ipc_invoke(IPC_SEND, getppid(), &buffers, IPC_FOREVER, &message);
		errno = (int)-result;
		if (result)
			give_up("ipc_send");
		_exit(WELL);
	}
	result = ipc_invoke(IPC_RECEIVE, child, &buffers, IPC_FOREVER, &message);
	TRY(waitpid(child, &status, 0));
	if ((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
	    (WIFEXITED(status) && WEXITSTATUS(status) == NO_MEMORY))
		_exit(NO_MEMORY);
	if (status || result != child || message.size != sizeof(memory) || memory[PAGE] != 1) {
		fprintf(stderr, "failalloc: message: result %ld, child's status 0x%x\n", result, status);
		_exit(WRONG);
	}
}

static void workload(void)
{
	TRY(mkdir(FOLDER, 0700));
	if (with_areas)
		fork_areas();
	use_processes();
	use_memory();
	use_files();
	use_channels();
	use_messages();
	use_network();
	pass_descriptor();
	connect_once();
	make_once();
	keep_memory();
	use_mounts();
	use_objects();
	use_threads();
	leave_core();
	_exit(WELL);
}

static void empty_disk(void)
{
	int fd = open("/dev/ram0", O_RDONLY);

	ioctl(fd, BLKFLSBUF, 0);
	close(fd);
}

/* Removes what the workload may have left behind. */
static void tidy(void)
{
	static const char *const files[] = { FOLDER "/directory/hard", FOLDER "/directory/moved", FOLDER "/symbolic",
					     FOLDER "/file", FOLDER "/core", FOLDER "/socket", FOLDER "/once" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(files[i]);
	mq_unlink("/failalloc");
	empty_disk();
	rmdir(FOLDER "/directory");
	umount(FOLDER "/mounted");
	rmdir(FOLDER "/mounted");
	rmdir(FOLDER);
}

static void die(const char *what)
{
	fprintf(stderr, "failalloc: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void read_file(const char *path, char *buffer, size_t room)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		die(path);
	n = read(fd, buffer, room - 1);
	if (n < 0)
		die(path);
	buffer[n] = '\0';
	close(fd);
}

static unsigned long field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	if (!at) {
		fprintf(stderr, "failalloc: /proc: no field %s\n", name);
		exit(2);
	}
	return strtoul(at + strlen(name), NULL, 10);
}

static const char *const fields[] = { "page_table ", "anonymous ", "cache ", "kmalloc_objects ", "kmalloc_bytes " };
static const char *const buffer_fields[] = { "mapped ", "places " };

#define FRAME_FIELDS (sizeof(fields) / sizeof(fields[0]))
#define BUFFER_FIELDS (sizeof(buffer_fields) / sizeof(buffer_fields[0]))
#define FIELDS (FRAME_FIELDS + BUFFER_FIELDS)

static void take_stock(unsigned long stock[FIELDS])
{
	static char text[2048];

	read_file("/proc/frames", text, sizeof(text));
	for (size_t i = 0; i < FRAME_FIELDS; i++)
		stock[i] = field(text, fields[i]);
	read_file("/proc/mmu/kernel_buffers", text, sizeof(text));
	for (size_t i = 0; i < BUFFER_FIELDS; i++)
		stock[FRAME_FIELDS + i] = field(text, buffer_fields[i]);
}

static void arm(int fd, unsigned long n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%lu", n);

	/* The write itself may need the allocation with number n. */
	while (write(fd, text, (size_t)length) != length)
		if (errno != ENOMEM)
			die("/proc/failalloc");
}

/* Runs the workload while allocation n fails. Returns its exit status, 1000 + signal, or NO_MEMORY when the fork
 * failed. */
static int attempt(int fd, unsigned long n)
{
	int status = 0, error;
	pid_t child;

	arm(fd, n);
	child = fork();
	error = errno;
	if (child == 0)
		workload();
	if (child > 0)
		waitpid(child, &status, 0);
	arm(fd, 0);
	tidy();
	if (child < 0)
		return error == ENOMEM || error == EAGAIN ? NO_MEMORY : WRONG;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 1,
		last = argc > 2 ? strtoul(argv[2], NULL, 10) : ~0ul;
	unsigned long counts[3] = { 0, 0, 0 }, killed = 0, n, before[FIELDS], after[FIELDS], seen;
	int fd = open("/proc/failalloc", O_WRONLY | O_CLOEXEC), bad = 0;
	static char text[256];

	if (argc == 2 && strcmp(argv[1], "leaf") == 0)
		return WELL;
	self = argv[0];
	with_areas = argc > 3;
	if (fd < 0)
		die("/proc/failalloc");
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("failalloc: from allocation %lu on\n", first);
	/* The first runs fill the kernel's caches, and this program's own pages. */
	for (int i = 0; i < 3; i++)
		if (attempt(fd, 0) != WELL)
			die("the workload without a failing allocation");
	take_stock(before);
	take_stock(before);
	for (n = first; n <= last; n++) {
		int status = attempt(fd, n);

		read_file("/proc/failalloc", text, sizeof(text));
		seen = field(text, "before ");
		if (status == 1000 + SIGKILL) {
			killed++;
		} else if (status == WELL || status == NO_MEMORY) {
			counts[status]++;
		} else {
			printf("allocation %lu fails: the workload ended with %d\n", n, status);
			bad = 1;
		}
		take_stock(after);
		for (size_t i = 0; i < FIELDS; i++) {
			if (after[i] == before[i])
				continue;
			printf("allocation %lu fails: %s%lu, not %lu\n", n,
			       i < FRAME_FIELDS ? fields[i] : buffer_fields[i - FRAME_FIELDS], after[i], before[i]);
			bad = 1;
			before[i] = after[i];
		}
		if (seen < n)
			break;
	}
	printf("allocations 1 to %lu failed one by one: %lu times without effect, %lu with an error, %lu killed\n", n - 1,
	       counts[WELL], counts[NO_MEMORY], killed);
	return bad;
}
