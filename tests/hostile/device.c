/* Attacks through a mapping of /dev/pagewalk: every call gets an address in it, and programs access it in every way. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/attack.h"
#include "machine.h"

#define PAGE 4096u

static char *device(int protection)
{
	int fd = open("/dev/pagewalk", O_RDWR);
	char *at;

	if (fd < 0)             /* the machine has no such device */
		_exit(0);
	at = mmap(NULL, PAGE, protection, MAP_SHARED, fd, 0);
	CHECK(at != MAP_FAILED);
	close(fd);
	return at;
}

/* The mapping stays one page long, even when it moves. */
static void does_not_grow(void)
{
	char *at = device(PROT_READ | PROT_WRITE), *room;

	CHECK(mremap(at, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
	CHECK(mremap(at, PAGE, 2 * PAGE, 0) == MAP_FAILED && errno == EFAULT);
	CHECK(mremap(at, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
	CHECK(mremap(at, 0, 1 << 30, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
	CHECK(mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) == MAP_FAILED && errno == EINVAL);
	room = mmap(NULL, 8 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(room != MAP_FAILED);
	CHECK(mremap(at, PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room) == MAP_FAILED && errno == EFAULT);
	CHECK(mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room) == room);
	CHECK_EQUAL(*(volatile uint32_t *)(room + 0x18), 0x50574c4b);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_GROWSDOWN, (int)MUST(open("/dev/pagewalk", O_RDWR)), 0) ==
		      MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, (int)MUST(open("/dev/pagewalk", O_RDWR)), 0) == MAP_FAILED);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, (int)MUST(open("/dev/pagewalk", O_RDWR)), PAGE) == MAP_FAILED);
}

static void ignore_signal(int n)
{
	(void)n;
}

static int ends[2];

/* Makes one call with the address in several arguments, so that the call uses it as structure, buffer, path or list. */
static int any_arguments(void *argument)
{
	static const long offsets[] = { 0x18, 0x19, 0xffe };
	const struct itimerval soon = { { 0, 10000 }, { 0, 10000 } };
	const struct sigaction action = { .sa_handler = ignore_signal };
	long number = ((long *)argument)[0], at = ((long *)argument)[1];

	MUST(sigaction(SIGALRM, &action, NULL));
	/* A timer interrupts calls that wait. */
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		long p = at + offsets[i];

		(void)syscall(number, p, p, p, p, p, p);
		(void)syscall(number, ends[0], p, 8, p, p, p);
		(void)syscall(number, p, 8, p, 8, p, 8);
		(void)syscall(number, 1, p, p, 0, 0, 0);
	}
	return 0;
}

static int is_left_out(long number)
{
	return number == SYS_exit || number == SYS_exit_group || number == SYS_pause || number == SYS_rt_sigsuspend ||
	       number == SYS_sigsuspend || number == SYS_rt_sigreturn || number == SYS_sigreturn ||
	       number == SYS_kill ||
	       number == SYS_fork || number == SYS_vfork || number == SYS_clone || MACHINE_LEAVES_OUT(number);
}

static void any_call(void)
{
	char *at = device(PROT_READ | PROT_WRITE);

	MUST(pipe2(ends, O_NONBLOCK));
	CHECK_EQUAL(write(ends[1], "some data, more than enough for a structure", 40), 40);
	for (long number = 1; number < 512; number++) {
		if (is_left_out(number))
			continue;
		test_in_child(any_arguments, (long[]){ number, (long)at });
	}
}

/* A copy from or to the device, which may answer to accesses of words only. */
#define REFUSED(call) \
	do { \
		if (MACHINE_DEVICE_REFUSES) \
			CHECK_ERROR(call, EFAULT); \
		else \
			(void)!(call); \
	} while (0)

