/* What uses up memory, in ways that are hard to count; and victims that are slow to die. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/attack.h"
#include "ipc.h"

#define PAGE 4096
#define MEGABYTE (1u << 20)

static char data[65536];

static char *map_memory(size_t size, int flags)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static size_t free_now(void)
{
	struct sysinfo info;

	MUST(sysinfo(&info));
	return (size_t)info.freeram * info.mem_unit;
}

/* This many 32nds of the memory that was free when the case began. */
static size_t part(int share)
{
	static size_t free_bytes;

	if (!free_bytes)
		free_bytes = free_now();
	return free_bytes / 32 / PAGE * PAGE * (size_t)share;
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

/* Holds this many bytes of ordinary memory. */
static int hold(void *size)
{
	memset(map_memory(*(size_t *)size, MAP_PRIVATE), 1, *(size_t *)size);
	wait_for_ever();
	return 0;
}

static int use(void *size)
{
	memset(map_memory(*(size_t *)size, MAP_PRIVATE), 1, *(size_t *)size);
	return 0;
}

static int use_all(void *argument)
{
	(void)argument;
	for (;;)
		memset(map_memory(MEGABYTE, MAP_PRIVATE), 1, MEGABYTE);
	return 0;
}

/* Children that each hold what the caller made, or what `function` makes; as many as there are until one is killed. */
static int multiply(int (*function)(void *), int most)
{
	for (int i = 0; i < most; i++) {
		pid_t child = (pid_t)MUST(fork());

		if (!child) {
			if (function)
				function(NULL);
			wait_for_ever();
		}
		if (waitpid(-1, NULL, WNOHANG) > 0)
			break;
	}
	return 0;
}

/* An attack: what it runs, in how many processes (1: in the attacker alone), and what the bystander holds in bytes. */
struct attack {
	int (*function)(void *);
	int children;
	size_t bystander;
};

/* In a group of its own, so that whatever it leaves can be killed. */
static int lead_attack(void *argument)
{
	const struct attack *attack = argument;

	setpgid(0, 0);
	return attack->children > 1 ? multiply(attack->function, attack->children) : attack->function(NULL);
}

/*
 * Runs an attack until it ends or is killed. A bystander of the same user holds ordinary memory, less than the
 * attackers hold: the kernel must kill them and leave it. Their memory must come back.
 */
static void run_attack(struct attack attack)
{
	size_t most = part(16);
	pid_t bystander = test_child(hold, &attack.bystander), attacker = test_child(lead_attack, &attack);

	setpgid(attacker, attacker);
	test_wait(attacker);
	/* Those of the group that are left end, and their memory comes back, before others want it. */
	for (int i = 0; i < 1000 && kill(-attacker, SIGKILL) == 0; i++)
		usleep(10000);
	MUST(kill(bystander, SIGTERM));
	CHECK_EQUAL(test_wait(bystander), 1000 + SIGTERM);
	CHECK_EQUAL(test_in_child(use, &most), 0);
}

/* The kernel must find who holds the memory already, not the child that wants more. */
static int use_the_rest(void)
{
	return test_wait(test_child(use_all, NULL));
}

#define AREAS 16000

static int hold_areas(void *argument)
{
	char *at = map_memory(2 * AREAS * PAGE, MAP_PRIVATE);

	(void)argument;
	for (int i = 0; i < AREAS; i++)
		MUST(mprotect(at + 2 * i * PAGE, PAGE, PROT_READ));
	return multiply(NULL, 100);
}

static void areas_count(void)
{
	if (test_is_timed())    /* the invariant checker looks at every area and page when a process ends */
		run_attack((struct attack){ hold_areas, 1, MEGABYTE });
}

static int hold_tables(void *argument)
{
	(void)argument;
	for (uintptr_t at = 0x20000000; at < 0x60000000; at += 4 * MEGABYTE)
		if (mmap((void *)at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		    MAP_FAILED)
			*(char *)at = 1;
	return 0;
}

static void tables_count(void)
{
	run_attack((struct attack){ hold_tables, 100, MEGABYTE });
}

/* A file without a name, which only a mapping holds. None of its pages is mapped. */
static int hold_unseen_files(void *argument)
{
	(void)argument;
	for (;;) {
		int fd = (int)MUST(memfd_create("unseen", 0));

		CHECK(mmap(NULL, MEGABYTE, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
		for (size_t i = 0; i < MEGABYTE; i += sizeof(data))
			if (write(fd, data, sizeof(data)) != sizeof(data))
				return use_the_rest();
		close(fd);
	}
}

static void unseen_files_count(void)
{
	run_attack((struct attack){ hold_unseen_files, 1, 2 * MEGABYTE });
}

/* Shared memory that the program has written, and then unmapped, but for a page that it never touched. */
static int hold_shared_memory(void *argument)
{
	(void)argument;
	for (;;) {
		char *at = map_memory(MEGABYTE, MAP_SHARED);

		memset(at, 1, MEGABYTE - PAGE);
		MUST(munmap(at, MEGABYTE - PAGE));
	}
	return 0;
}

static void shared_memory_counts(void)
{
	run_attack((struct attack){ hold_shared_memory, 1, 2 * MEGABYTE });
}

static void fill_pipes(int copies)
{
	int ends[2];

	while (pipe2(ends, O_NONBLOCK) == 0) {
		MUST(write(ends[1], data, sizeof(data)));
		for (int i = 0; i < copies; i++)
			dup(ends[0]);
	}
}

static void *hold_pipes(void *argument)
{
	MUST(unshare(CLONE_FILES));
	fill_pipes(0);
	wait_for_ever();
	return argument;
}

/* Descriptors of a thread that shares no table with the others. */
static int hold_pipes_by_thread(void *argument)
{
	pthread_t thread;

	(void)argument;
	MUST(-pthread_create(&thread, NULL, hold_pipes, NULL));
	usleep(1000000);
	return use_the_rest();
}

static void tables_of_threads_count(void)
{
	run_attack((struct attack){ hold_pipes_by_thread, 1, 2 * MEGABYTE });
}

/* More descriptors of a pipe than it has pages. */
static int hold_copied_pipes(void *argument)
{
	(void)argument;
	fill_pipes(20);
	return 0;
}

static void copied_pipes_count(void)
{
	run_attack((struct attack){ hold_copied_pipes, 40, MEGABYTE });
}

static void *sleep_long(void *argument)
{
	wait_for_ever();
	return argument;
}

static int hold_threads(void *argument)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (int i = 0; i < 200 && !pthread_create(&thread, &small, sleep_long, NULL); i++)
		;
	(void)argument;
	return 0;
}

/* A message to a thread that never receives it. */
static void *send_in_vain(void *to)
{
	static char text[IPC_BYTES_MOST];
	struct ipc_buffers buffers = { .send = text, .send_size = sizeof(text) };
	struct ipc_message words = { 0 };

	for (;;)
		ipc_invoke(IPC_SEND, *(pid_t *)to, &buffers, IPC_FOREVER, &words);
	return to;
}

static int hold_messages(void *argument)
{
	static pid_t to;
	pthread_attr_t small;
	pthread_t thread;

	(void)argument;
	to = getpid();
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (int i = 0; i < 300 && !pthread_create(&thread, &small, send_in_vain, &to); i++)
		;
	return use_the_rest();
}

static void messages_count(void)
{
	run_attack((struct attack){ hold_messages, 1, part(8) });
}

#define POLLED 4096

/* Waits for so many files at once; all are the same pipe. */
static void *poll_in_vain(void *polled)
{
	poll(polled, POLLED, -1);
	return polled;
}

static int hold_polls(void *argument)
{
	static struct pollfd polled[POLLED];
	pthread_attr_t small;
	pthread_t thread;
	int ends[2];

	(void)argument;
	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ POLLED, POLLED }));
	MUST(pipe(ends));
	for (int i = 0; i < POLLED; i++)
		polled[i] = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (int i = 0; i < 80 && !pthread_create(&thread, &small, poll_in_vain, polled); i++)
		;
	return use_the_rest();
}

