/* Pipes: what splice and the policies call. */
#ifndef PIPE_H
#define PIPE_H
#include <types.h>

struct file;
struct iter;
struct pipe;

/* For splice and its relatives; the file is a pipe's end (file_is_pipe). */
bool file_is_pipe(const struct file *);
bool pipe_same(const struct file *, const struct file *);
/* Bytes to read, 0 at the end, or -EAGAIN (without wait), -ERESTARTSYS. */
long pipe_wait_data(struct file *, bool wait);
u32 pipe_room(const struct file *);     /* bytes */
/* Bytes of room, or -EPIPE (with SIGPIPE), -EAGAIN, -ERESTARTSYS. */
long pipe_wait_room(struct file *, bool wait);
/* The same as pipe_wait_data; if there are bytes, no other reader takes them until pipe_unlock_data(). */
long pipe_lock_data(struct file *, bool wait);
void pipe_unlock_data(struct file *);
/* Reads n bytes without removing them, from `skip` bytes on. */
long pipe_peek(struct file *, struct iter *, u32 skip, size_t n);
/* Removes n bytes that were read with pipe_peek(). */
void pipe_skip(struct file *, u32 n);

/* How a long write reaches a reader that waits. */
struct pipe_transfer {
	/*
	 * Copies to the reader: returns the bytes copied; 0: use the buffer, as for other writes; or a negative errno.
	 */
	long (*long_write)(struct pipe *, struct iter *);
	bool sinks;             /* waiting readers announce their buffers */
};

extern const struct pipe_transfer pipe_copy, pipe_page, pipe_direct;
extern const struct pipe_transfer *pipe_transfer;       /* bound by policy pipe.transfer */
extern u64 pipe_transfers;                              /* pages or writes copied to a waiting reader */

#endif
