/* Unix sockets of datagrams and of sequenced packets. A connection of packets is two queues of datagrams, each the
 * other's peer. */
#include "unix.h"

#include <abi/socket.h>
#include <arch.h>
#include <err.h>
#include <signal.h>
#include <task.h>

void unix_connect(struct unix_socket *u, struct unix_socket *to)
{
	list_del(&u->sender_link);
	u->peer = to;
	u->peer_gone = false;
	if (to)
		list_add(&u->sender_link, &to->senders);
}

void unix_connect_both(struct unix_socket *a, struct unix_socket *b)
{
	unix_connect(a, b);
	unix_connect(b, a);
}

static long datagram_connect(struct socket *s, const struct address *a, bool nonblock)
{
	struct unix_socket *u = unix_of(s), *to = NULL;
	long error;

	(void)nonblock;
	if (a->len >= PATH_OFFSET && a->family == AF_UNSPEC) {
		unix_connect(u, NULL);
		return 0;
	}
	error = unix_name_for_credentials(s);
	if (!error)
		error = unix_find(a, SOCK_DGRAM, &to);
	if (!error && to->peer && to->peer != u)
		error = -EPERM;		/* it talks with somebody else only */
	if (!error)
		unix_connect(u, to);
	return error;
}

static int destination(struct unix_socket *u, const struct message *m, struct unix_socket **to)
{
	if (m->address && m->address->len)
		return unix_find(m->address, SOCK_DGRAM, to);
	if (u->peer_gone) {
		u->peer_gone = false;
		return -ECONNREFUSED;
	}
	if (!u->peer)
		return -ENOTCONN;
	*to = u->peer;
	return 0;
}

/* Room in the receiver's queue: 0; 1 after a sleep, when the receiver may be gone; -EAGAIN, -ERESTARTSYS. */
static long wait_for_room(struct socket *s, struct unix_socket *to, bool nonblock)
{
	struct waiter w;
	long error;

	if (datagram_room(&to->queue))
		return 0;
	if (nonblock)
		return -EAGAIN;
	waiter_init(&w);
	w.woken = false;
	waitq_add(&to->queue.writable, &w);
	error = sleep_interruptible(&w.woken, s->send_timeout ? time_deadline(s->send_timeout) : TIME_NEVER);
	waitq_remove(&w);
	if (error)
		return error == -ETIMEDOUT ? -EAGAIN : error;
	return 1;
}

/* Who gets a message now, or why nobody does. */
typedef long find_receiver(struct socket *s, const struct message *m, struct unix_socket **to);

static long datagram_receiver(struct socket *s, const struct message *m, struct unix_socket **to)
{
	struct unix_socket *u = unix_of(s);
	long error = destination(u, m, to);

	if (error)
		return error;
	if ((*to)->peer && (*to)->peer != u)
		return -EPERM;
	return s->shut & SHUT_WR || (*to)->socket->shut & SHUT_RD ? socket_broken_pipe(m->flags) : 0;
}

/* The receiver, with room for one more; both as of now. */
static long receiver_with_room(struct socket *s, const struct message *m, find_receiver *find, struct unix_socket **to)
{
	long error;

	do {
		error = find(s, m, to);
		if (!error)
			error = wait_for_room(s, *to, m->nonblock);
	} while (error == 1);
	return error;
}

/* The data are copied between two looks at the receiver: the copy may sleep. */
static long send_when_room(struct socket *s, struct message *m, find_receiver *find, const struct address *from)
{
	struct unix_socket *to;
	struct datagram *d;
	long error = receiver_with_room(s, m, find, &to), size;

	if (error)
		return error;
	d = datagram_new(m, from);
	if (IS_ERR(d))
		return PTR_ERR(d);
	error = receiver_with_room(s, m, find, &to);
	if (error) {
		datagram_discard(d);
		return error;
	}
	size = (long)datagram_size(d);
	m->sender = message_cred(s, to->socket, m);
	datagram_append(&to->queue, d, m);
	return size;
}

static long unix_datagram_send(struct socket *s, struct message *m)
{
	long error = unix_name_for_credentials(s);

	return error ? error : send_when_room(s, m, datagram_receiver, &unix_of(s)->name);
}

static long unix_datagram_receive(struct socket *s, struct message *m)
{
	return datagram_take(s, &unix_of(s)->queue, m);
}

