/* A connection of two byte streams, for Unix stream sockets and loopback TCP. */
#ifndef STREAM_H
#define STREAM_H

#include "ring.h"
#include "socket.h"

/* The receiving side of one end. */
struct side {
	struct ring ring;
	u64 put, taken;		/* bytes so far */
	bool ended;		/* the other end sends no more */
	bool deaf;		/* this end reads no more */
	s32 error;		/* positive errno, which this end reports after the data */
	struct list_head rights;
	u32 rights_count;
	struct ucred put_by, taken_by;	/* who sent the last bytes */
	/* The last byte sent with MSG_OOB, if reads have not passed it. */
	enum { NO_MARK, URGENT, URGENT_READ } urgent;
	u64 mark;		/* its position */
	struct socket *owner;	/* this end; NULL: gone */
	struct waitq readable;	/* this end waits for data */
	struct waitq writable;	/* the other end waits for room */
	struct mutex putting, taking;	/* held while bytes are copied, which may sleep */
};

struct connection {
	u32 refs;
	struct side side[2];
};

struct connection *connection_new(void);	/* two references; NULL: no memory */
void connection_join(struct connection *, struct socket *first, struct socket *second);

/*
 * Connects to the listener at an address. `embryo` is the socket that the listener will accept: the caller gives it to
 * the listener by socket_enqueue(). On error it is released.
 */
long stream_connect(struct socket *, struct socket *embryo, const struct address *, bool nonblock,
		    struct socket **listener);

/* The operations of connected sockets. */
long stream_send(struct socket *, struct message *);
long stream_receive(struct socket *, struct message *);
long stream_receive_urgent(struct socket *, struct message *);	/* with MSG_OOB */
bool stream_at_mark(const struct socket *);			/* the next byte is the urgent one */
/* The operations of sockets that may be listening, connected, or neither. */
unsigned stream_poll(struct socket *, struct poll_table *);
long stream_shutdown(struct socket *, unsigned how);
u32 stream_bytes(struct socket *);
u32 stream_pages_held(const struct socket *);
void stream_each_rights(const struct socket *, void (*show)(struct rights *, void *), void *argument);
void stream_leave(struct socket *);	/* the socket is freed */

/*
 * Policy stream.transfer: a write of so many bytes or more is handed to a waiting reader page by page. The counter:
 * copies of more than a page that were not.
 */
extern u32 stream_piece;
extern u64 streamed_whole;

#endif
