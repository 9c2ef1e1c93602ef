/* Pipes, as fcntl and sockets see them. */
#ifndef PIPE_H
#define PIPE_H

#include <types.h>

struct file;

long pipe_size(struct file *);		/* bytes; -EBADF: not a pipe */
long pipe_set_size(struct file *, u32 bytes);

#endif
