/*
 * Unix sockets of datagrams and of sequenced packets. A connection of packets is two sockets with a queue of datagrams
 * each; each is the other's peer.
 */
#include <abi/socket.h>
#include <arch.h>
#include <err.h>

#include "unix.h"

void unix_connect(struct unix_socket *u, struct unix_socket *to)
{
	bool has_left = u->peer && u->peer != to;

	list_del(&u->sender_link);
	u->peer = to;
	u->peer_gone = false;
	if (to)
		list_add(&u->sender_link, &to->senders);
	socket_requeue(u->socket);
	/* A poll of the socket may sleep in a queue of its former peer: it must choose its queues again. */
	if (has_left)
		wake_up(&u->queue.readable);
}

void unix_connect_both(struct unix_socket *a, struct unix_socket *b)
{
	a->was_connected = b->was_connected = a->socket->type == SOCK_SEQPACKET;
	unix_connect(a, b);
	unix_connect(b, a);
}

/* A socket that leaves its peer loses what it has not read. A peer that was connected to it is told. */
static void datagram_leave_peer(struct unix_socket *endpoint, const struct unix_socket *to)
{
	struct unix_socket *old = endpoint->peer;

	if ((!old && !endpoint->peer_gone) || (old && old == to) || !endpoint->queue.count)
		return;
	datagram_drop_all(&endpoint->queue);
	wake_up(&endpoint->queue.writable);
	if (old && old->peer == endpoint) {
		old->socket->error = ECONNRESET;
		wake_up(&old->queue.readable);
	}
}

static long datagram_connect(struct socket *socket, const struct address *address, bool nonblock)
{
	struct unix_socket *endpoint = unix_of(socket), *to = NULL;
	long error;

	(void)nonblock;
	if (address->len >= PATH_OFFSET && address->family == AF_UNSPEC) {
		datagram_leave_peer(endpoint, NULL);
		unix_connect(endpoint, NULL);
		return 0;
	}
	error = unix_name_for_credentials(socket);
	if (!error)
		error = unix_find(address, SOCK_DGRAM, &to);
	if (!error && to->peer && to->peer != endpoint)
		error = -EPERM;         /* the receiver is connected to another socket */
	if (error)
		return error;
	datagram_leave_peer(endpoint, to);
	unix_connect(endpoint, to);
	return 0;
}

static int datagram_destination(struct unix_socket *endpoint, const struct message *message, struct unix_socket **to)
{
	if (message->address && message->address->len)
		return unix_find(message->address, SOCK_DGRAM, to);
	if (endpoint->peer_gone) {
		datagram_leave_peer(endpoint, NULL);
		endpoint->peer_gone = false;
		return -ECONNREFUSED;
	}
	if (!endpoint->peer)
		return -ENOTCONN;
	*to = endpoint->peer;
	return 0;
}

/*
 * Waits for room in the receiver's queue. 0: there is room; 1: slept, and the receiver may be gone; -EAGAIN,
 * -ERESTARTSYS.
 */
static long datagram_wait_room(struct unix_socket *endpoint, bool nonblock, u64 deadline)
{
	struct waiter w;
	long error;

	if (datagram_room(&endpoint->queue))
		return 0;
	if (nonblock)
		return -EAGAIN;
	waiter_init(&w);
	w.woken = false;
	waitq_add(&endpoint->queue.writable, &w);
	error = sleep_interruptible(&w.woken, deadline);
	waitq_remove(&w);
	if (error)
		return error == -ETIMEDOUT ? -EAGAIN : error;
	return 1;
}

/* Finds the receiver of a message: 0 or a negative errno. */
typedef long receiver_finder(struct socket *s, const struct message *m, struct unix_socket **to);

static long datagram_receiver(struct socket *socket, const struct message *m, struct unix_socket **to)
{
	struct unix_socket *endpoint = unix_of(socket);
	bool has_destination = (m->address && m->address->len) || endpoint->peer || endpoint->peer_gone;
	long error;

	if (has_destination && m->data->left > DATAGRAM_MAX)
		return -EMSGSIZE;       /* before other errors, as on Linux */
	error = has_destination ? socket_error(socket) : 0;
	if (error)
		return error;
	if (has_destination && socket->shut & SHUT_WR)
		return -EPIPE;
	error = datagram_destination(endpoint, m, to);
	if (error)
		return error;
	if ((*to)->peer && (*to)->peer != endpoint)
		return -EPERM;
	return (*to)->socket->shut & SHUT_RD ? -EPIPE : 0;
}

/* Finds the receiver and waits for room in its queue. Both remain only until current sleeps. */
static long datagram_receiver_with_room(struct socket *socket, const struct message *message, receiver_finder *find,
					u64 deadline, struct unix_socket **to)
{
	long error;

	do {
		error = find(socket, message, to);
		if (!error)
			error = datagram_wait_room(*to, message->nonblock, deadline);
	} while (error == 1);
	return error;
}

