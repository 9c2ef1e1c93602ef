/* Readiness: what poll, select and epoll ask of a file. */
#ifndef POLL_H
#define POLL_H

#include <types.h>

#include <wait.h>

#define POLLIN 0x001u
#define POLLPRI 0x002u
#define POLLOUT 0x004u
#define POLLERR 0x008u
#define POLLHUP 0x010u
#define POLLNVAL 0x020u
#define POLLRDNORM 0x040u
#define POLLRDBAND 0x080u
#define POLLWRNORM 0x100u
#define POLLWRBAND 0x200u
#define POLLRDHUP 0x2000u

struct file;

/* Passed to a file's poll operation, which names each queue that it would be woken by. NULL: only ask. */
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
