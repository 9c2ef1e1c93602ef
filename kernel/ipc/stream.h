/* A connection of two byte streams, for Unix stream sockets and loopback TCP. */
#ifndef STREAM_H
#define STREAM_H
#include <lib.h>

#include "ring.h"
#include "socket.h"

/* The receiving side of one end. */
struct side {
	struct ring ring;
	u64 put, taken;         /* bytes so far */
	bool ended;             /* this end reads no more than what is queued */
	bool shut;              /* the other end sends no more: its sends fail */
	bool deaf;              /* a send to this end does not go into the ring: it fails, or resets (TCP) */
	bool fin;               /* TCP: `ended` by the other end's orderly end, so that a read reports no error */
	struct list_head rights;
	u32 rights_count;
	struct ucred put_by, taken_by;  /* who sent the last bytes */
	/* The last byte sent with MSG_OOB, if reads have not passed it. */
	enum { NO_MARK, URGENT, URGENT_READ } urgent;
	u64 mark;               /* its position */
	struct socket *owner;   /* this end; NULL: gone */
	struct hold *hold;      /* TCP: bytes that the other end holds back; NULL: it never did */
	struct waitq readable;  /* this end waits for data */
	struct waitq writable;  /* the other end waits for room */
	struct mutex putting, taking;   /* held while bytes are copied, which may sleep */
};

/*
 * Timers of what TCP sends (ipc/tcp_hold.c). Bytes at the end of a ring that the sender holds back (TCP_CORK,
 * MSG_MORE): less than a segment, and for at most 200 ms. And how long the receiver may leave no room
 * (TCP_USER_TIMEOUT).
 */
struct hold {
	bool on;
	bool lost;              /* a reset came first: the bytes never go out */
	u64 from;               /* the position of the first byte that is held back */
	struct timer timer;
	struct wake_note note;  /* of the side's `readable` */
	struct timer stall;
	struct deferred stalled;
	u64 taken;              /* side->taken when `stall` was set */
	struct connection *connection;
	unsigned sender;        /* its end */
};

struct connection {
	u32 refs;
	bool alone;             /* TCP: a socket is connected to itself. Both ends are side[0] */
	struct side side[2];
};

static inline unsigned far_end(const struct connection *connection, unsigned end)
{
	return connection->alone ? end : !end;
}

/* Queued bytes that the receiver sees. */
static inline u32 side_shown(const struct side *side)
{
	u32 used = ring_used(&side->ring);

	if (!side->hold || !side->hold->on)
		return used;
	return side->hold->from > side->taken ? (u32)MIN((u64)used, side->hold->from - side->taken) : 0;
}

struct connection *connection_new(void);        /* two references; NULL: no memory */
void connection_put(struct connection *);
void connection_join(struct connection *, struct socket *first, struct socket *second);
void connection_join_self(struct connection *, struct socket *);

/* ipc/tcp_hold.c: holds back what is sent to this side from now on. 0 or -ENOBUFS. */
long tcp_hold(struct side *);
/* A send that is held back has added to the ring: whole segments of it go out. True: the receiver may see more. */
bool tcp_hold_part(struct side *, const struct socket *sender);
void tcp_show(struct side *);           /* what is held back goes out; who waits for it is woken by the caller */
/* A send has met a full ring: with TCP_USER_TIMEOUT the connection ends if nothing is read for so long. */
void tcp_watch(const struct socket *sender);
void tcp_drop_held(struct side *);      /* a reset: what is held back never goes out */
/* A segment has come to `sender`, which holds back what this side does not see: only TCP_CORK goes on. */
void tcp_hold_answered(struct side *, const struct socket *sender);
void tcp_hold_free(struct side *);

/* The operations of connected sockets. */
long stream_send(struct socket *, struct message *);
long stream_receive(struct socket *, struct message *);
long stream_receive_urgent(struct socket *, struct message *);  /* with MSG_OOB */
bool stream_at_mark(const struct socket *);                     /* the next byte is the urgent one */
/* The operations of sockets that may be listening, connected, or neither. */
unsigned stream_poll(struct socket *, struct poll_table *);
/* Shuts down one end as its family does. The socket is connected. */
void stream_shutdown(struct socket *, unsigned how);
/* TCP: applies a shutdown that came before the connect, and of which the peer was not told. */
void stream_shut_before(struct socket *, unsigned how);
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
void stream_low_water_changed(struct socket *); /* poll_water has changed: who waits may go on */
u32 stream_unread(const struct socket *);       /* bytes sent that the other end has not read */
/* TCP: bytes of these that have not left this end: it holds them back, or the receiver's window is full. */
u32 stream_unsent(const struct socket *);
/* The socket loses its connection. `abort`: a TCP peer gets a reset, a Unix peer ECONNRESET. */
void stream_leave(struct socket *, bool abort);

/*
 * Policy stream.transfer: a write of so many bytes or more is handed to a waiting reader page by page. The counter:
 * copies of more than a page that were not.
 */
extern u32 stream_piece;
extern u64 streamed_whole;

#endif