static void polls_count(void)
{
	run_attack((struct attack){ hold_polls, 1, part(8) });
}

/* Connections that nobody accepts, and whose other ends are closed. */
static int hold_connections(void *argument)
{
	(void)argument;
	for (int i = 0; i < 5; i++) {
		int listener = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
		struct sockaddr_in name;
		socklen_t size = sizeof(name);

		MUST(listen(listener, 4096));
		MUST(getsockname(listener, (struct sockaddr *)&name, &size));
		for (int k = 0; k < 4096; k++) {
			int fd = socket(AF_INET, SOCK_STREAM, 0);

			if (fd < 0 || connect(fd, (struct sockaddr *)&name, size) < 0)
				break;
			close(fd);
		}
	}
	return use_the_rest();
}

static void connections_count(void)
{
	run_attack((struct attack){ hold_connections, 1, part(8) });
}

static void stacks_count(void)
{
	run_attack((struct attack){ hold_threads, 40, MEGABYTE });
}

/* Two megabytes of arguments, which are one string. */
static int execute(void *argument)
{
	static char text[100000], *words[22];

	(void)argument;
	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < 20; i++)
		words[i] = text;
	words[0] = "true";
	for (int i = 0; i < 40; i++)
		if (fork() == 0) {
			execv("/bin/hello", words);
			_exit(1);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}

