/* How long interrupts wait during long calls. Uses guest time, so only our kernel can pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/latency.h"

#define PAGE 4096u
#define MB (1u << 20)
#define HUGE (1u << 30)
#define LARGE (4u * MB)

static void *map(size_t size, int protection, int flags)
{
	void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static void transfer(void)
{
	int out = (int)MUST(open("/dev/null", O_WRONLY)), in = (int)MUST(open("/dev/zero", O_RDONLY));

	CHECK_EQUAL(sendfile(out, in, NULL, LARGE), LARGE);
	close(in);
	close(out);
}

static void make_random(void)
{
	void *at = map(MB, PROT_READ | PROT_WRITE, 0);
	size_t done = 0;

	while (done < MB)
		done += (size_t)MUST(getrandom((char *)at + done, MB - done, 0));
	MUST(munmap(at, MB));
}

static void write_and_truncate(void)
{
	void *at = map(LARGE, PROT_READ | PROT_WRITE, 0);
	int fd = (int)MUST(memfd_create("file", 0));

	CHECK_EQUAL(write(fd, at, LARGE), LARGE);
	CHECK_EQUAL(pread(fd, at, LARGE, 0), LARGE);
	MUST(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LARGE));
	CHECK_EQUAL(lseek(fd, 0, SEEK_HOLE), LARGE);
	MUST(ftruncate(fd, 0));
	MUST(fallocate(fd, 0, 0, LARGE));
	close(fd);
	MUST(munmap(at, LARGE));
}

static void through_a_pipe(void)
{
	void *at = map(MB, PROT_READ | PROT_WRITE, MAP_POPULATE);
	int ends[2];
	long size;

	MUST(pipe(ends));
	size = MUST(fcntl(ends[1], F_GETPIPE_SZ));
	CHECK_EQUAL(write(ends[1], at, (size_t)size), size);
	CHECK_EQUAL(read(ends[0], at, (size_t)size), size);
	close(ends[0]);
	close(ends[1]);
	MUST(munmap(at, MB));
}

static void map_nothing(void)
{
	void *at = map(HUGE, PROT_NONE, 0);

	MUST(mprotect(at, HUGE, PROT_READ));
	MUST(munmap(at, HUGE));
}

static void map_sparsely(void)
{
	char *at = map(HUGE, PROT_READ | PROT_WRITE, MAP_NORESERVE), *to;

	for (size_t offset = 0; offset < HUGE; offset += HUGE / 64)
		at[offset] = 1;
	MUST(mprotect(at, HUGE, PROT_READ));
	to = mremap(at, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED, at - HUGE);
	CHECK(to == at - HUGE);
	CHECK_EQUAL(to[HUGE / 64], 1);
	MUST(munmap(to, HUGE));
}

static int end_at_once(void *argument)
{
	(void)argument;
	return 0;
}

static void map_densely(void)
{
	char *at = map(LARGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_POPULATE);

	memset(at, 1, LARGE);
	CHECK_EQUAL(test_in_child(end_at_once, NULL), 0);
	MUST(mprotect(at, LARGE, PROT_READ | PROT_EXEC));
	MUST(madvise(at, LARGE / 2, MADV_DONTNEED));
	MUST(munmap(at, LARGE));
}

static void have_many_areas(void)
{
	char *at = map(4000 * PAGE, PROT_READ | PROT_WRITE, 0);
	static char text[65536];
	int fd = (int)MUST(open("/proc/self/maps", O_RDONLY));

	for (size_t i = 0; i < 4000; i += 2)
		MUST(mprotect(at + i * PAGE, PAGE, PROT_READ));
	while (MUST(read(fd, text, sizeof(text))) > 0)
		;
	close(fd);
	CHECK_EQUAL(test_in_child(end_at_once, NULL), 0);
	MUST(munmap(at, 4000 * PAGE));
}

/* Makes every call that looks at areas, with many areas. */
static void go_over_areas(void)
{
	char *at = map(4000 * PAGE, PROT_READ | PROT_WRITE, 0);

	for (size_t i = 0; i < 4000; i += 2)
		MUST(mprotect(at + i * PAGE, PAGE, PROT_READ));
	MUST(mlock2(at, 4000 * PAGE, MLOCK_ONFAULT));
	MUST(msync(at, 4000 * PAGE, MS_ASYNC));
	MUST(munlockall());
	MUST(mlockall(MCL_CURRENT | MCL_ONFAULT));
	MUST(munlockall());
	CHECK(mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + 3999 * PAGE) != MAP_FAILED);
	CHECK(mmap(at, 4000 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
	MUST(munmap(at, 4000 * PAGE));
}

#define WAITERS 300

static uint32_t word, other;

static long futex(uint32_t *at, int op, uint32_t value, long value2, uint32_t *at2)
{
	return syscall(SYS_futex, at, op, value, value2, at2, 0);
}

static void *wait_for_word(void *argument)
{
	(void)argument;
	(void)futex(&word, FUTEX_WAIT, 0, 0, NULL);
	return NULL;
}

/* Makes every futex call that looks at the waiters of a word, with many waiters. */
static void wait_together(void)
{
	static pthread_t threads[WAITERS];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (int i = 0; i < WAITERS; i++)
		CHECK_EQUAL(pthread_create(&threads[i], &small, wait_for_word, NULL), 0);
	while (futex(&word, FUTEX_REQUEUE, 0, WAITERS, &word) < WAITERS)
		sched_yield();
	CHECK_EQUAL(futex(&word, FUTEX_REQUEUE, 0, WAITERS, &other), WAITERS);
	CHECK_EQUAL(futex(&other, FUTEX_CMP_REQUEUE, 0, WAITERS, &word), WAITERS);
	CHECK_EQUAL(futex(&word, FUTEX_WAKE, WAITERS, 0, NULL), WAITERS);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
}

static void *wait_for_second(void *argument)
{
	(void)argument;
	(void)futex(&other, FUTEX_WAIT, 0, 0, NULL);
	return NULL;
}

static void start_many(pthread_t threads[WAITERS], void *(*function)(void *))
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (int i = 0; i < WAITERS; i++)
		CHECK_EQUAL(pthread_create(&threads[i], &small, function, NULL), 0);
}

