/* Limits on processes: RLIMIT_NPROC, and who may set the limits of other processes; on a file's attributes. A container
 * may lack the users that this test needs, so only our kernel can pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/check.h"

#define USER 4321
#define OTHER 4322
#define LIMITED 4323

static void limit_processes(rlim_t count)
{
	MUST(setrlimit(RLIMIT_NPROC, &(struct rlimit){ count, count }));
}

static int idle(void *unused)
{
	(void)unused;
	MUST(setresuid(USER, USER, USER));
	for (;;)
		pause();
	return 0;
}

static int run_hello(void)
{
	execl("/bin/hello", "hello", (char *)NULL);
	return errno;
}

/* The change of user succeeds, but execve fails until the user has fewer processes. */
static int become_one_too_many(void *processes)
{
	const pid_t *idlers = processes;

	limit_processes(2);
	MUST(setresuid(USER, USER, USER));
	CHECK_EQUAL(run_hello(), EAGAIN);
	CHECK_EQUAL(run_hello(), EAGAIN);
	CHECK_ERROR(fork(), EAGAIN);
	MUST(kill(idlers[0], SIGKILL));
	MUST(kill(idlers[1], SIGKILL));
	/* Ended children count until their parent has waited for them. */
	while (kill(idlers[1], 0) == 0)
		usleep(1000);
	return run_hello();
}

static void exec_after_a_change_of_user(void)
{
	pid_t idlers[3], child;

	for (int i = 0; i < 3; i++)
		idlers[i] = test_child(idle, NULL);
	usleep(20000);
	child = test_child(become_one_too_many, idlers);
	CHECK_EQUAL(test_wait(idlers[0]), 1000 + SIGKILL);
	CHECK_EQUAL(test_wait(idlers[1]), 1000 + SIGKILL);
	CHECK_EQUAL(test_wait(child), 0);
	MUST(kill(idlers[2], SIGKILL));
	CHECK_EQUAL(test_wait(idlers[2]), 1000 + SIGKILL);
}

static int change_setuid(void *unused)
{
	(void)unused;
	limit_processes(1);
	MUST(setgid(USER));
	MUST(setuid(USER));
	return run_hello();
}

static int change_setreuid(void *unused)
{
	(void)unused;
	limit_processes(1);
	MUST(setreuid(USER, USER));
	return run_hello();
}

/* A change of the effective user alone does not count. */
static int change_effective(void *unused)
{
	(void)unused;
	limit_processes(1);
	MUST(seteuid(USER));
	return run_hello();
}

static void each_way_to_change(void)
{
	pid_t idlers[2] = { test_child(idle, NULL), test_child(idle, NULL) };

	usleep(20000);
	CHECK_EQUAL(test_in_child(change_setuid, NULL), EAGAIN);
	CHECK_EQUAL(test_in_child(change_setreuid, NULL), EAGAIN);
	CHECK_EQUAL(test_in_child(change_effective, NULL), 0);
	for (int i = 0; i < 2; i++) {
		MUST(kill(idlers[i], SIGKILL));
		test_wait(idlers[i]);
	}
}

static int exit_at_once(void *unused)
{
	(void)unused;
	return 0;
}

/* The superuser may fork beyond the limit, by its real or by its effective user. */
static int fork_as_root(void *unused)
{
	(void)unused;
	limit_processes(0);
	CHECK_EQUAL(test_in_child(exit_at_once, NULL), 0);
	MUST(setreuid(USER, 0));
	CHECK_EQUAL(test_in_child(exit_at_once, NULL), 0);
	MUST(setreuid(0, USER));
	CHECK_EQUAL(test_in_child(exit_at_once, NULL), 0);
	MUST(seteuid(0));
	MUST(setresuid(USER, USER, USER));
	CHECK_ERROR(fork(), EAGAIN);
	return 0;
}

static void the_superuser_forks(void)
{
	CHECK_EQUAL(test_in_child(fork_as_root, NULL), 0);
}

/* A process that can still change its user through its saved IDs. */
static int keep_saved(void *ids)
{
	const unsigned *id = ids;

	MUST(setresgid(USER, USER, id[1]));
	MUST(setresuid(USER, USER, id[0]));
	for (;;)
		pause();
	return 0;
}

static int set_limits_of(void *child)
{
	struct rlimit limit = { 10, 10 };

	MUST(setresgid(USER, USER, USER));
	MUST(setresuid(USER, USER, USER));
	return prlimit(*(pid_t *)child, RLIMIT_CORE, &limit, NULL) ? errno : 0;
}

