/* How long other tasks wait while one call, or the end of a process, drops or moves very much. Uses guest time, so only
 * our kernel can pass. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/rights.h"
#include "common/threads.h"

#define PAGE 4096u
#define MB (1u << 20)

/* The longest that a real-time task may wait, in ns: a tick. */
#define WAIT_MOST 10000000

/* Locks of open file descriptions: the last reference to the file drops them. ------------------------------------- */

#define LOCKS 20000

static int locked_file(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
	int fd = (int)MUST(memfd_create("locks", 0));

	MUST(ftruncate(fd, PAGE));
	for (lock.l_start = 0; lock.l_start < 2 * LOCKS; lock.l_start += 2)
		MUST(fcntl(fd, F_OFD_SETLK, &lock));
	return fd;
}

static int one, pair[2], other[2];
static void *mapping;

static void close_one(void)
{
	MUST(close(one));
}

static void close_pair(void)
{
	MUST(close(pair[0]));
	MUST(close(pair[1]));
}

static void close_other(void)
{
	MUST(close(other[0]));
	MUST(close(other[1]));
}

static void nothing(void)
{
}

static void lock_in_queue(void)
{
	socket_pair(SOCK_STREAM, pair);
	one = locked_file();
	CHECK_EQUAL(send_files(pair[0], &one, 1), 1);
	MUST(close(one));
}

static void receive_without_room(void)
{
	char byte;

	CHECK_EQUAL(recv(pair[1], &byte, 1, 0), 1);
}

static void lock_mapped(void)
{
	one = locked_file();
	mapping = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, one, 0);
	CHECK(mapping != MAP_FAILED);
	MUST(close(one));
}

static void unmap_page(void)
{
	MUST(munmap(mapping, PAGE));
}

static void map_over(void)
{
	CHECK(mmap(mapping, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mapping);
}

static void exec_hello(void)
{
	execl("/bin/hello", "/bin/hello", NULL);
}

/* Pages that only one file has. ------------------------------------------------------------------------------------ */

#define SIZE (12u * MB)

static int long_file(void)
{
	static char data[MB];
	int fd = (int)MUST(memfd_create("pages", 0));

	for (size_t done = 0; done < SIZE; done += sizeof(data))
		CHECK_EQUAL(write(fd, data, sizeof(data)), sizeof(data));
	return fd;
}

static void open_long(void)
{
	one = long_file();
}

static void truncate_one(void)
{
	MUST(ftruncate(one, 0));
}

static void long_in_queue(void)
{
	socket_pair(SOCK_STREAM, pair);
	one = long_file();
	CHECK_EQUAL(send_files(pair[0], &one, 1), 1);
	MUST(close(one));
}

static void long_mapped(void)
{
	one = long_file();
	mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, one, 0);
	CHECK(mapping != MAP_FAILED);
	MUST(close(one));
}

static void unmap_long(void)
{
	MUST(munmap(mapping, SIZE));
}

static void long_mapped_and_open(void)
{
	one = long_file();
	mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, one, 0);
	CHECK(mapping != MAP_FAILED);
}

static void mapped_often(void)
{
	one = long_file();
	for (int i = 0; i < 16; i++)
		CHECK(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, one, 0) != MAP_FAILED);
}

/* By more areas than a part of a truncation has pages. */
static void mapped_by_many(void)
{
	one = long_file();
	for (int i = 0; i < 100; i++)
		CHECK(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, one, 0) != MAP_FAILED);
}

/* Memory of one process. ------------------------------------------------------------------------------------------- */

#define TABLES_SIZE (256u * 4 * MB)

static void private_memory(void)
{
	mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mapping != MAP_FAILED);
	memset(mapping, 1, SIZE);
}