static void join_many(pthread_t threads[WAITERS])
{
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
}

/* FUTEX_WAKE_OP: nobody waits for the first word, many wait for the second. The second word is 0 before and after. */
static void wake_by_operation(void)
{
	static pthread_t threads[WAITERS];

	start_many(threads, wait_for_second);
	while (futex(&other, FUTEX_REQUEUE, 0, WAITERS, &other) < WAITERS)
		sched_yield();
	CHECK_EQUAL(syscall(SYS_futex, &word, FUTEX_WAKE_OP, WAITERS, WAITERS, &other,
			    FUTEX_OP(FUTEX_OP_SET, 0, FUTEX_OP_CMP_EQ, 0)), WAITERS);
	join_many(threads);
}

static void *hold_for_a_moment(void *argument)
{
	(void)argument;
	CHECK_EQUAL(futex(&word, FUTEX_LOCK_PI, 0, 0, NULL), 0);
	CHECK_EQUAL(futex(&word, FUTEX_UNLOCK_PI, 0, 0, NULL), 0);
	return NULL;
}

/* One mutex that many threads lock in turn. */
static void hand_on(void)
{
	static pthread_t threads[WAITERS];

	word = 0;
	CHECK_EQUAL(futex(&word, FUTEX_LOCK_PI, 0, 0, NULL), 0);
	start_many(threads, hold_for_a_moment);
	for (int i = 0; i < 100; i++)
		sched_yield();
	CHECK_EQUAL(futex(&word, FUTEX_UNLOCK_PI, 0, 0, NULL), 0);
	join_many(threads);
	CHECK_EQUAL(word, 0);
}

/* Files with very many waiters: threads, and epoll sets that contain the file under many descriptors. */
#define SETS 4
#define NUMBERS 800

static int watched;