static void limits_of_others(void)
{
	static const struct {
		unsigned id[2];
		int error;
	} tries[] = { { { USER, USER }, 0 }, { { 0, USER }, EPERM }, { { OTHER, USER }, EPERM },
		{ { USER, 0 }, EPERM } };

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		pid_t child = test_child(keep_saved, (void *)tries[i].id);

		usleep(10000);
		CHECK_EQUAL(test_in_child(set_limits_of, &child), tries[i].error);
		MUST(kill(child, SIGKILL));
		test_wait(child);
	}
}

static void *limit_and_map(void *unused)
{
	const struct rlimit small = { 1 << 20, 1 << 20 };

	usleep(20000);
	if (setrlimit(RLIMIT_AS, &small))
		_exit(1);
	_exit(mmap(NULL, 4 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
	      errno == ENOMEM ? 0 : 2);
	return unused;
}

static int end_the_first_thread(void *unused)
{
	pthread_t thread;

	(void)unused;
	if (pthread_create(&thread, NULL, limit_and_map, NULL))
		return 3;
	syscall(SYS_exit, 4);
	return 5;
}

static void limits_without_the_first_thread(void)
{
	CHECK_EQUAL(test_in_child(end_the_first_thread, NULL), 0);
}

static void attributes_of_a_file(void)
{
	static char value[65536];
	int fd = (int)MUST(open(test_path("attributes"), O_RDWR | O_CREAT, 0600));
	char name[16];

	/* 128 KB of values. */
	MUST(fsetxattr(fd, "user.a", value, sizeof(value), 0));
	MUST(fsetxattr(fd, "user.b", value, sizeof(value), 0));
	CHECK_ERROR(fsetxattr(fd, "user.c", value, 1, 0), ENOSPC);
	MUST(fsetxattr(fd, "user.b", value, sizeof(value), XATTR_REPLACE));
	MUST(fsetxattr(fd, "user.b", value, 1, 0));
	/* 128 attributes. */
	for (int i = 2; i < 128; i++) {
		snprintf(name, sizeof(name), "user.%d", i);
		MUST(fsetxattr(fd, name, value, 1, 0));
	}
	CHECK_ERROR(fsetxattr(fd, "user.c", value, 1, 0), ENOSPC);
	MUST(fsetxattr(fd, "user.b", value, 2, 0));
	MUST(fremovexattr(fd, "user.b"));
	MUST(fsetxattr(fd, "user.c", value, 1, 0));
	MUST(close(fd));
}

/* Touches this share of the memory that is free. */
static void use_memory(unsigned long parts, unsigned long of)
{
	struct sysinfo info;
	char *at;
	size_t size;

	MUST(sysinfo(&info));
	size = info.freeram / of * parts;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(at != MAP_FAILED);
	memset(at, 1, size);
}

static int hold_much(void *said)
{
	MUST(setresuid(USER, USER, USER));
	use_memory(7, 8);
	MUST(write(*(int *)said, "", 1));
	for (;;)
		;
	return 0;
}

/* The process that is killed for want of memory has a lower priority than the one that wants it. */
static void memory_for_a_real_time_process(void)
{
	int said[2];
	char byte;
	pid_t victim;

	if (!test_is_timed())
		return;
	MUST(pipe(said));
	victim = test_child(hold_much, &said[1]);
	MUST(read(said[0], &byte, 1));
	MUST(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }));
	use_memory(2, 1);
	CHECK_EQUAL(test_wait(victim), 1000 + SIGKILL);
}

#define FORKERS 8

/*
 * Processes of one user fork at the same time. They have so much memory that others run during a fork. The later one
 * begins, the more urgent it is; without permission for that, the test checks less.
 */
struct forker {
	int number;
	int go[2];		/* a pipe, closed when they all begin */
};

static int fork_in_turn(void *argument)
{
	const struct forker *forker = argument;
	pid_t child;
	char byte;

	(void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 + forker->number });
	MUST(close(forker->go[1]));
	CHECK_EQUAL(read(forker->go[0], &byte, 1), 0);
	usleep(1000 + 200 * (unsigned int)forker->number);
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	sleep(1);	/* until all have forked: one that ends before makes room for another */
	if (child > 0) {
		MUST(kill(child, SIGKILL));
		MUST(waitpid(child, NULL, 0));
	}
	return child > 0;
}