static void *sleep_in_thread(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void private_memory_of_two(void)
{
	pthread_t thread;

	private_memory();
	CHECK_EQUAL(pthread_create(&thread, NULL, sleep_in_thread, NULL), 0);
}

/* A page in each of many tables. */
static void many_tables(void)
{
	mapping = mmap(NULL, TABLES_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mapping != MAP_FAILED);
	for (size_t at = 0; at < TABLES_SIZE; at += 4 * MB)
		((char *)mapping)[at] = 1;
}

static void share_tables(const char *words)
{
	int fd = (int)MUST(open("/proc/policy", O_WRONLY));

	CHECK_EQUAL(write(fd, words, strlen(words)), (ssize_t)strlen(words));
	MUST(close(fd));
}

static void fork_once(void)
{
	const char *memory = mapping;
	pid_t child = (pid_t)MUST(fork());
	int status;

	if (child == 0)
		_exit(memory[0] == 1 && memory[SIZE - 4 * MB] == 1 ? 0 : 1);
	MUST(waitpid(child, &status, 0));
	CHECK_EQUAL(status, 0);
}

/* The child shares the parent's page tables. */
static void fork_sharing(void)
{
	share_tables("fork.tables=share");
	fork_once();
	share_tables("fork.tables=copy");
}

static void map_over_long(void)
{
	CHECK(mmap(mapping, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mapping);
	CHECK_EQUAL(*(char *)mapping, 0);
}

static void protect_long(void)
{
	MUST(mprotect(mapping, SIZE, PROT_READ));
	MUST(mprotect(mapping, SIZE, PROT_READ | PROT_WRITE));
}

static void discard_long(void)
{
	MUST(madvise(mapping, SIZE, MADV_DONTNEED));
	CHECK_EQUAL(*(char *)mapping, 0);
}

#define AREAS_SIZE (16u * MB)

/* Private mappings of one file of a megabyte, side by side: many areas, and few frames. */
static void many_areas(void)
{
	int file = (int)MUST(memfd_create("area", 0));

	for (unsigned at = 0; at < MB; at += PAGE)
		CHECK_EQUAL(pwrite(file, "\1", 1, at), 1);
	mapping = mmap(NULL, AREAS_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mapping != MAP_FAILED);
	for (unsigned at = 0; at < AREAS_SIZE; at += MB)
		CHECK(mmap((char *)mapping + at, MB, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, file, 0) !=
		      MAP_FAILED);
	MUST(close(file));
}

static void unmap_areas(void)
{
	MUST(munmap(mapping, AREAS_SIZE));
}

static void discard_areas(void)
{
	MUST(madvise(mapping, AREAS_SIZE, MADV_DONTNEED));
}

#define SMALL_SIZE (16u * MB)

/* Areas of a page. */
static void small_areas(void)
{
	char *memory = mmap(NULL, SMALL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	for (unsigned at = 0; at < SMALL_SIZE; at += 2 * PAGE) {
		memory[at] = 1;
		MUST(mprotect(memory + at, PAGE, PROT_READ));
	}
	mapping = memory;
}

static void unmap_small(void)
{
	MUST(munmap(mapping, SMALL_SIZE));
}

static void map_over_small(void)
{
	CHECK(mmap(mapping, SMALL_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mapping);
}

static void protect_small(void)
{
	MUST(mprotect(mapping, SMALL_SIZE, PROT_READ | PROT_WRITE));
}

static void mark_small(void)
{
	MUST(madvise(mapping, SMALL_SIZE, MADV_DONTDUMP));
}

/* Copies one piece again and again. */
static void copy_foreign(void)
{
	static char data[MB];
	struct iovec from[SIZE / MB], to[SIZE / MB];

	for (unsigned i = 0; i < SIZE / MB; i++) {
		from[i] = (struct iovec){ (char *)mapping + i * MB, MB };
		to[i] = (struct iovec){ data, MB };
	}
	CHECK_EQUAL(process_vm_readv(getpid(), to, SIZE / MB, from, SIZE / MB, 0), SIZE);
}

static void unmap_tables(void)
{
	MUST(munmap(mapping, TABLES_SIZE));
}

static void read_maps(void)
{
	static char text[MB];
	int fd = (int)MUST(open("/proc/self/maps", O_RDONLY));

	CHECK(read(fd, text, sizeof(text)) > 4000 * 40);
	MUST(close(fd));
}

static void synchronise_small(void)
{
	MUST(msync(mapping, SMALL_SIZE, MS_SYNC));
}

/* Private mappings of a page of a file whose path is long. */
static void deep_areas(void)
{
	int file;

	MUST(mkdir(test_path("deeper"), 0700));
	MUST(chdir(test_path("deeper")));
	for (int i = 0; i < 1000; i++) {
		MUST(mkdir("d", 0700));
		MUST(chdir("d"));
	}
	file = (int)MUST(open("file", O_RDWR | O_CREAT, 0600));
	MUST(ftruncate(file, PAGE));
	for (int i = 0; i < 900; i++)
		CHECK(mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE, file, 0) != MAP_FAILED);
}

static void remove_deep_areas(void)
{
	MUST(unlink("file"));
	for (int i = 0; i < 1000; i++) {
		MUST(chdir(".."));
		MUST(rmdir("d"));
	}
}

static void leave_core(void)
{
	pid_t child;
	int status;

	MUST(setrlimit(RLIMIT_CORE, &(struct rlimit){ 2 * MB, 2 * MB }));
	child = (pid_t)MUST(fork());
	if (child == 0)
		raise(SIGQUIT);
	MUST(waitpid(child, &status, 0));
	CHECK(WCOREDUMP(status));
	MUST(unlink("core"));
}

static void leave_deep_core(void)
{
	leave_core();
	remove_deep_areas();
}

/* Other things with much behind one descriptor. -------------------------------------------------------------------- */

#define MANY 3000

static void allow_descriptors(void)
{
	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 }));
}

