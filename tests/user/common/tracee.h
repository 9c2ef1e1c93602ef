/* Shared by the tests of ptrace: children that are traced. */
#ifndef PAGEWALK_TEST_TRACEE_H
#define PAGEWALK_TEST_TRACEE_H

#include <stdint.h>
#include <sys/types.h>

/* Words of the user area: Linux uapi, powerpc asm/ptrace.h. */
enum { R0 = 0, R3 = 3, R14 = 14, NIP = 32, ORIG_R3 = 34, CCR = 38, FPR1 = 50 };
#define AT(word) ((void *)(4 * (uintptr_t)(word)))

/* Reads a word of the tracee's memory; errno is not 0 if that fails. */
long tracee_peek(pid_t child, const void *address);
/* Reads a word of the tracee's user area. */
uint32_t tracee_word(pid_t child, unsigned word);
/* Waits for the tracee's next stop; returns its status in wait's form. */
int tracee_stop(pid_t child);
/* Checks that the tracee's next stop is by this signal. */
void tracee_stops(pid_t child, int number);
/* Makes a child that its parent traces. The child stops first, and runs the function after that. */
pid_t start_tracee(int (*function)(void));
/* Increments the word for ever. */
int tracee_count(void *word);
/* Makes a child that increments a word for ever; the caller can read the word. */
pid_t start_counter(volatile uint32_t **word);
/* Executes /bin/hello. */
int tracee_executes(void);

#endif