/* Copying the data may sleep, so looks the receiver up before the copy, for errors, and again after it. */
static long datagram_send_when_room(struct socket *socket, struct message *m, receiver_finder *find,
				    const struct address *from)
{
	struct unix_socket *endpoint;
	struct datagram *datagram;
	u64 deadline = socket_deadline(socket->settings.send_timeout);
	long error = datagram_receiver_with_room(socket, m, find, deadline, &endpoint), size;

	if (error)
		return error;
	datagram = datagram_new(m, from);
	if (IS_ERR(datagram))
		return PTR_ERR(datagram);
	error = datagram_receiver_with_room(socket, m, find, deadline, &endpoint);
	if (error) {
		datagram_discard(datagram);
		return error;
	}
	size = (long)datagram_size(datagram);
	m->sender = message_cred(socket, endpoint->socket, m);
	datagram_append(&endpoint->queue, datagram, m);
	return size;
}

static long unix_datagram_send(struct socket *socket, struct message *message)
{
	const struct address *name = &unix_of(socket)->name;
	long error = unix_name_for_credentials(socket);

	if (error)
		return error;
	return datagram_send_when_room(socket, message, datagram_receiver, name->len > PATH_OFFSET ? name : NULL);
}

static long unix_datagram_receive(struct socket *socket, struct message *message)
{
	return datagram_take(socket, &unix_of(socket)->queue, message);
}

static unsigned unix_datagram_poll(struct socket *socket, struct poll_table *table)
{
	struct unix_socket *endpoint = unix_of(socket);
	unsigned ready = datagram_poll(socket, &endpoint->queue, table);

	if (endpoint->peer)
		poll_wait(table, &endpoint->peer->queue.writable);
	if (!endpoint->peer || datagram_room(&endpoint->peer->queue))
		ready |= POLLOUT | POLLWRNORM | POLLWRBAND;
	return ready;
}

static long unix_datagram_shutdown(struct socket *socket, unsigned how)
{
	struct unix_socket *endpoint = unix_of(socket);

	socket->shut |= how;
	wake_up(&endpoint->queue.readable);
	wake_up(&endpoint->queue.writable);
	return 0;
}

static u32 unix_datagram_bytes(struct socket *socket)
{
	return datagram_next_size(&unix_of(socket)->queue);
}

const struct socket_ops unix_datagram_ops = {
	.bind = unix_bind, .connect = datagram_connect, .name = unix_name, .send = unix_datagram_send,
	.receive = unix_datagram_receive, .poll = unix_datagram_poll, .shutdown = unix_datagram_shutdown,
	.readable_bytes = unix_datagram_bytes, .pages_held = unix_pages_held,
	.release = unix_release,
};

static long packet_listener(const struct address *address, struct socket **out)
{
	return unix_find_listener(address, SOCK_SEQPACKET, out);
}

static long packet_connect(struct socket *socket, const struct address *address, bool nonblock)
{
	struct socket *embryo, *listener;
	long error;

	error = unix_name_for_credentials(socket);
	if (error)
		return error;
	embryo = unix_new(SOCK_SEQPACKET);
	if (!embryo)
		return -ENOMEM;
	error = socket_find_listener(socket, address, nonblock, &listener);
	/* Another thread may have connected the socket during the wait. */
	if (!error)
		error = unix_connectable(socket);
	if (error) {
		socket_release(embryo);
		return error;
	}
	unix_connect_both(unix_of(socket), unix_of(embryo));
	unix_introduce(socket, embryo, listener);
	return 0;
}

static long packet_receiver(struct socket *socket, const struct message *message, struct unix_socket **to)
{
	long error = socket_error(socket);

	*to = unix_of(socket)->peer;
	if (error)
		return error;
	if (!unix_connected(socket))
		return -ENOTCONN;
	if (message->flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (message->data->left > DATAGRAM_MAX)
		return -EMSGSIZE;
	/* No SIGPIPE: that is for streams. */
	return socket->shut & SHUT_WR || !*to || (*to)->socket->shut & SHUT_RD ? -EPIPE : 0;
}

static long packet_send(struct socket *socket, struct message *message)
{
	if (message->address)
		message->address->len = 0;      /* packets go to the peer; an address is ignored */
	return datagram_send_when_room(socket, message, packet_receiver, NULL);
}

static long packet_receive(struct socket *socket, struct message *message)
{
	struct unix_socket *endpoint = unix_of(socket);

	if (!unix_connected(socket))
		return -ENOTCONN;
	return message->flags & MSG_OOB ? -EOPNOTSUPP : datagram_take(socket, &endpoint->queue, message);
}

static u32 packet_bytes(struct socket *socket)
{
	return unix_of(socket)->queue.bytes;    /* of all packets, as on Linux */
}

static unsigned packet_poll(struct socket *socket, struct poll_table *table)
{
	if (unix_connected(socket))
		return unix_datagram_poll(socket, table);
	poll_wait(table, &socket->accepting);
	if (socket->listening)
		return socket_listener_poll(socket);
	return unix_datagram_poll(socket, NULL) | POLLHUP;
}

/* Shuts down the peer's opposite direction too: its reads get the end, or its writes EPIPE. */
static long packet_shutdown(struct socket *socket, unsigned how)
{
	struct unix_socket *peer = unix_of(socket)->peer;

	unix_datagram_shutdown(socket, how);
	wake_up(&socket->room);
	wake_up(&socket->accepting);
	if (!peer)
		return 0;
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
	.shutdown = packet_shutdown, .readable_bytes = packet_bytes, .pages_held = unix_pages_held,
	.release = unix_release,
};