static int execute_many(void *argument)
{
	close(1);
	return execute(argument);
}

static void arguments_count(void)
{
	run_attack((struct attack){ execute_many, 1, MEGABYTE });
}

/* The children share what the parent has written, so they are large and take little memory. */
static int fork_often(void *argument)
{
	(void)argument;
	memset(map_memory(MEGABYTE, MAP_PRIVATE), 1, MEGABYTE);
	for (int i = 0; i < 800; i++)
		if (fork() == 0)
			wait_for_ever();
	return 0;
}

static void forks_end(void)
{
	if (test_is_timed())    /* the invariant checker looks at every area and page when a process ends */
		run_attack((struct attack){ fork_often, 1, MEGABYTE / 2 });
}

struct objects {
	int segment, set[1000], queue[1000];
};

static int make_objects(void *argument)
{
	struct objects *objects = argument;
	struct {
		long type;
		char text[8000];
	} message = { .type = 1 };
	char *at = shmat(objects->segment, NULL, 0);
	int file = open(test_path("file"), O_WRONLY | O_CREAT, 0600);

	CHECK(at != (char *)-1);
	for (int i = 0; i < 1000 && (objects->set[i] = semget(IPC_PRIVATE, 8000, 0600)) >= 0 && i < 100; i++)
		;
	for (int i = 0; i < 1000 && (objects->queue[i] = msgget(IPC_PRIVATE, 0600)) >= 0; i++)
		while (msgsnd(objects->queue[i], &message, sizeof(message.text), IPC_NOWAIT) == 0)
			;
	for (int i = 0; i < 8 * 16 && write(file, data, sizeof(data)) == sizeof(data); i++)
		;
	for (size_t i = 0; i < 64 * MEGABYTE; i += PAGE)
		at[i] = 1;
	return 0;
}

/* Objects of every kind that no process holds, then pipes and memory. The bystander has less than they leave. */
static void objects_and_memory(void)
{
	struct objects *objects = (struct objects *)map_memory(sizeof(*objects), MAP_SHARED);

	memset(objects, -1, sizeof(*objects));
	objects->segment = (int)MUST(shmget(IPC_PRIVATE, 64 * MEGABYTE, 0600));
	CHECK_EQUAL(test_in_child(make_objects, objects), 1000 + SIGBUS);
	CHECK_EQUAL(test_in_child(use_all, NULL), 1000 + SIGKILL);
	MUST(shmctl(objects->segment, IPC_RMID, NULL));
	for (int i = 0; i < 1000; i++) {
		if (objects->set[i] >= 0)
			MUST(semctl(objects->set[i], 0, IPC_RMID));
		if (objects->queue[i] >= 0)
			MUST(msgctl(objects->queue[i], IPC_RMID, NULL));
	}
	unlink(test_path("file"));
	run_attack((struct attack){ use_all, 1, MEGABYTE });
}

