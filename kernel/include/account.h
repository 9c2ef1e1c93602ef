/* What the kernel counts for each user, over all of the user's processes. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <frame.h>
#include <list.h>
#include <types.h>

struct account {
	struct list_head link;
	u32 uid;		/* the real one */
	u32 rights;		/* struct rights charged to this user */
	u32 files_in_flight;	/* sent over Unix sockets and not received (ipc/rights.c) */
	u32 queue_bytes;	/* that the user's POSIX message queues may grow to (ipc/mqueue.c) */
	u32 locks;		/* file locks (fs/file_lock.c) */
	u32 epolls, epoll_items;	/* ipc/epoll.c */
	u32 inotifies, inotify_watches;	/* fs/inotify.c */
};

/* The user's account, created if need be; NULL: no memory. It exists while one of its counts is not 0. */
struct account *account_of(u32 uid);
/* Frees the account if all its counts are 0; called after a count has decreased. */
void account_settle(struct account *);

/* What all objects of a kind may take of memory for one user: a twenty-fifth, as Linux has it for epoll. */
#define ACCOUNT_MOST(size) (frame_count / 25 * PAGE_SIZE / (size))

#endif
