/* Shared by the files of synchronous messages. */
#ifndef IPC_RENDEZVOUS_H
#define IPC_RENDEZVOUS_H
#include <rendezvous.h>

/* The arguments of a call, and of its return, that hold a message's three words and its size in bytes. */
#define ARGUMENT_WORDS 3
#define ARGUMENT_SIZE  1

/*
 * Copies n bytes of a waiting sender's message to current. Returns current's error and sets *other_error to the
 * sender's. Missing pages are faulted in, so other threads may run: then current->rendezvous.copied is NULL if the
 * sender has stopped waiting.
 */
long rendezvous_pull(struct task *sender, u32 n, long *other_error);
/* Copies the held message, n bytes, to current's memory. 0 or -EFAULT. */
long rendezvous_take_held(u32 n);

#endif
