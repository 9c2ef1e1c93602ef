/* Readiness: what poll, select and epoll ask of a file. */
#ifndef POLL_H
#define POLL_H
#include <abi/poll.h>
#include <file.h>
#include <types.h>
#include <wait.h>

/* Passed to a file's poll operation, which reports each queue that wakes it. NULL: report the state only. */
struct poll_table {
	void (*add)(struct poll_table *, struct waitq *);
};

/*
 * Counts how often a file's poll operation began to report other queues. A sleeping poll that wakes and finds another
 * count leaves its queues and enters the new ones.
 */
extern u32 poll_queue_changes;

static inline void poll_wait(struct poll_table *table, struct waitq *queue)
{
	if (table)
		table->add(table, queue);
}

static inline unsigned file_poll(struct file *file, struct poll_table *table)
{
	return file->ops->poll ? file->ops->poll(file, table) : POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
}

#endif
