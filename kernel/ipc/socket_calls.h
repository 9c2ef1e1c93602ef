/* Shared by the files that implement the socket calls. */
#ifndef SOCKET_CALLS_H
#define SOCKET_CALLS_H
#include "socket.h"

/* The file, referenced, and its socket; ERR_PTR(-EBADF or -ENOTSOCK). */
struct file *socket_from_fd(int fd, struct socket **);
int address_from_user(struct address *, const void *user, u32 len);
int address_to_user(const struct address *, void *user, u32 *user_len);

#endif