static void watch_by_epoll(void)
{
	struct epoll_event wanted = { .events = EPOLLIN };
	int event = (int)MUST(eventfd(0, 0));

	allow_descriptors();
	one = (int)MUST(epoll_create1(0));
	for (int i = 0; i < MANY; i++)
		MUST(epoll_ctl(one, EPOLL_CTL_ADD, (int)MUST(dup(event)), &wanted));
}

static void watch_by_inotify(void)
{
	char name[16];

	snprintf(name, sizeof(name), "watched%d", getpid());
	MUST(mkdir(test_path(name), 0700));
	MUST(chdir(test_path(name)));
	one = (int)MUST(inotify_init1(0));
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i);
		MUST(mknod(name, S_IFREG | 0600, 0));
		MUST(inotify_add_watch(one, name, IN_ATTRIB));
	}
}

static void show_one(void)
{
	static char text[MB];
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", one);
	CHECK(test_read_file(path, text, sizeof(text)) > 20 * MANY);
}

static void connect_many(void)
{
	struct sockaddr_un address = { AF_UNIX, "\0preempt" };

	allow_descriptors();
	one = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(bind(one, (struct sockaddr *)&address, 10));
	MUST(listen(one, MANY));
	for (int i = 0; i < MANY; i++) {
		int fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));

		MUST(connect(fd, (struct sockaddr *)&address, 10));
		MUST(close(fd));
	}
}

/* A queue of files, each the last reference to a pair of sockets with a message in its queue. */
static void queue_sockets(void)
{
	int inner[2];

	allow_descriptors();
	socket_pair(SOCK_DGRAM, pair);
	for (int i = 0; i < 900; i++) {
		socket_pair(SOCK_DGRAM, inner);
		(void)send(inner[0], "x", 1, MSG_DONTWAIT);
		if (send_files(pair[0], inner, 2) != 1) {
			close(inner[0]);
			close(inner[1]);
			break;
		}
		MUST(close(inner[0]));
		MUST(close(inner[1]));
	}
}

