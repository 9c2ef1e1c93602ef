/*
 * A thread changes what another thread's calls read: strings, vectors, lengths, words, signal frames, arguments, mapped
 * files, and the mapping itself. With several processors the change can come between any two reads of a call. What a
 * call returns is then open; it must return, or end by a signal, and do no harm.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/attack.h"
#include "machine.h"

#define PAGE 4096
#define ROUNDS 150

static volatile int stop;
static uint32_t dice = 1;	/* the changing thread's */

static uint32_t any(uint32_t below)
{
	dice = dice * 1664525u + 1013904223u;
	return (dice >> 8) % below;
}

static pthread_t changer;

static void start(void *(*change)(void *))
{
	stop = 0;
	CHECK_EQUAL(pthread_create(&changer, NULL, change, NULL), 0);
}

static void finish(void)
{
	stop = 1;
	pthread_join(changer, NULL);
}

static char text[3 * PAGE];

static void *change_text(void *argument)
{
	while (!stop) {
		static const uint32_t ends[] = { 0, 1, 126, 127, 128, 129, 4094, 4095, 4096, 8000 };
		uint32_t at = ends[any(10)];

		text[at] = 0;
		text[any(sizeof(text) - 1)] = "/.a"[any(3)];
		text[at] = 'a';
	}
	return argument;
}

static void strings(void)
{
	struct stat status;

	memset(text, 'a', sizeof(text) - 1);
	start(change_text);
	for (int i = 0; i < ROUNDS; i++) {
		char *list[] = { text, text + 1, NULL };

		close(open(text, O_RDONLY));
		stat(text, &status);
		fstatat(AT_FDCWD, text, &status, AT_EMPTY_PATH);
		readlink(text, (char *)&status, sizeof(status));
		syscall(SYS_getxattr, "/", text, &status, sizeof(status));
		syscall(SYS_setxattr, text, "user.a", text, 128, 0);
		close((int)syscall(SYS_memfd_create, text, 0));
		syscall(SYS_mq_unlink, text);
		rename(text, text + 128);
		execve(text, list, list);
	}
	finish();
}

static struct iovec vector[16];
static char data[16 * PAGE];
static struct msghdr header;
static struct sockaddr_un name;
static socklen_t name_length;
static union {
	struct cmsghdr header;
	char bytes[256];
} control;

static uint32_t any_length(void)
{
	static const uint32_t lengths[] = { 0, 1, 12, 16, 20, PAGE, PAGE + 1, 0x7fffffff, 0x80000000u, ~0u };

	return lengths[any(10)];
}

static void *any_place(void)
{
	switch (any(4)) {
	case 0:
		return NULL;
	case 1:
		return (void *)0xc0000000u;
	default:
		return data + any(8 * PAGE);
	}
}

static void *change_vectors(void *argument)
{
	while (!stop) {
		struct iovec *piece = &vector[any(16)];

		piece->iov_len = any_length();
		piece->iov_base = any_place();
		piece->iov_len = PAGE / 2;
		piece->iov_base = data;
		header.msg_iovlen = any(4) ? any(16) : any_length();
		header.msg_controllen = any(2) ? any(256) : any_length();
		header.msg_control = any(4) ? &control : any_place();
		header.msg_namelen = any_length();
		control.header.cmsg_len = any(2) ? 16 : any_length();
		control.header.cmsg_type = any(2) ? SCM_RIGHTS : SCM_CREDENTIALS;
		((volatile int *)CMSG_DATA(&control.header))[0] = (int)any(4) - 1;
		name_length = any_length();
		name.sun_path[any(8)] = (char)any(2);
	}
	return argument;
}

static void vectors_and_messages(void)
{
	int pair[2], fd = (int)MUST(open(test_path("file"), O_RDWR | O_CREAT, 0600)), pipes[2];

	MUST(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair));
	MUST(pipe2(pipes, O_NONBLOCK));
	for (int i = 0; i < 16; i++)
		vector[i] = (struct iovec){ data, PAGE };
	header = (struct msghdr){ .msg_iov = vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = 16 };
	control.header = (struct cmsghdr){ .cmsg_len = 16, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	name.sun_family = AF_UNIX;
	start(change_vectors);
	for (int i = 0; i < ROUNDS; i++) {
		struct msghdr received = header;
		int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

		pwritev(fd, vector, 16, 0);
		preadv(fd, vector, 16, 0);
		writev(pipes[1], vector, 16);
		readv(pipes[0], vector, 16);
		vmsplice(pipes[1], vector, 16, SPLICE_F_NONBLOCK);
		process_vm_readv(getpid(), vector, 8, vector + 8, 8, 0);
		process_vm_writev(getpid(), vector, 8, vector + 8, 8, 0);
		/* Not by the C library, which may look at the header itself: musl's does. */
		syscall(SYS_sendmsg, pair[0], &header, MSG_DONTWAIT);
		received.msg_iov = vector;
		syscall(SYS_recvmsg, pair[1], &received, MSG_DONTWAIT);
		syscall(SYS_recvmsg, pair[1], &header, MSG_DONTWAIT);
		bind(other, (struct sockaddr *)&name, name_length);
		getsockname(other, (struct sockaddr *)&name, &name_length);
		getsockopt(other, SOL_SOCKET, SO_TYPE, data, &name_length);
		close(other);
		for (int passed = other + 1; passed < other + 8; passed++)
			close(passed);
		ftruncate(fd, 0);
	}
	finish();
}