/* Victims: the largest process is not in a state to end at once. The others get its memory all the same. */
#define OTHERS 6

static int ready[2];

static int become_victim(void (*state)(void))
{
	memset(map_memory(part(20), MAP_PRIVATE), 1, part(20));
	MUST(write(ready[1], "", 1));
	state();
	wait_for_ever();
	return 0;
}

static pid_t others[OTHERS];

static void start_others(void)
{
	size_t size = part(3);

	for (int i = 0; i < OTHERS; i++)
		others[i] = test_child(hold, &size);
}

static void end_others(void)
{
	size_t size = part(3);

	CHECK_EQUAL(test_in_child(use, &size), 0);
	for (int i = 0; i < OTHERS; i++) {
		MUST(kill(others[i], SIGTERM));
		CHECK_EQUAL(test_wait(others[i]), 1000 + SIGTERM);
	}
}

static void others_get_memory(pid_t victim)
{
	start_others();
	CHECK_EQUAL(test_wait(victim), 1000 + SIGKILL);
	end_others();
}

/* A victim that is in its state when this function returns. */
static pid_t start_victim(int (*become)(void *), void *argument)
{
	pid_t victim;
	char byte;

	MUST(pipe(ready));
	part(1);
	victim = test_child(become, argument);
	close(ready[1]);
	MUST(read(ready[0], &byte, 1));
	return victim;
}

static int enter_state(void *state)
{
	return become_victim(*(void (**)(void))state);
}

static pid_t victim_in(void (*state)(void))
{
	return start_victim(enter_state, &state);
}

static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	nice(19);
	for (;;)
		;
}

static void stop(void)
{
	raise(SIGSTOP);
}

static void borrow_memory(void)
{
	if (vfork() == 0)
		wait_for_ever();
}

static void a_busy_victim_ends(void)
{
	others_get_memory(victim_in(block_signals));
}

#define LOOPS 4

/* Takes one turn in 32 rounds of those that compute (SCHED_IDLE). */
static void run_last(void)
{
	struct sched_param none = { 0 };

	MUST(sched_setscheduler(0, SCHED_IDLE, &none));
	for (;;)
		;
}

static int compute(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
	return 0;
}

/* Others wait until it has ended, and none of them is killed meanwhile. */
static void a_victim_among_busy_processes_ends(void)
{
	pid_t loops[LOOPS], victim = victim_in(run_last);

	for (int i = 0; i < LOOPS; i++)
		loops[i] = test_child(compute, NULL);
	start_others();
	CHECK_EQUAL(test_wait(victim), 1000 + SIGKILL);
	for (int i = 0; i < LOOPS; i++) {
		MUST(kill(loops[i], SIGKILL));
		CHECK_EQUAL(test_wait(loops[i]), 1000 + SIGKILL);
	}
	end_others();
}

static void a_stopped_victim_ends(void)
{
	others_get_memory(victim_in(stop));
}

static void a_victim_in_vfork_ends(void)
{
	others_get_memory(victim_in(borrow_memory));
}

static void be_traced(void)
{
	MUST(ptrace(PTRACE_TRACEME, 0, 0, 0));
	raise(SIGSTOP);
	exit(0);
}

/* Its tracer lets it begin its end, but not go on. */
static void a_victim_stopped_in_exit_ends(void)
{
	pid_t victim = victim_in(be_traced);
	int status;

	MUST(waitpid(victim, &status, 0));
	CHECK(WIFSTOPPED(status));
	MUST(ptrace(PTRACE_SETOPTIONS, victim, 0, PTRACE_O_TRACEEXIT));
	MUST(ptrace(PTRACE_CONT, victim, 0, 0));
	MUST(waitpid(victim, &status, 0));
	CHECK_EQUAL(status >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
	start_others();
	CHECK_EQUAL(test_wait(victim), 0);
	end_others();
}

static void a_traced_victim_ends(void)
{
	pid_t victim = victim_in(be_traced);
	int status;

	MUST(waitpid(victim, &status, 0));
	MUST(ptrace(PTRACE_SETOPTIONS, victim, 0, PTRACE_O_TRACEEXIT));
	start_others();
	do
		MUST(waitpid(victim, &status, 0));
	while (WIFSTOPPED(status));
	CHECK_EQUAL(WTERMSIG(status), SIGKILL);
	end_others();
}

static void leave_a_core(void)
{
	MUST(chdir(test_path("")));
	MUST(setrlimit(RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }));
	abort();
}