static void watch_often(int fd, short events)
{
	struct epoll_event wanted = { .events = (uint32_t)events };
	int number[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		number[i] = (int)MUST(dup(fd));
	for (int s = 0; s < SETS; s++) {
		int set = (int)MUST(epoll_create1(0));

		for (int i = 0; i < NUMBERS; i++)
			MUST(epoll_ctl(set, EPOLL_CTL_ADD, number[i], &wanted));
	}
}

static void wake_sets(void)
{
	const uint64_t one = 1;
	uint64_t count;
	int fd = (int)MUST(eventfd(0, 0));

	watch_often(fd, EPOLLIN);
	CHECK_EQUAL(write(fd, &one, sizeof(one)), sizeof(one));
	CHECK_EQUAL(read(fd, &count, sizeof(count)), sizeof(count));
}

static void wake_sets_of_a_pipe(void)
{
	int both[2];

	MUST(pipe(both));
	watch_often(both[0], EPOLLIN);
	CHECK_EQUAL(write(both[1], "x", 1), 1);
}

/* Here the wake-up comes from an interrupt. */
static void wake_sets_of_a_timer(void)
{
	const struct itimerspec soon = { { 0, 0 }, { 0, 3000000 } };
	int fd = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	uint64_t count;

	watch_often(fd, EPOLLIN);
	MUST(timerfd_settime(fd, 0, &soon, NULL));
	CHECK_EQUAL(read(fd, &count, sizeof(count)), sizeof(count));
}

static void *wait_for_watched(void *argument)
{
	struct pollfd one = { .fd = watched, .events = POLLIN };

	(void)argument;
	CHECK_EQUAL(poll(&one, 1, -1), 1);
	return NULL;
}

static void wake_threads(void)
{
	static pthread_t threads[WAITERS];
	const struct itimerspec soon = { { 0, 0 }, { 0, 100000000 } };

	watched = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	MUST(timerfd_settime(watched, 0, &soon, NULL));
	start_many(threads, wait_for_watched);
	join_many(threads);
}

/* The kernel stops after 2048 entries of a robust list that never ends. */
static void leave_a_robust_list(void)
{
	static struct robust_list circle = { &circle };
	static struct robust_list_head head = { .list = { &circle }, .futex_offset = 8 };

	MUST(syscall(SYS_set_robust_list, &head, sizeof(head)));
}

static void send_many_messages(void)
{
	struct { long type; } message = { 1 };
	int queue = (int)MUST(msgget(IPC_PRIVATE, 0600)), sent = 0;

	while (sent < 4000 && msgsnd(queue, &message, 0, IPC_NOWAIT) == 0)
		sent++;
	CHECK_ERROR(msgrcv(queue, &message, 0, 2, IPC_NOWAIT), ENOMSG);
	MUST(msgctl(queue, IPC_RMID, NULL));
}

static void lock_many_ranges(void)
{
	int fd = (int)MUST(memfd_create("locks", 0));
	struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };

	for (lock.l_start = 0; lock.l_start < 4000; lock.l_start += 2)
		MUST(fcntl(fd, F_SETLK, &lock));
	lock = (struct flock){ .l_type = F_WRLCK };
	MUST(fcntl(fd, F_GETLK, &lock));
	lock.l_type = F_UNLCK;
	MUST(fcntl(fd, F_SETLK, &lock));
	close(fd);
}

#define SEMAPHORES 32000

static void set_many_semaphores(void)
{
	static unsigned short values[SEMAPHORES];
	union { int value; unsigned short *array; } argument = { .array = values };
	int set = (int)MUST(semget(IPC_PRIVATE, SEMAPHORES, 0600));

	MUST(semctl(set, 0, SETALL, argument));
	MUST(semctl(set, 0, GETALL, argument));
	MUST(semctl(set, 0, IPC_RMID));
}

static void tell_many(void)
{
	for (int i = 0; i < 120; i++)	/* the limit for one user is 128 */
		MUST(inotify_add_watch((int)MUST(inotify_init1(0)), test_path(""), IN_CREATE));
	close((int)MUST(open(test_path("told"), O_CREAT | O_RDWR, 0600)));
	/* The end of the process removes the watches. */
}

#define SIGNALLED 200

static int wait_for_a_signal(void *argument)
{
	(void)argument;
	pause();
	return 0;
}

static void signal_many(void)
{
	pid_t group = 0, children[SIGNALLED];

	for (int i = 0; i < SIGNALLED; i++) {
		children[i] = test_child(wait_for_a_signal, NULL);
		MUST(setpgid(children[i], group));
		group = children[0];
	}
	MUST(kill(-group, SIGKILL));
	for (int i = 0; i < SIGNALLED; i++)
		CHECK_EQUAL(test_wait(children[i]), 1000 + SIGKILL);
}

static void poll_many(void)
{
	static struct pollfd set[1000];
	int fd = (int)MUST(eventfd(0, 0));

	for (size_t i = 0; i < 1000; i++)
		set[i] = (struct pollfd){ .fd = (int)MUST(dup(fd)), .events = POLLIN };
	CHECK_EQUAL(poll(set, 1000, 1), 0);
	/* The end of the process closes the descriptors. */
}

/* The next names that the kernel would choose are in use. */
#define NAMES 3000

static void allow_descriptors(rlim_t count)
{
	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ count, count }));
}