static uint32_t words[16];

static void *count_word(void *argument)
{
	while (!stop)
		((volatile uint32_t *)words)[0]++;
	return argument;
}

static void *store_same(void *argument)
{
	while (!stop)
		((volatile uint32_t *)words)[0] = 0;
	return argument;
}

static void *change_bits(void *argument)
{
	uint32_t owner = *(uint32_t *)argument;

	while (!stop)
		for (uint32_t bits = 0; bits < 4; bits++)
			((volatile uint32_t *)words)[0] = owner | bits << 30;
	return argument;
}

static long futex(int op, uint32_t value, long value2, uint32_t *second, uint32_t value3)
{
	return syscall(SYS_futex, words, op, value, value2, second, value3);
}

/* Each operation that reads and exchanges the word, while it changes without end. */
static _Noreturn void operate_for_ever(void *(*change)(void *))
{
	static const struct timespec soon = { 0, 100000 };
	uint32_t self = (uint32_t)getpid();

	CHECK_EQUAL(pthread_create(&changer, NULL, change, &self), 0);
	for (;;) {
		futex(FUTEX_WAKE_OP, 1, 1, words, FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0));
		futex(FUTEX_CMP_REQUEUE, 1, 1, words + 8, words[0]);
		futex(FUTEX_WAIT, words[0], (long)&soon, NULL, 0);
		futex(FUTEX_TRYLOCK_PI, 0, 0, NULL, 0);
		futex(FUTEX_UNLOCK_PI, 0, 0, NULL, 0);
	}
}

static int operate(void *argument)
{
	operate_for_ever(*(void *(*const *)(void *))argument);
}

/* A signal ends a call on a word that never stays the same. */
static void futex_words(void)
{
	static void *(*const changes[])(void *) = { count_word, store_same, change_bits };

	for (int i = 0; i < 3; i++) {
		pid_t child = test_child(operate, (void *)(uintptr_t)&changes[i]);

		usleep(30000);
		kill(child, SIGKILL);
		CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
	}
}

static struct {
	struct robust_list_head head;
	struct robust_list entry;
} robust;

static volatile pid_t ending;

/* Ends without the C library's knowledge, which may wait for such a thread for ever. */
static void *end_as_owner(void *argument)
{
	ending = (pid_t)syscall(SYS_gettid);
	*(volatile uint32_t *)argument = (uint32_t)syscall(SYS_gettid);
	robust.head.list.next = &robust.entry;
	robust.head.futex_offset = (long)((char *)words - (char *)&robust.entry);
	robust.entry.next = &robust.head.list;
	syscall(SYS_set_robust_list, &robust.head, sizeof(robust.head));
	usleep(1000);
	syscall(SYS_exit, 0);
	return NULL;
}

/* The thread that owned a robust mutex ends although the word does not stay the same. */
static void a_robust_word(void)
{
	for (int i = 0; i < 10; i++) {
		static volatile uint32_t owner;
		pthread_t thread;

		owner = 0;
		CHECK_EQUAL(pthread_create(&thread, NULL, end_as_owner, (void *)&owner), 0);
		while (!owner)
			sched_yield();
		stop = 0;
		CHECK_EQUAL(pthread_create(&changer, NULL, change_bits, (void *)&owner), 0);
		while (syscall(SYS_tgkill, getpid(), ending, 0) == 0)
			sched_yield();
		finish();
	}
}

static char stack[8 * PAGE] __attribute__((aligned(16)));
static ucontext_t *volatile context;

