/* What is counted by user, whichever of its processes it was. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <list.h>
#include <types.h>

struct account {
	struct list_head link;
	u32 uid;		/* the real one */
	u32 rights;		/* struct rights that count here */
	u32 files_in_flight;	/* sent over Unix sockets and not received (ipc/rights.c) */
	u32 queue_bytes;	/* that the user's POSIX message queues may grow to (ipc/mqueue.c) */
};

/* The user's account, made when there is none; NULL: no memory. It stays while one of its counts is not 0. */
struct account *account_of(u32 uid);
/* After a count became less, or remained 0. */
void account_settle(struct account *);

#endif
