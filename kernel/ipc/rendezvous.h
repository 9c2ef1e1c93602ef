/* What the files of synchronous messages share. */
#ifndef IPC_RENDEZVOUS_H
#define IPC_RENDEZVOUS_H

#include <rendezvous.h>

/* Which arguments of the call, and of its return, are a message's three words, and which is its bytes of memory. */
#define ARGUMENT_WORDS 3
#define ARGUMENT_SIZE  1

/* current's wait to receive, without a time limit, was interrupted: it waits on, or its result. 0: from anyone. */
long rendezvous_receive_again(s32 from);

/*
 * A waiting sender's message, n bytes, to current. Returns current's error, *other_error is set to the other's; what
 * is missing is paged in, so others may run meanwhile: current->rendezvous.copied is NULL if the other waits no more.
 */
long rendezvous_pull(struct task *sender, u32 n, long *other_error);
/* The message that a sender left with current, n bytes, to its memory. 0 or -EFAULT. */
long rendezvous_take_held(u32 n);

#endif
