/* Pipes, as fcntl and sockets see them. */
#ifndef PIPE_H
#define PIPE_H

#include <types.h>

struct file;
struct iter;
struct pipe;

long pipe_size(struct file *);		/* bytes; -EBADF: not a pipe */
long pipe_set_size(struct file *, u32 bytes);

/* For splice and its relatives; the file is a pipe's end (file_is_pipe). */
bool file_is_pipe(const struct file *);
bool pipe_same(const struct file *, const struct file *);
/* Bytes to read, 0 at the end, or -EAGAIN (without wait), -ERESTARTSYS. */
long pipe_wait_data(struct file *, bool wait);
/* Bytes of room, or -EPIPE (with SIGPIPE), -EAGAIN, -ERESTARTSYS. */
long pipe_wait_room(struct file *, bool wait);
/* Reads without taking, `skip` bytes in. */
long pipe_peek(struct file *, struct iter *, u32 skip, size_t n);
/* Takes n bytes that were peeked at. */
void pipe_skip(struct file *, u32 n);

/* A way for long writes to reach a reader that waits. */
struct pipe_transfer {
	/* Bytes that went to the reader; 0: into the buffer as any other; or a negative errno. */
	long (*long_write)(struct pipe *, struct iter *);
	bool sinks;		/* readers that wait say where they want their bytes */
};

extern const struct pipe_transfer pipe_copy, pipe_page, pipe_direct;
extern const struct pipe_transfer *pipe_transfer;	/* bound by policy pipe.transfer */
extern u64 pipe_transfers;				/* pages or writes that went to a reader that waited */

#endif