/* A queue that holds its own socket, and two thousand more: nobody can receive them. */
static void queue_itself(void)
{
	int inner[50];

	allow_descriptors();
	socket_pair(SOCK_DGRAM, pair);
	MUST(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &(int){ MB }, sizeof(int)));
	CHECK_EQUAL(send_files(pair[0], pair, 2), 1);
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < 50; k += 2)
			socket_pair(SOCK_DGRAM, &inner[k]);
		CHECK_EQUAL(send_files(pair[0], inner, 50), 1);
		for (int k = 0; k < 50; k++)
			MUST(close(inner[k]));
	}
}

static void nest_deeply(void)
{
	nest_sockets(SOCK_STREAM, 400);
}

static void remove_deep_directory(void)
{
	MUST(mkdir(test_path("deep"), 0700));
	MUST(chdir(test_path("deep")));
	for (int i = 0; i < 1000; i++) {
		MUST(mkdir("d", 0700));
		MUST(chdir("d"));
	}
	one = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
	for (int i = 0; i < 1000; i++) {
		MUST(chdir(".."));
		MUST(rmdir("d"));
	}
}

/* Pipes with many pages. ------------------------------------------------------------------------------------------- */

static void fill_pipes(void)
{
	static char data[MB];

	MUST(pipe(pair));
	MUST(pipe(other));
	MUST(fcntl(pair[1], F_SETPIPE_SZ, sizeof(data)));
	MUST(fcntl(other[1], F_SETPIPE_SZ, sizeof(data)));
	CHECK_EQUAL(write(pair[1], data, sizeof(data)), sizeof(data));
}

static void tee_all(void)
{
	CHECK_EQUAL(tee(pair[0], other[1], MB, 0), MB);
}

static void splice_all(void)
{
	CHECK_EQUAL(splice(pair[0], NULL, other[1], NULL, MB, 0), MB);
}

static void splice_to_file(void)
{
	int fd = (int)MUST(memfd_create("out", 0));

	CHECK_EQUAL(splice(pair[0], NULL, fd, NULL, MB, 0), MB);
}

static void read_all(void)
{
	static char data[MB];

	CHECK_EQUAL(read(pair[0], data, sizeof(data)), sizeof(data));
}

/* Terminals and disks. --------------------------------------------------------------------------------------------- */

static void make_terminal(void)
{
	one = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY));
}

/* A line that is too long, then CTRL-R, each of which shows the line again. */
static void type_much(void)
{
	static char typed[64 << 10];

	memset(typed, 'a', sizeof(typed));
	memset(typed + PAGE, 18, 200);
	CHECK_EQUAL(write(one, typed, sizeof(typed)), sizeof(typed));
}

/* Settings with which the console shows no return at the beginning of a line. */
static void hide_returns(void)
{
	struct termios settings;

	one = (int)MUST(open("/dev/console", O_RDWR | O_NOCTTY));
	MUST(tcgetattr(one, &settings));
	settings.c_oflag |= ONOCR;
	MUST(tcsetattr(one, TCSANOW, &settings));
	MUST(write(one, "\n", 1));
}

static void print_much(void)
{
	static char returns[256 << 10];
	struct termios settings;

	memset(returns, '\r', sizeof(returns));
	CHECK_EQUAL(write(one, returns, sizeof(returns)), sizeof(returns));
	MUST(tcgetattr(one, &settings));
	settings.c_oflag &= ~(tcflag_t)ONOCR;
	MUST(tcsetattr(one, TCSANOW, &settings));
}

static void open_disk(void)
{
	one = (int)MUST(open("/dev/ram0", O_RDWR));
}

static void read_disk(void)
{
	static char data[4 * MB];

	CHECK_EQUAL(read(one, data, sizeof(data)), sizeof(data));
}

/* Timers of one moment in a process with many threads, none of which takes their signals. --------------------------*/

#define TIMERS 64
#define SOON 300000000

static timer_t timers[TIMERS];

static void arm_timers(clockid_t clock, int signal)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
	struct itimerspec soon = { 0 };

	test_start_threads();
	for (int i = 0; i < TIMERS; i++)
		MUST(timer_create(clock, &event, &timers[i]));
	MUST(clock_gettime(clock, &soon.it_value));
	soon.it_value.tv_nsec += SOON;
	soon.it_value.tv_sec += soon.it_value.tv_nsec / 1000000000;
	soon.it_value.tv_nsec %= 1000000000;
	for (int i = 0; i < TIMERS; i++)
		MUST(timer_settime(timers[i], TIMER_ABSTIME, &soon, NULL));
}

