/* Shared by the tests of synchronous messages: the calls, and child processes as partners. */
#ifndef PAGEWALK_TEST_RENDEZVOUS_H
#define PAGEWALK_TEST_RENDEZVOUS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc.h"

#define PAGE  4096ul
#define SHORT 20000u            /* microseconds: long enough for another process to reach its call */

long send_words(long to, uint32_t time, uint32_t a, uint32_t b, uint32_t c);
long receive_words(long from, uint32_t time, struct ipc_message *message);
long call_words(long to, uint32_t time, struct ipc_message *message);
long send_bytes(long to, const void *data, uint32_t size, uint32_t time);
/* *size: the number of bytes sent, even if they did not all fit. */
long receive_bytes(long from, void *data, uint32_t room, uint32_t time, uint32_t *size);

/* Sleeps long enough for the other side to reach its call. */
void let_wait(void);
char *map_pages(size_t size, int protection);
/* Kills the child and waits for it. */
void end_child(pid_t child);

/* Functions for test_child: send a number to the parent; end after the time of let_wait. */
int send_number(void *number);
int end_soon(void *unused);

#endif