static unsigned unix_datagram_poll(struct socket *s, struct poll_table *table)
{
	struct unix_socket *u = unix_of(s);
	unsigned ready = datagram_poll(s, &u->queue, table);

	if (u->peer)
		poll_wait(table, &u->peer->queue.writable);
	if (!u->peer || datagram_room(&u->peer->queue))
		ready |= POLLOUT | POLLWRNORM;
	return ready;
}

static long unix_datagram_shutdown(struct socket *s, unsigned how)
{
	struct unix_socket *u = unix_of(s);

	if (!u->peer)
		return -ENOTCONN;
	s->shut |= how;
	wake_up(&u->queue.readable);
	wake_up(&u->queue.writable);
	return 0;
}

static u32 unix_datagram_bytes(struct socket *s)
{
	return datagram_next_size(&unix_of(s)->queue);
}

const struct socket_ops unix_datagram_ops = {
	.bind = unix_bind, .connect = datagram_connect, .name = unix_name, .send = unix_datagram_send,
	.receive = unix_datagram_receive, .poll = unix_datagram_poll, .shutdown = unix_datagram_shutdown,
	.readable_bytes = unix_datagram_bytes, .pages_held = unix_pages_held,
	.release = unix_release,
};

static long packet_listener(const struct address *a, struct socket **out)
{
	return unix_find_listener(a, SOCK_SEQPACKET, out);
}

static long packet_connectable(const struct socket *s)
{
	return s->listening ? -EINVAL : unix_of(s)->peer ? -EISCONN : 0;
}

static long packet_connect(struct socket *s, const struct address *a, bool nonblock)
{
	struct socket *embryo, *listener;
	long error;

	error = unix_name_for_credentials(s);
	if (!error)
		error = packet_connectable(s);
	if (error)
		return error;
	embryo = unix_new(SOCK_SEQPACKET);
	if (!embryo)
		return -ENOMEM;
	error = socket_find_listener(s, a, nonblock, &listener);
	/* Another thread may have connected it during the wait. */
	if (!error)
		error = packet_connectable(s);
	if (error) {
		socket_release(embryo);
		return error;
	}
	unix_connect_both(unix_of(s), unix_of(embryo));
	unix_introduce(s, embryo, listener);
	return 0;
}

static long packet_receiver(struct socket *s, const struct message *m, struct unix_socket **to)
{
	long error = socket_error(s);

	*to = unix_of(s)->peer;
	if (error)
		return error;
	if (s->shut & SHUT_WR || (*to && (*to)->socket->shut & SHUT_RD))
		return socket_broken_pipe(m->flags);
	return *to ? 0 : -ENOTCONN;
}

static long packet_send(struct socket *s, struct message *m)
{
	if (m->address)
		m->address->len = 0;	/* it goes to the peer, whatever was asked for */
	return send_when_room(s, m, packet_receiver, NULL);
}

static long packet_receive(struct socket *s, struct message *m)
{
	struct unix_socket *u = unix_of(s);

	return u->peer || s->shut & SHUT_RD ? datagram_take(s, &u->queue, m) : -ENOTCONN;
}

static unsigned packet_poll(struct socket *s, struct poll_table *table)
{
	struct unix_socket *u = unix_of(s);
	unsigned ready;

	if (!u->peer && !(s->shut & SHUT_RD)) {
		poll_wait(table, &s->accepting);
		if (s->listening)
			return s->pending_count ? POLLIN | POLLRDNORM : 0;
		return POLLOUT | POLLWRNORM | POLLHUP;
	}
	ready = unix_datagram_poll(s, table);
	if (s->shut & SHUT_RD)
		ready |= POLLRDHUP;
	if (s->shut == (SHUT_RD | SHUT_WR))
		ready |= POLLHUP;
	return ready;
}

/* The peer reads an end, or writes into a broken pipe. */
static long packet_shutdown(struct socket *s, unsigned how)
{
	struct unix_socket *peer = unix_of(s)->peer;
	long error = unix_datagram_shutdown(s, how);

	if (error)
		return error;
	if (how & SHUT_WR)
		peer->socket->shut |= SHUT_RD;
	if (how & SHUT_RD)
		peer->socket->shut |= SHUT_WR;
	wake_up(&peer->queue.readable);
	wake_up(&peer->queue.writable);
	return 0;
}

const struct socket_ops unix_packet_ops = {
	.bind = unix_bind, .connect = packet_connect, .listen = unix_listen, .find_listener = packet_listener,
	.accept = socket_accept, .name = unix_name, .send = packet_send, .receive = packet_receive, .poll = packet_poll,
	.shutdown = packet_shutdown, .readable_bytes = unix_datagram_bytes, .pages_held = unix_pages_held,
	.release = unix_release,
};