static void arm_real_timers(void)
{
	arm_timers(CLOCK_MONOTONIC, SIGRTMIN + 2);
}

static void arm_processor_timers(void)
{
	arm_timers(CLOCK_PROCESS_CPUTIME_ID, SIGRTMIN + 2);
}

static void arm_continuing_timers(void)
{
	arm_timers(CLOCK_MONOTONIC, SIGCONT);
}

static void spin_till_expiry(void)
{
	long long begin = test_now();

	while (test_now() - begin < 2 * SOON)
		;
}

/* Sets of as many semaphores as there can be, and processes whose ends adjust them. ---------------------------------*/

#define SEMAPHORES 32000
#define SETS 20
#define ADJUSTERS 60

union semaphores {
	unsigned short *values;
};

static int sets[SETS], go[2];

static void make_sets(int count)
{
	MUST(pipe(go));
	for (int i = 0; i < SETS; i++)
		sets[i] = i < count ? (int)MUST(semget(IPC_PRIVATE, SEMAPHORES, 0600)) : -1;
}

/* Adds one to a semaphore of each set, until its end. */
static int adjust_sets(void *unused)
{
	char byte;
	struct sembuf add = { .sem_num = SEMAPHORES - 1, .sem_op = 1, .sem_flg = SEM_UNDO };

	(void)unused;
	MUST(close(go[1]));
	for (int i = 0; i < SETS && sets[i] >= 0; i++)
		MUST(semop(sets[i], &add, 1));
	CHECK_EQUAL(read(go[0], &byte, 1), 0);
	return 0;
}

static void await_adjustments(int value)
{
	while (MUST(semctl(sets[0], SEMAPHORES - 1, GETVAL)) < value)
		usleep(1000);
}

static void end_adjusters(int count)
{
	int status;

	MUST(close(go[1]));
	while (count--) {
		MUST(wait(&status));
		CHECK_EQUAL(status, 0);
	}
	CHECK_EQUAL(semctl(sets[0], SEMAPHORES - 1, GETVAL), 0);
	for (int i = 0; i < SETS && sets[i] >= 0; i++)
		MUST(semctl(sets[i], 0, IPC_RMID));
}

static void adjust_one_often(void)
{
	make_sets(1);
	for (int i = 0; i < ADJUSTERS; i++)
		test_child(adjust_sets, NULL);
	await_adjustments(ADJUSTERS);
}

/* This clears the adjustments. */
static void set_all(void)
{
	static unsigned short values[SEMAPHORES];

	MUST(semctl(sets[0], 0, SETALL, (union semaphores){ values }));
	end_adjusters(ADJUSTERS);
}

static void adjust_many(void)
{
	make_sets(SETS);
	test_child(adjust_sets, NULL);
	await_adjustments(1);
}

static void end_of_one(void)
{
	end_adjusters(1);
}

/* Symbolic links with as many components as a text can have, each at the end of the one before. -------------------- */

static char far_link[16];

static void link_far(void)
{
	static char path[4096];

	MUST(mkdir(test_path("links"), 0700));
	MUST(chdir(test_path("links")));
	for (size_t i = 0; i < sizeof(path) - 5; i += 2)
		memcpy(path + i, "./", 2);
	strcpy(path + strlen(path) - 2, "/.");
	for (int i = 1; i <= 40; i++) {
		snprintf(far_link, sizeof(far_link), "%d", i);
		MUST(symlink(path, far_link));
		snprintf(path + strlen(path) - (i > 10 ? 2 : 1), 4, "%d", i);
	}
}

static void walk_far(void)
{
	struct stat status;

	MUST(stat(far_link, &status));
}

/* Real-time signals, which are queued and counted, of many processes and of many files. ---------------------------- */

