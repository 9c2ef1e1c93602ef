#define _GNU_SOURCE
#include "tracee.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

long tracee_peek(pid_t child, const void *address)
{
	errno = 0;
	return ptrace(PTRACE_PEEKDATA, child, address, NULL);
}

uint32_t tracee_word(pid_t child, unsigned word)
{
	errno = 0;
	return (uint32_t)ptrace(PTRACE_PEEKUSER, child, AT(word), NULL);
}

int tracee_stop(pid_t child)
{
	int status;

	CHECK_EQUAL(MUST(waitpid(child, &status, __WALL)), child);
	return status;
}

void tracee_stops(pid_t child, int number)
{
	int status = tracee_stop(child);

	CHECK(WIFSTOPPED(status));
	CHECK_EQUAL(WSTOPSIG(status), number);
}

pid_t start_tracee(int (*function)(void))
{
	pid_t child = (pid_t)MUST(fork());

	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(function());
	}
	tracee_stops(child, SIGSTOP);
	return child;
}

int tracee_count(void *word)
{
	do
		(*(volatile uint32_t *)word)++;
	while (word);
	return 0;
}

pid_t start_counter(volatile uint32_t **word)
{
	*word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(*word != MAP_FAILED);
	return test_child(tracee_count, (void *)*word);
}

int tracee_executes(void)
{
	execl("/bin/hello", "hello", (char *)NULL);
	return 1;
}
