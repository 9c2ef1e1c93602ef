/* Files and credentials that are sent with data over Unix sockets (SCM_RIGHTS and SCM_CREDENTIALS of unix(7)). */
#ifndef RIGHTS_H
#define RIGHTS_H
#include <abi/socket.h>
#include <deferred.h>
#include <list.h>
#include <types.h>

struct account;
struct file;
struct socket;

#define RIGHTS_MAX 253u         /* files with one message */

/* The files and credentials of a message. */
struct rights {
	union {
		struct list_head link;  /* in a stream's receiving side */
		struct deferred freeing;        /* after rights_free() */
	};
	u64 at, end;            /* in a stream: the first byte of the message, and the byte behind it */
	struct ucred cred;      /* who sent it */
	struct account *account;        /* charged for the files; NULL: no files */
	u32 count, room;
	u32 peeks;              /* receives with MSG_PEEK that hold them besides the queue or a receiver */
	struct file *file[];
};

/*
 * Adds descriptors of current to *rights, which the first use creates with room for `room` files. -EBADF, -EINVAL
 * (more than there is room), -ENOMEM, -ETOOMANYREFS; the caller then still owns *rights.
 */
long rights_add(struct rights **rights, const s32 *fds, u32 count, u32 room);
/* Creates rights without files, which only name the sender. NULL: no memory. */
struct rights *rights_mark(void);
/* For a receive with MSG_PEEK, which frees them as if it had taken them. */
struct rights *rights_peek(struct rights *);
/* Closes the files at the end of the call. While others hold the rights, it only lets go of them. */
void rights_free(struct rights *);

/* Rights leave a queue, for a receiver. */
void rights_taken(struct rights *);
/* A connection leaves the queue of a listener. */
void rights_accepted(struct socket *embryo);
/*
 * A socket was closed. This may start a search, at the end of the call, for sockets that only files in their own queues
 * refer to. The search empties their queues, which frees them.
 */
void rights_socket_closed(void);

#endif