#define SIGNALLED 300
#define TELLING 800

static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	MUST(sigprocmask(SIG_BLOCK, &all, NULL));
	MUST(setpgid(0, 0));
}

static void have_many_processes(void)
{
	char byte;

	block_signals();
	MUST(pipe(go));
	for (int i = 0; i < SIGNALLED; i++)
		if (MUST(fork()) == 0) {
			close(go[1]);
			_exit(read(go[0], &byte, 1) != 0);
		}
}

static void signal_many(void)
{
	MUST(kill(0, SIGRTMIN));
}

static void have_telling_files(void)
{
	char path[32];

	have_many_processes();
	MUST(pipe(pair));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pair[0]);
	for (int i = 0; i < TELLING; i++) {
		int fd = (int)MUST(open(path, O_RDONLY));

		MUST(fcntl(fd, F_SETOWN, getpid()));
		MUST(fcntl(fd, F_SETSIG, SIGRTMIN));
		MUST(fcntl(fd, F_SETFL, O_ASYNC));
	}
}

static void write_to_pipe(void)
{
	CHECK_EQUAL(write(pair[1], "", 1), 1);
}

static void zero_one(void)
{
	MUST(fallocate(one, FALLOC_FL_ZERO_RANGE, 0, SIZE));
}

static const struct {
	const char *name;
	void (*prepare)(void), (*act)(void);
} acts[] = {
	{ "locks: a closed socket's queue", lock_in_queue, close_pair },
	{ "locks: a receiver without room", lock_in_queue, receive_without_room },
	{ "locks: the end, from a queue", lock_in_queue, nothing },
	{ "locks: munmap", lock_mapped, unmap_page },
	{ "locks: mmap over a mapping", lock_mapped, map_over },
	{ "locks: exec", lock_mapped, exec_hello },
	{ "locks: the end, from a mapping", lock_mapped, nothing },
	{ "pages: close", open_long, close_one },
	{ "pages: ftruncate", open_long, truncate_one },
	{ "pages: zeroed", open_long, zero_one },
	{ "semaphores: all set", adjust_one_often, set_all },
	{ "semaphores: the end", adjust_many, end_of_one },
	{ "links: forty", link_far, walk_far },
	{ "signals: to many processes", have_many_processes, signal_many },
	{ "signals: of many files", have_telling_files, write_to_pipe },
	{ "pages: a closed socket's queue", long_in_queue, close_pair },
	{ "pages: munmap", long_mapped, unmap_long },
	{ "pages: the end, from a mapping", long_mapped, nothing },
	{ "pages: ftruncate, mapped", long_mapped_and_open, truncate_one },
	{ "pages: ftruncate, mapped often", mapped_often, truncate_one },
	{ "pages: ftruncate, mapped by many", mapped_by_many, truncate_one },
	{ "memory: fork", private_memory, fork_once },
	{ "memory: fork, tables shared", private_memory, fork_sharing },
	{ "memory: mmap over it", private_memory, map_over_long },
	{ "memory: mprotect", private_memory, protect_long },
	{ "memory: munmap", private_memory, unmap_long },
	{ "memory: madvise", private_memory, discard_long },
	{ "memory: process_vm_readv", private_memory, copy_foreign },
	{ "memory: exec", private_memory, exec_hello },
	{ "memory: the end", private_memory, nothing },
	{ "threads: mmap over it", private_memory_of_two, map_over_long },
	{ "threads: mprotect", private_memory_of_two, protect_long },
	{ "threads: munmap", private_memory_of_two, unmap_long },
	{ "threads: madvise", private_memory_of_two, discard_long },
	{ "areas: fork", many_areas, fork_once },
	{ "areas: munmap", many_areas, unmap_areas },
	{ "areas: madvise", many_areas, discard_areas },
	{ "areas: the end", many_areas, nothing },
	{ "small areas: fork", small_areas, fork_once },
	{ "small areas: munmap", small_areas, unmap_small },
	{ "small areas: mmap over them", small_areas, map_over_small },
	{ "small areas: mprotect", small_areas, protect_small },
	{ "small areas: madvise", small_areas, mark_small },
	{ "small areas: msync", small_areas, synchronise_small },
	{ "small areas: /proc/self/maps", small_areas, read_maps },
	{ "small areas: a core file", small_areas, leave_core },
	{ "deep areas: a core file", deep_areas, leave_deep_core },
	{ "small areas: the end", small_areas, nothing },
	{ "tables: fork, tables shared", many_tables, fork_sharing },
	{ "tables: fork", many_tables, fork_once },
	{ "tables: munmap", many_tables, unmap_tables },
	{ "tables: the end", many_tables, nothing },
	{ "epoll: close", watch_by_epoll, close_one },
	{ "epoll: /proc/self/fdinfo", watch_by_epoll, show_one },
	{ "epoll: the end", watch_by_epoll, nothing },
	{ "inotify: /proc/self/fdinfo", watch_by_inotify, show_one },
	{ "inotify: close", watch_by_inotify, close_one },
	{ "connections: close", connect_many, close_one },
	{ "sockets: a queue of them", queue_sockets, close_pair },
	{ "sockets: a queue in itself", queue_itself, close_pair },
	{ "sockets: nested", nest_deeply, nothing },
	{ "directories: close", remove_deep_directory, close_one },
	{ "pipe: tee", fill_pipes, tee_all },
	{ "pipe: splice", fill_pipes, splice_all },
	{ "pipe: splice to a file", fill_pipes, splice_to_file },
	{ "pipe: read", fill_pipes, read_all },
	{ "pipe: close", fill_pipes, close_pair },
	{ "pipe: close both", fill_pipes, close_other },
	{ "terminal: typing", make_terminal, type_much },
	{ "console: printing", hide_returns, print_much },
	{ "RAM disk: read", open_disk, read_disk },
	{ "timers: real time", arm_real_timers, spin_till_expiry },
	{ "timers: processor time", arm_processor_timers, spin_till_expiry },
	{ "timers: SIGCONT", arm_continuing_timers, spin_till_expiry },
};
#define ACTS (sizeof(acts) / sizeof(acts[0]))