/* Calls that the numbers above do not reach. Their other arguments are valid, so that the call gets to its copy. */
static int chosen_calls(void *argument)
{
	char *at = argument, buffer[64] = "text";
	struct iovec piece = { at, 8 }, own = { buffer, 8 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
	stack_t stack = { .ss_sp = at, .ss_size = PAGE };
	struct sigaction action = { .sa_handler = SIG_IGN };
	int sockets[2], file = (int)MUST(memfd_create("file", 0)), status;
	pid_t child;

	alarm(20);
	MUST(pipe2(ends, O_NONBLOCK));
	MUST(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, sockets));
	for (int unaligned = 0; unaligned < 2; unaligned++, at++) {
		piece.iov_base = at;
		REFUSED(write(ends[1], at, 3));
		REFUSED(write(file, at, 64));
		REFUSED(pwrite(file, at + 0xf00, 64, 9));
		MUST(write(ends[1], buffer, 32));
		REFUSED(read(ends[0], at, 3));
		REFUSED(writev(ends[1], &piece, 1));
		REFUSED(sendmsg(sockets[0], &message, 0));
		MUST(send(sockets[0], buffer, 8, 0));
		(void)recvmsg(sockets[1], &message, 0);
		(void)process_vm_readv(getpid(), &own, 1, &piece, 1, 0);
		(void)process_vm_writev(getpid(), &own, 1, &piece, 1, 0);
		(void)process_vm_readv(getpid(), &piece, 1, &own, 1, 0);
		(void)syscall(SYS_futex, at, FUTEX_WAIT, 7, NULL, NULL, 0);
		(void)syscall(SYS_futex, at, FUTEX_WAKE_OP, 1, 1, at, 0x10000000);
		(void)syscall(SYS_futex, at, FUTEX_CMP_REQUEUE, 1, 1, at, 0);
		(void)syscall(SYS_futex, at, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
		(void)syscall(SYS_futex, at, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
		(void)open(at, O_RDONLY);
		(void)msync(at, PAGE, MS_SYNC);
		(void)mlock(at, PAGE);
		(void)madvise(at, PAGE, MADV_DONTNEED);
		(void)execve("/bin/hello", (char **)at, (char **)at);
		(void)execve(at, (char **)at, (char **)at);
	}
	MUST(mprotect((char *)argument, PAGE, PROT_READ));
	MUST(mprotect((char *)argument, PAGE, PROT_NONE));
	MUST(mprotect((char *)argument, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	/* A tracer reads and writes the page. */
	child = (pid_t)MUST(fork());
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0));
	(void)ptrace(PTRACE_PEEKDATA, child, argument, 0);
	(void)ptrace(PTRACE_POKEDATA, child, argument, (void *)1);
	(void)ptrace(PTRACE_SETREGS, child, 0, argument);
	(void)ptrace(PTRACE_GETREGS, child, 0, argument);
	MUST(ptrace(PTRACE_CONT, child, 0, 0));
	MUST(waitpid(child, &status, 0));
	/* The signal stack, the robust list and the word that the thread's end clears lie in the page when the process
	 * ends. */
	MUST(syscall(SYS_set_robust_list, argument, 12));
	MUST(syscall(SYS_set_tid_address, argument));
	MUST(sigaltstack(&stack, NULL));
	action.sa_flags = SA_ONSTACK;
	action.sa_handler = (void (*)(int))argument;
	MUST(sigaction(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
	return 1;
}

/* How a program ends that jumps into the device, which holds no code. */
static int jumped(int status)
{
	return status == 1000 + SIGSEGV || (!MACHINE_DEVICE_REFUSES && status == 1000 + SIGILL);
}

static void the_calls_that_copy(void)
{
	CHECK(jumped(test_in_child(chosen_calls, device(PROT_READ | PROT_WRITE))));
}

/* A program's own access ends in a signal or has no effect. */
#define FUNCTION(name, text) \
	static int do_##name(void *argument) \
	{ \
		asm volatile(text : : MACHINE_ACCESS_ADDRESS(argument) : MACHINE_ACCESS_CLOBBERS); \
		return 0; \
	}
MACHINE_ACCESSES(FUNCTION)

#define ENTRY(name, text) { #name, do_##name },
static const struct {
	const char *name;
	int (*run)(void *);
} accesses[] = { MACHINE_ACCESSES(ENTRY) };

static int ended_well(int status)
{
	return status == 0 || status == 1000 + SIGBUS || status == 1000 + SIGSEGV || status == 1000 + SIGILL;
}

static void any_access(void)
{
	char *at = device(PROT_READ | PROT_WRITE | PROT_EXEC);

	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		int status;

		printf("%s:", accesses[i].name);
		status = test_in_child(accesses[i].run, at);
		printf(" %d\n", status);
		CHECK(ended_well(status));
	}
	CHECK(jumped(test_in_child(do_jump, at)));
	CHECK(jumped(test_in_child(do_jump, at + 0xff8)));
}

static const struct test_case cases[] = {
	CASE(does_not_grow),
	CASE(any_call),
	CASE(the_calls_that_copy),
	CASE(any_access),
};

ATTACK_MAIN("device", cases)
