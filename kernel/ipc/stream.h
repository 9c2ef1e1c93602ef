/* A connection of two byte streams, for Unix stream sockets and loopback TCP. */
#ifndef STREAM_H
#define STREAM_H

#include "ring.h"
#include "socket.h"

/* The receiving side of one end. */
struct side {
	struct ring ring;
	u64 put, taken;		/* bytes so far */
	bool ended;		/* this end reads no more than what is queued */
	bool shut;		/* the other end sends no more: its sends fail */
	bool deaf;		/* a send to this end does not go into the ring: it fails, or resets (TCP) */
	bool fin;		/* TCP: `ended` by the other end's orderly end, so that a read reports no error */
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
void connection_put(struct connection *);
void connection_join(struct connection *, struct socket *first, struct socket *second);

/* The operations of connected sockets. */
long stream_send(struct socket *, struct message *);
long stream_receive(struct socket *, struct message *);
long stream_receive_urgent(struct socket *, struct message *);	/* with MSG_OOB */
bool stream_at_mark(const struct socket *);			/* the next byte is the urgent one */
/* The operations of sockets that may be listening, connected, or neither. */
unsigned stream_poll(struct socket *, struct poll_table *);
/* Shuts down one end as its family does. The socket is connected. */
void stream_shutdown(struct socket *, unsigned how);
/* Gives the connection's buffers the sizes of SO_SNDBUF and SO_RCVBUF. One that holds more keeps its size. */
void stream_fit(struct socket *);
/* TCP: both ends have closed their direction, or a reset ended the connection. */
bool stream_over(const struct socket *);
/* Ends the connection at once. The socket of end `told` gets the error, if that socket still exists. */
void stream_reset(struct connection *, unsigned told);
/* Wakes who waits for a change of one end: its reads, writes and polls. */
void stream_wake(struct connection *, unsigned end);
u32 stream_bytes(struct socket *);
u32 stream_pages_held(const struct socket *);
void stream_each_rights(const struct socket *, void (*show)(struct rights *, void *), void *argument);
void stream_low_water_changed(struct socket *);	/* poll_water has changed: who waits may go on */
u32 stream_unread(const struct socket *);	/* bytes sent that the other end has not read (SIOCOUTQ) */
/* The socket loses its connection. `abort`: a TCP peer gets a reset, a Unix peer ECONNRESET. */
void stream_leave(struct socket *, bool abort);

/*
 * Policy stream.transfer: a write of so many bytes or more is handed to a waiting reader page by page. The counter:
 * copies of more than a page that were not.
 */
extern u32 stream_piece;
extern u64 streamed_whole;

#endif