/* Runs one act in a child; returns the longest wait of this process meanwhile, in ns. */
static long long longest_wait(size_t act)
{
	const struct timespec little = { 0, 1000000 };
	int to_child[2], to_parent[2], status;
	long long longest = 0;
	pid_t child;
	char byte;

	MUST(pipe(to_child));
	MUST(pipe(to_parent));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		acts[act].prepare();
		CHECK_EQUAL(write(to_parent[1], "x", 1), 1);
		CHECK_EQUAL(read(to_child[0], &byte, 1), 1);
		acts[act].act();
		_exit(0);
	}
	MUST(close(to_parent[1]));
	if (read(to_parent[0], &byte, 1) == 1) {
		MUST(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }));
		CHECK_EQUAL(write(to_child[1], "x", 1), 1);
		while (MUST(waitpid(child, &status, WNOHANG)) == 0) {
			long long before = test_now(), took;

			MUST(nanosleep(&little, NULL));
			took = test_now() - before - little.tv_nsec;
			longest = took > longest ? took : longest;
		}
		MUST(sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 }));
	} else {
		CHECK_EQUAL(waitpid(child, &status, 0), child);
	}
	CHECK_EQUAL(status, 0);
	close(to_child[0]);
	close(to_child[1]);
	close(to_parent[0]);
	return longest;
}

static void others_run_meanwhile(void)
{
	int late = 0;

	for (size_t i = 0; i < ACTS; i++) {
		long long longest = longest_wait(i);

		printf("%s: another process waits %lld us\n", acts[i].name, longest / 1000);
		late += test_is_timed() && longest > WAIT_MOST;
	}
	CHECK_EQUAL(late, 0);
}

static const struct test_case cases[] = {
	CASE(others_run_meanwhile),
};

TEST_MAIN("preempt", cases)