static void *change_frame(void *argument)
{
	while (!stop) {
		ucontext_t *now = context;
		uint32_t *word = (uint32_t *)(stack + sizeof(stack)) - 1 - any(500);

		if (any(4) == 0)
			*word = dice;
		if (!now)
			continue;
		machine_spoil(now, any_place());
		now->uc_stack.ss_flags = (int)any(8);
		now->uc_stack.ss_sp = any_place();
		now->uc_stack.ss_size = any_length();
		machine_mend(now);
	}
	return argument;
}

static void handler(int number, siginfo_t *info, void *frame)
{
	(void)number;
	(void)info;
	context = frame;
}

static int take_signals(void *argument)
{
	const stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	(void)argument;
	MUST(sigaltstack(&other, NULL));
	MUST(sigaction(SIGUSR1, &action, NULL));
	start(change_frame);
	alarm(1);
	for (int i = 0; i < ROUNDS; i++)
		raise(SIGUSR1);
	_exit(0);
}

static void signal_frames(void)
{
	for (int i = 0; i < 10; i++) {
		dice = (uint32_t)i;
		test_in_child(take_signals, NULL);
	}
}

static char *list[16];

static void *change_list(void *argument)
{
	while (!stop) {
		uint32_t at = any(16);

		list[at] = any(3) ? any_place() : NULL;
		text[any(sizeof(text) - 1)] = (char)any(2);
		list[at] = text + any(sizeof(text));
	}
	return argument;
}

static int run_hello(void *path)
{
	close(1);
	close(2);
	dice = (uint32_t)getpid();
	memset(text, 'a', sizeof(text) - 1);
	start(change_list);
	for (int i = 0; i < 20; i++)
		execve(path, list, list);
	_exit(0);
}

static void arguments(void)
{
	for (int i = 0; i < 20; i++)
		test_in_child(run_hello, "/bin/hello");
}

static unsigned char *file_bytes;

static void *change_file(void *argument)
{
	while (!stop) {
		uint32_t at = any(52 + 8 * 32);
		unsigned char before = file_bytes[at];

		file_bytes[at] = (unsigned char)dice;
		file_bytes[at] = before;
	}
	return argument;
}

static int run_program(void *path)
{
	char *none[] = { path, NULL };

	close(1);
	close(2);
	alarm(1);
	execve(path, none, none);
	return 0;
}

/* The headers of a program change in a shared mapping while it is started. */
static void programs(void)
{
	const char *path = test_path("program");
	int from = (int)MUST(open("/bin/hello", O_RDONLY)), to = (int)MUST(open(path, O_RDWR | O_CREAT, 0700));
	ssize_t n;

	while ((n = read(from, data, sizeof(data))) > 0)
		CHECK_EQUAL(write(to, data, (size_t)n), n);
	file_bytes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	CHECK(file_bytes != MAP_FAILED);
	close(to);
	start(change_file);
	for (int i = 0; i < 20; i++)
		test_in_child(run_program, (void *)(uintptr_t)path);
	finish();
}

static char *moving;

static void *change_mapping(void *argument)
{
	while (!stop) {
		munmap(moving + any(4) * PAGE, PAGE);
		mprotect(moving, 4 * PAGE, any(2) ? PROT_READ : PROT_READ | PROT_WRITE);
		mmap(moving, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		madvise(moving, 4 * PAGE, MADV_DONTNEED);
	}
	return argument;
}

/* The memory of a transfer goes away and comes back. What a file gets is its writer's bytes, or zeros of new pages. */
static void mappings(void)
{
	int fd = (int)MUST(open(test_path("file"), O_RDWR | O_CREAT, 0600)), pipes[2];
	static char got[4 * PAGE];

	moving = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(moving != MAP_FAILED);
	MUST(pipe2(pipes, O_NONBLOCK));
	memset(data, 'm', sizeof(data));
	start(change_mapping);
	for (int i = 0; i < ROUNDS; i++) {
		ssize_t n;

		pwrite(fd, data, 4 * PAGE, 0);
		pread(fd, moving, 4 * PAGE, 0);
		pwrite(fd, moving, 4 * PAGE, 4 * PAGE);
		n = pread(fd, got, sizeof(got), 4 * PAGE);
		for (ssize_t at = 0; at < n; at++)
			CHECK(got[at] == 'm' || got[at] == 0);
		write(pipes[1], moving, 2 * PAGE);
		read(pipes[0], moving + PAGE, 2 * PAGE);
		poll((struct pollfd *)moving, 20, 0);
	}
	finish();
}

static const struct test_case cases[] = {
	CASE(strings),
	CASE(vectors_and_messages),
	CASE(futex_words),
	CASE(a_robust_word),
	CASE(signal_frames),
	CASE(arguments),
	CASE(programs),
	CASE(mappings),
};

ATTACK_MAIN("race", cases)
