/* What the kernel counts for each user, over all of the user's processes. */
#ifndef ACCOUNT_H
#define ACCOUNT_H
#include <frame.h>
#include <list.h>
#include <types.h>

struct account {
	struct list_head link;
	u32 uid;                /* real user ID */
	u32 rights;             /* struct rights charged to this user */
	u32 files_in_flight;    /* sent over Unix sockets and not received (ipc/rights.c) */
	u32 queue_bytes;        /* the sum of the limits of the user's POSIX message queues (ipc/mqueue.c) */
	u32 locks;              /* file locks (fs/file_lock.c) */
	u32 epolls, epoll_items;        /* fs/epoll.c */
	u32 inotifies, inotify_watches; /* fs/inotify.c */
	u32 signals;            /* real-time signals queued to the user's processes (task/signal.c) */
};

/* The user's account, created if need be; NULL: no memory. It exists while one of its counts is not 0. */
struct account *account_of(u32 uid);
/* NULL: all counts are 0. */
struct account *account_find(u32 uid);
/* Frees the account if all its counts are 0; called after a count has decreased. */
void account_settle(struct account *);

/* The most objects of a kind that one user may have. Together they take at most 1/25 of RAM, Linux's rule for epoll. */
#define ACCOUNT_MOST(size) (frame_count / 25 * PAGE_SIZE / (size))

#endif
