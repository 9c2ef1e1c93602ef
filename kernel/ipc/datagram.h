/* Queues of datagrams: Unix datagram sockets and UDP. */
#ifndef DATAGRAM_H
#define DATAGRAM_H

#include "socket.h"

struct datagram_queue {
	struct list_head datagrams;
	u32 count, bytes;
	struct waitq readable, writable;
};

#define DATAGRAM_MAX 65507u	/* bytes of data in one */

void datagram_init(struct datagram_queue *);
void datagram_free(struct datagram_queue *);	/* who waits is woken and let go of */
bool datagram_room(const struct datagram_queue *);
/* Appends the message's data, sent from an address (may be NULL). Bytes, or a negative errno. */
long datagram_put(struct datagram_queue *, struct message *, const struct address *from);
/* Takes the next one; waits for it. A pending error or a shut-down side ends the wait. */
long datagram_take(struct socket *, struct datagram_queue *, struct message *);
/* The receiving half of a socket's poll. */
unsigned datagram_poll(struct socket *, struct datagram_queue *, struct poll_table *);
u32 datagram_pages_held(const struct datagram_queue *);
void datagram_each_rights(const struct datagram_queue *, void (*show)(struct rights *, void *), void *argument);
u32 datagram_next_size(const struct datagram_queue *);

#endif
