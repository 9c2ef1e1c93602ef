/* Shared by pipes and the forms of a long write (policy pipe.transfer). */
#ifndef PIPE_TRANSFER_H
#define PIPE_TRANSFER_H
#include <pipe.h>
#include <wait.h>

#include "ring.h"

/* The buffer of a waiting reader. The pipe is empty while there is one. */
struct pipe_sink {
	struct iter *to;                /* in user space */
	struct mm *mm;
	long done;                      /* bytes delivered so far */
};

struct pipe {
	struct ring ring;
	struct pipe_sink *sink;         /* of the first waiting reader, if the form of pipe.transfer uses it; or NULL */
	u32 sinks;                      /* registered so far */
	u32 readers, writers;           /* open files */
	u32 reader_opens, writer_opens; /* opens so far: a FIFO's open waits for a change */
	struct waitq readable, writable;
	struct waitq opened;
	struct mutex reading, writing;  /* held while bytes are copied, which may sleep */
};

#endif
