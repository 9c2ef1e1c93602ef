/* Shared by the user-level tests. A test program is a list of cases. Each case runs in its own child process, so that a
 * case that dies does not end the others, and prints one line with its verdict. */
#ifndef PAGEWALK_TEST_CHECK_H
#define PAGEWALK_TEST_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct test_case {
	const char *name;
	void (*run)(void);
};

#define CASE(function) { #function, function }

/* Runs the cases in order, or only those named on the command line; returns main's status. */
int test_run(const char *subject, int argc, char **argv, const struct test_case *cases, size_t count);

#define TEST_MAIN(subject, cases) \
	int main(int argc, char **argv) \
	{ \
		return test_run(subject, argc, argv, cases, sizeof(cases) / sizeof((cases)[0])); \
	}

/* Checks a condition; if it does not hold, the case fails and prints place and text. */
#define CHECK(condition) ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, #condition, 0, 0))
/* Checks that two integers are equal; prints both if they are not. */
#define CHECK_EQUAL(got, wanted) \
	test_equal(__FILE__, __LINE__, #got " == " #wanted, (long long)(got), (long long)(wanted))
/* Checks that the call returns -1 with this errno. */
#define CHECK_ERROR(call, number) test_error(__FILE__, __LINE__, #call, (long long)(call), (number))
/* Checks that the call does not return -1; its value is what the call returned. */
#define MUST(call) test_must(__FILE__, __LINE__, #call, (long)(call))

void test_fail(const char *file, int line, const char *text, long long got, long long wanted)
	__attribute__((noreturn));
void test_equal(const char *file, int line, const char *text, long long got, long long wanted);
void test_error(const char *file, int line, const char *text, long long result, int number);
long test_must(const char *file, int line, const char *text, long result);

/* Whether the processor has a floating-point unit. Without one, arithmetic ends in SIGILL, and the kernel emulates
 * loads and stores of floating-point registers. */
int test_has_fpu(void);

/* Whether time limits apply: only where the clock is the machine's own, since QEMU's clock is the host's, and includes
 * the host's other work. They do not apply with the invariant checker, which checks everything, however long
 * it takes. */
int test_is_timed(void);

/* CLOCK_MONOTONIC in ns. */
long long test_now(void);

/* Makes a child that runs the function and exits with the function's result. */
pid_t test_child(int (*function)(void *), void *argument);
/* Waits for the child; returns its exit status, or 1000 + signal. */
int test_wait(pid_t child);
/* Runs the function in a child; returns as test_wait does. */
int test_in_child(int (*function)(void *), void *argument);

/* Waits until a thread of this process sleeps. */
void test_await_sleep(int thread);

/* A path in a directory that belongs to this case; the end of the case removes the directory with its contents. The
 * result is static: the fourth call after this one overwrites it. */
const char *test_path(const char *name);
/* Makes a file with these contents. */
void test_write_file(const char *path, const void *data, size_t size);
/* Reads a whole small file and ends the text with NUL; returns its length. */
size_t test_read_file(const char *path, char *buffer, size_t room);

#endif
