/* A connection of two byte streams: what Unix stream sockets and loopback TCP are made of. */
#ifndef STREAM_H
#define STREAM_H

#include "ring.h"
#include "socket.h"

/* What one end receives. */
struct side {
	struct ring ring;
	u64 put, taken;		/* bytes so far */
	bool ended;		/* the other end sends no more */
	bool deaf;		/* this end reads no more */
	s32 error;		/* for this end, after the data: positive errno */
	struct list_head rights;
	struct waitq readable;	/* this end waits for data */
	struct waitq writable;	/* the other end waits for room */
};

struct connection {
	u32 refs;
	struct side side[2];
};

struct connection *connection_new(void);	/* two references; NULL: no memory */
void connection_leave(struct connection *, unsigned end);
long stream_send(struct socket *, struct connection *, unsigned end, struct message *);
long stream_receive(struct socket *, struct connection *, unsigned end, struct message *);
unsigned stream_poll(struct connection *, unsigned end, struct poll_table *);
void stream_shutdown(struct connection *, unsigned end, unsigned how);

#endif