static void a_victim_that_dumps_ends(void)
{
	pid_t victim = victim_in(leave_a_core);
	int status;

	start_others();
	MUST(waitpid(victim, &status, 0));
	/* With the invariant checker it may be killed before it begins. */
	CHECK(WTERMSIG(status) == SIGABRT || !test_is_timed());
	end_others();
}

/* Leaves this many bytes of all memory free. */
static int hold_all_but(void *left)
{
	char *at = map_memory(part(32), MAP_PRIVATE);

	for (size_t i = 0; i < part(32) && free_now() > *(size_t *)left; i += PAGE)
		at[i] = 1;
	MUST(write(ready[1], "", 1));
	wait_for_ever();
	return 0;
}

/*
 * fork() takes what is free for its tables, fails, and gives them back: then more is free than when it failed. It is
 * repeated only if a process is killed for it. (With fork.tables=share it needs no tables.)
 */
static void a_call_that_gives_back_gets_memory(void)
{
	size_t left = MEGABYTE / 2;
	pid_t victim, child;

	hold_tables(NULL);
	victim = start_victim(hold_all_but, &left);
	child = (pid_t)MUST(fork());
	if (!child)
		_exit(0);
	CHECK_EQUAL(test_wait(child), 0);
	kill(victim, SIGKILL);
	CHECK_EQUAL(test_wait(victim), 1000 + SIGKILL);
}

#define VECTOR (64 * PAGE)

/*
 * mincore() wants memory for its answer, for which a process is killed, and then fails with ENOMEM because a page is
 * not mapped. That error is no want of memory: nobody else is killed for it. Most of memory is a file's, so that the
 * victim is small and has ended long before the call fails.
 */
static void an_error_without_want_kills_nobody(void)
{
	size_t size = 64 * PAGE, left = 8 * PAGE;
	pid_t other = test_child(hold, &size), victim;
	unsigned char *vector = (unsigned char *)map_memory(VECTOR, MAP_PRIVATE);
	char *looked_at = mmap(NULL, (size_t)VECTOR * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = (int)MUST(open(test_path("file"), O_WRONLY | O_CREAT, 0600));

	CHECK(looked_at != MAP_FAILED);
	MUST(munmap(looked_at + (size_t)(VECTOR - 1) * PAGE, PAGE));
	while (write(file, data, sizeof(data)) == sizeof(data))
		;
	victim = start_victim(hold_all_but, &left);
	CHECK_ERROR(mincore(looked_at, (size_t)VECTOR * PAGE, vector), ENOMEM);
	CHECK_EQUAL(test_wait(victim), 1000 + SIGKILL);
	MUST(kill(other, SIGTERM));
	CHECK_EQUAL(test_wait(other), 1000 + SIGTERM);
	unlink(test_path("file"));
}

static const struct test_case cases[] = {
	CASE(areas_count),
	CASE(tables_count),
	CASE(unseen_files_count),
	CASE(shared_memory_counts),
	CASE(tables_of_threads_count),
	CASE(copied_pipes_count),
	CASE(stacks_count),
	CASE(messages_count),
	CASE(polls_count),
	CASE(connections_count),
	CASE(arguments_count),
	CASE(forks_end),
	CASE(objects_and_memory),
	CASE(a_busy_victim_ends),
	CASE(a_victim_among_busy_processes_ends),
	CASE(a_stopped_victim_ends),
	CASE(a_victim_in_vfork_ends),
	CASE(a_victim_stopped_in_exit_ends),
	CASE(a_traced_victim_ends),
	CASE(a_victim_that_dumps_ends),
	CASE(a_call_that_gives_back_gets_memory),
	CASE(an_error_without_want_kills_nobody),
};

ATTACK_MAIN("pressure", cases)