static void name_many(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(name);
	unsigned first;

	allow_descriptors(NAMES + 100);
	for (unsigned i = 0; i <= NAMES; i++) {
		int fd = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));

		MUST(bind(fd, (struct sockaddr *)&name, i ? sizeof(sa_family_t) + 6 : sizeof(sa_family_t)));
		if (i == 0) {
			MUST(getsockname(fd, (struct sockaddr *)&name, &size));
			CHECK_EQUAL(sscanf(name.sun_path + 1, "%5x", &first), 1);
		}
		snprintf(name.sun_path + 1, 6, "%05x", (first + i + 1) & 0xfffff);
	}
	MUST(bind((int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0)), (struct sockaddr *)&name, sizeof(sa_family_t)));
}

static void bind_many_ports(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	socklen_t size = sizeof(name);

	allow_descriptors(NAMES + 100);
	for (unsigned i = 0; i <= NAMES; i++) {
		int fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));

		MUST(bind(fd, (struct sockaddr *)&name, sizeof(name)));
		MUST(getsockname(fd, (struct sockaddr *)&name, &size));
		name.sin_port = ntohs(name.sin_port) == 60999 ? htons(32768) :
			htons((in_port_t)(ntohs(name.sin_port) + 1));
	}
	name.sin_port = 0;
	MUST(bind((int)MUST(socket(AF_INET, SOCK_STREAM, 0)), (struct sockaddr *)&name, sizeof(name)));
}

static void unmount(void)
{
	const char *folder = test_path("folder");
	char path[128];

	MUST(mkdir(folder, 0700));
	MUST(mount("none", folder, "tmpfs", 0, NULL));
	for (int i = 0; i < 500; i++) {
		snprintf(path, sizeof(path), "%s/%d", folder, i);
		test_write_file(path, path, sizeof(path));
	}
	MUST(umount(folder));
}

/* The tree is so deep that a recursive walk would overflow the kernel stack. */
static void unmount_deep_tree(void)
{
	const char *folder = test_path("deep");

	MUST(mkdir(folder, 0700));
	MUST(mount("none", folder, "tmpfs", 0, NULL));
	MUST(chdir(folder));
	for (int i = 0; i < 1000; i++) {
		MUST(mkdir("d", 0700));
		MUST(chdir("d"));
	}
	CHECK_ERROR(umount(folder), EBUSY);
	MUST(chdir("/"));
	MUST(umount(folder));
}

/* Lines of 4095 characters: shown again, erased in three ways, read in one. */
static void edit_long_lines(void)
{
	static const char edits[] = { 18, 23, 21 };
	static char line[4096];
	int controller = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY)), terminal;

	MUST(grantpt(controller));
	MUST(unlockpt(controller));
	terminal = (int)MUST(open(ptsname(controller), O_RDWR | O_NOCTTY));
	memset(line, 'a', sizeof(line));
	for (size_t i = 0; i < sizeof(edits); i++) {
		line[sizeof(line) - 1] = edits[i];
		CHECK_EQUAL(write(controller, line, sizeof(line)), sizeof(line));
		MUST(ioctl(terminal, TCFLSH, TCIFLUSH));
	}
	line[sizeof(line) - 1] = '\n';
	CHECK_EQUAL(write(controller, line, sizeof(line)), sizeof(line));
	CHECK_EQUAL(read(terminal, line, sizeof(line)), sizeof(line));
	close(controller);
	close(terminal);
}

static const struct test_case calls[] = {
	CASE(edit_long_lines),
	CASE(transfer),
	CASE(make_random),
	CASE(write_and_truncate),
	CASE(through_a_pipe),
	CASE(map_nothing),
	CASE(map_sparsely),
	CASE(map_densely),
	CASE(have_many_areas),
	CASE(go_over_areas),
	CASE(wait_together),
	CASE(wake_by_operation),
	CASE(hand_on),
	CASE(wake_sets),
	CASE(wake_sets_of_a_pipe),
	CASE(wake_sets_of_a_timer),
	CASE(wake_threads),
	CASE(leave_a_robust_list),
	CASE(send_many_messages),
	CASE(lock_many_ranges),
	CASE(set_many_semaphores),
	CASE(tell_many),
	CASE(signal_many),
	CASE(poll_many),
	CASE(name_many),
	CASE(bind_many_ports),
	CASE(unmount),
	CASE(unmount_deep_tree),
};

static void interrupts_wait_little(void)
{
	latency_check(calls, sizeof(calls) / sizeof(calls[0]));
}

static const struct test_case cases[] = {
	CASE(interrupts_wait_little),
};

TEST_MAIN("latency", cases)
