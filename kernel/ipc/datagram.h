/* Queues of datagrams: Unix datagram sockets and UDP. */
#ifndef DATAGRAM_H
#define DATAGRAM_H
#include "socket.h"

struct datagram;

struct datagram_queue {
	struct list_head datagrams;
	u32 count, bytes;
	u32 limit;              /* bytes after which the queue is full */
	struct waitq readable, writable;
};

#define DATAGRAM_MAX 65507u     /* bytes of data in one */

void datagram_init(struct datagram_queue *);
void datagram_free(struct datagram_queue *);    /* wakes and detaches waiters */
void datagram_drop_all(struct datagram_queue *);
bool datagram_room(const struct datagram_queue *);
/*
 * Creates a datagram from the message's data; `from` is the sender's address or NULL. ERR_PTR on error. The copy may
 * sleep, and the receiver may disappear meanwhile: look the receiver up again, then append the datagram or discard it.
 */
struct datagram *datagram_new(const struct message *, const struct address *from);
/* The same with the data of an earlier datagram before it (NULL: none), which is freed, also on an error. */
struct datagram *datagram_extend(struct datagram *, const struct message *, const struct address *from);
void datagram_append(struct datagram_queue *, struct datagram *, struct message *);     /* takes the message's rights */
void datagram_discard(struct datagram *);
u32 datagram_size(const struct datagram *);
void datagram_set_address(struct datagram *, const struct address *);
/* Waits for the next datagram and takes it. A pending error or a shut-down side ends the wait. */
long datagram_take(struct socket *, struct datagram_queue *, struct message *);
/* Takes the next datagram: -EAGAIN: there is none. */
long datagram_take_now(struct datagram_queue *, struct message *);
/* The receiving half of a socket's poll. */
unsigned datagram_poll(struct socket *, struct datagram_queue *, struct poll_table *);
u32 datagram_pages_held(const struct datagram_queue *);
void datagram_each_rights(const struct datagram_queue *, void (*show)(struct rights *, void *), void *argument);
u32 datagram_next_size(const struct datagram_queue *);

#endif
