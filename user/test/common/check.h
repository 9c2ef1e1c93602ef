/* What the user-level tests share. A test program is a list of cases; each runs in a child process of its own, so that
 * a case that dies takes no other with it, and gets one line of verdict. */
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

/* Runs the cases in order (only those named on the command line, when there are names); returns main's status. */
int test_run(const char *subject, int argc, char **argv, const struct test_case *cases, size_t count);

#define TEST_MAIN(subject, cases) \
	int main(int argc, char **argv) \
	{ \
		return test_run(subject, argc, argv, cases, sizeof(cases) / sizeof((cases)[0])); \
	}

/* The condition holds, or the case fails with place and text. */
#define CHECK(condition) ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, #condition, 0, 0))
/* Two integers are equal; both are printed when they are not. */
#define CHECK_EQUAL(got, wanted) test_equal(__FILE__, __LINE__, #got " == " #wanted, (long long)(got), (long long)(wanted))
/* The call returns -1 with this errno. */
#define CHECK_ERROR(call, number) test_error(__FILE__, __LINE__, #call, (long long)(call), (number))
/* The call does not return -1; gives what it returned. */
#define MUST(call) test_must(__FILE__, __LINE__, #call, (long)(call))

void test_fail(const char *file, int line, const char *text, long long got, long long wanted)
	__attribute__((noreturn));
void test_equal(const char *file, int line, const char *text, long long got, long long wanted);
void test_error(const char *file, int line, const char *text, long long result, int number);
long test_must(const char *file, int line, const char *text, long result);

/* Whether the processor has a floating-point unit. Without one calculation is SIGILL, and the kernel loads and stores its
 * registers in memory of its own. */
int test_has_fpu(void);

/* A child that runs the function and exits with what it returned. */
pid_t test_child(int (*function)(void *), void *argument);
/* Waits for the child; its exit status, or 1000 + signal. */
int test_wait(pid_t child);
/* Runs the function in a child and returns as test_wait. */
int test_in_child(int (*function)(void *), void *argument);

/* A path in a directory of this case's own, removed with everything in it when the case ends (static storage, four at
 * a time). */
const char *test_path(const char *name);
/* Makes a file with this content. */
void test_write_file(const char *path, const void *data, size_t size);
/* Reads a whole small file; returns its length, and terminates it with NUL. */
size_t test_read_file(const char *path, char *buffer, size_t room);

#endif
