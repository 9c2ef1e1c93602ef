/* Readiness: what poll, select and epoll ask of a file. */
#ifndef POLL_H
#define POLL_H

#include <abi/poll.h>
#include <types.h>

#include <wait.h>

struct file;

/* Passed to a file's poll operation, which reports each queue that wakes it. NULL: report the state only. */
struct poll_table {
	void (*add)(struct poll_table *, struct waitq *);
};

static inline void poll_wait(struct poll_table *table, struct waitq *queue)
{
	if (table)
		table->add(table, queue);
}

unsigned file_poll(struct file *, struct poll_table *);

#endif
