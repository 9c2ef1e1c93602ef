/* Threads: one that must start, and its end; and a process with very many. */
#ifndef PAGEWALK_TEST_THREADS_H
#define PAGEWALK_TEST_THREADS_H

#include <pthread.h>

pthread_t test_start(void *(*function)(void *), void *argument);
/* Waits for its end; returns what its function returned. */
void *test_join(pthread_t thread);

/* Starts 900 threads, or at least a third of that where memory is short. They sleep, and block every signal, as the
 * caller does from now on. */
void test_start_threads(void);

#endif
