/* What pipes share with the ways in which a long write reaches a reader that waits (policy pipe.transfer). */
#ifndef PIPE_TRANSFER_H
#define PIPE_TRANSFER_H

#include "ring.h"

#include <pipe.h>
#include <wait.h>

/* Where a reader that waits wants its bytes: the pipe is empty while there is one. */
struct pipe_sink {
	struct iter *to;		/* in user space */
	struct mm *mm;
	long done;			/* bytes delivered so far */
};

struct pipe {
	struct ring ring;
	struct pipe_sink *sink;		/* of the first reader that waits, where policy pipe.transfer wants it; or NULL */
	u32 sinks;			/* registered so far */
	u32 readers, writers;		/* open files */
	u32 reader_opens, writer_opens;	/* that ever were: a FIFO's open waits for one to change */
	struct waitq readable, writable;
	struct waitq opened;
	struct mutex reading, writing;	/* held while bytes are copied, which may sleep */
};

#endif
