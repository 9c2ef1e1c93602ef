/* What travels with data over Unix sockets: files, and who sent it (SCM_RIGHTS and SCM_CREDENTIALS of unix(7)). */
#ifndef RIGHTS_H
#define RIGHTS_H

#include <abi/socket.h>
#include <list.h>
#include <types.h>

struct account;
struct file;
struct socket;

#define RIGHTS_MAX 253u		/* files with one message */

/* What comes with a message besides its bytes. */
struct rights {
	struct list_head link;	/* of a stream's receiving side, or of those to be freed */
	u64 at;			/* the byte of a stream that they come with */
	struct ucred cred;	/* who sent it */
	struct account *account;	/* that the files count for; NULL: there are none */
	u32 count, room;
	struct file *file[];
};

/*
 * Adds descriptors of current to *rights, which is made at the first use with room for `room` files. -EBADF, -EINVAL
 * (more than there is room), -ENOMEM, -ETOOMANYREFS; then *rights is still the caller's.
 */
long rights_add(struct rights **rights, const s32 *fds, u32 count, u32 room);
/* Without files: only tells who sent what follows. NULL: no memory. */
struct rights *rights_mark(void);
/* Closes the files, now or, if the caller is itself the closing of such files, when the outermost one goes on. */
void rights_free(struct rights *);

/* Sockets that only files in their own queues refer to are of no use to anyone: their queues are emptied, so they go. */
void rights_collect(void);

#endif