static void forks_at_the_same_time(void)
{
	struct forker forker;
	int made = 0;
	size_t size = 12u << 20;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t forkers[FORKERS];

	CHECK(memory != MAP_FAILED);
	memset(memory, 1, size);
	MUST(pipe(forker.go));
	(void)setrlimit(RLIMIT_RTPRIO, &(struct rlimit){ 99, 99 });
	MUST(setrlimit(RLIMIT_NPROC, &(struct rlimit){ FORKERS + 3, FORKERS + 3 }));
	MUST(setresuid(LIMITED, LIMITED, LIMITED));
	for (forker.number = 0; forker.number < FORKERS; forker.number++)
		forkers[forker.number] = test_child(fork_in_turn, &forker);
	MUST(close(forker.go[1]));
	for (int i = 0; i < FORKERS; i++)
		made += test_wait(forkers[i]);
	CHECK_EQUAL(made, 2);
}

/* Strings and pointers, of arguments and environment together, may take a quarter of the stack's limit: here 128 KB. */
static int executes_with_many(void *strings)
{
	static char *arguments[10001], *environment[20001];
	size_t more = (size_t)(uintptr_t)strings;

	MUST(setrlimit(RLIMIT_STACK, &(struct rlimit){ 4 * 131072, 4 * 131072 }));
	for (size_t i = 0; i < 10000; i++)
		arguments[i] = "";
	for (size_t i = 0; i < more; i++)
		environment[i] = "";
	execve("/bin/hello", arguments, environment);
	return errno;
}

static void arguments_and_environment_together(void)
{
	CHECK_EQUAL(test_in_child(executes_with_many, (void *)20000), E2BIG);
	CHECK_EQUAL(test_in_child(executes_with_many, (void *)10000), 0);
}

#define GROUPS_MOST 65536

/* Of a user in many groups: the last of them gives access, children share the list, and a longer one is refused. */
static int use_groups(void *path)
{
	static gid_t back[GROUPS_MOST];
	char text[64];

	CHECK_ERROR(getgroups(GROUPS_MOST - 1, back), EINVAL);
	CHECK_EQUAL(getgroups(0, NULL), GROUPS_MOST);
	CHECK_EQUAL(getgroups(GROUPS_MOST, back), GROUPS_MOST);
	for (int i = 0; i < GROUPS_MOST; i++)
		CHECK_EQUAL(back[i], 100000 + i);
	MUST(setresgid(USER, USER, USER));
	MUST(setresuid(USER, USER, USER));
	CHECK_EQUAL(MUST(open(path, O_RDONLY)), 3);
	CHECK_ERROR(setgroups(0, NULL), EPERM);
	CHECK(test_read_file("/proc/sys/kernel/ngroups_max", text, sizeof(text)) > 0);
	CHECK_EQUAL(strtol(text, NULL, 10), GROUPS_MOST);
	return 0;
}

static int take_groups(void *path)
{
	static gid_t list[GROUPS_MOST + 1];

	/* From the largest to the smallest: the kernel puts them in order. */
	for (int i = 0; i < GROUPS_MOST; i++)
		list[i] = (gid_t)(100000 + GROUPS_MOST - 1 - i);
	MUST(setgroups(GROUPS_MOST, list));
	CHECK_ERROR(setgroups(GROUPS_MOST + 1, list), EINVAL);
	CHECK_ERROR(setgroups(-1, list), EINVAL);
	CHECK_ERROR(setgroups(3, (gid_t *)16), EFAULT);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(test_in_child(use_groups, path), 0);
	MUST(setgroups(2, list));
	CHECK_EQUAL(getgroups(0, NULL), 2);
	MUST(setgroups(0, NULL));
	CHECK_EQUAL(getgroups(0, NULL), 0);
	return 0;
}

static void many_groups(void)
{
	const char *path = test_path("of a group");
	int fd = (int)MUST(open(path, O_CREAT | O_RDWR, 0040));

	MUST(fchown(fd, 0, 100000 + GROUPS_MOST - 1));
	close(fd);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(test_in_child(take_groups, (void *)path), 0);
}

static const struct test_case cases[] = {
	CASE(exec_after_a_change_of_user),
	CASE(each_way_to_change),
	CASE(the_superuser_forks),
	CASE(forks_at_the_same_time),
	CASE(limits_of_others),
	CASE(limits_without_the_first_thread),
	CASE(attributes_of_a_file),
	CASE(memory_for_a_real_time_process),
	CASE(arguments_and_environment_together),
	CASE(many_groups),
};

TEST_MAIN("limit", cases)
