/* What the tests of synchronous messages share: the calls, and children to meet. */
#ifndef PAGEWALK_TEST_RENDEZVOUS_H
#define PAGEWALK_TEST_RENDEZVOUS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc.h"

#define PAGE  4096ul
#define SHORT 20000u            /* microseconds: what somebody else needs to get to its call */

long send_words(long to, uint32_t time, uint32_t a, uint32_t b, uint32_t c);
long receive_words(long from, uint32_t time, struct ipc_message *message);
long call_words(long to, uint32_t time, struct ipc_message *message);
long send_bytes(long to, const void *data, uint32_t size, uint32_t time);
/* *size: what was sent, whatever there was room for. */
long receive_bytes(long from, void *data, uint32_t room, uint32_t time, uint32_t *size);

/* Sleeps until the other side has got to its call. */
void let_wait(void);
char *map_pages(size_t size, int protection);
/* Kills the child and waits for it. */
void end_child(pid_t child);

/* Functions for test_child: send a number to the parent; end after let_wait's time. */
int send_number(void *number);
int end_soon(void *unused);

#endif
