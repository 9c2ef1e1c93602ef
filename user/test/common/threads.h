/* A process with very many threads. */
#ifndef PAGEWALK_TEST_THREADS_H
#define PAGEWALK_TEST_THREADS_H

/* Starts 900 threads, or at least a third of that where memory is short. They sleep, and block every signal, as the
 * caller does from now on. */
void test_start_threads(void);

#endif
