/*
 * Work that a call leaves for its end. Closing a file or dropping the files of a message can take long and can happen
 * anywhere in the kernel, where other tasks may not run. So the task does it before it returns to its program or ends:
 * other tasks may run between the pieces, and within one at its preemption points.
 */
#ifndef DEFERRED_H
#define DEFERRED_H
#include <list.h>

struct deferred {
	struct list_head link;  /* in task->deferred, or in the list of noted work (wait.h) */
	void (*run)(struct deferred *);
};

/* Leaves work for the end of current's call. It is not in the list yet. */
void defer(struct deferred *work, void (*run)(struct deferred *));
/* For WORK_DEFERRED, and for a task that ends: does the work of current, and what that leaves in turn. */
void deferred_run(void);

#endif
