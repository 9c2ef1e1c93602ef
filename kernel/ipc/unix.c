/*
 * Unix sockets: stream, datagram and sequenced packets, by path, by abstract name, or in pairs (unix(7)). This file has
 * what all types share, and streams.
 */
#include <abi/socket.h>
#include <frame.h>
#include <kmalloc.h>
#include <task.h>
#include <window.h>

#include "stream.h"
#include "unix.h"

static const struct socket_ops unix_stream_ops;

struct socket *unix_new(u16 type)
{
	const struct socket_ops *ops = type == SOCK_STREAM ? &unix_stream_ops :
				       type == SOCK_DGRAM  ? &unix_datagram_ops : &unix_packet_ops;
	struct unix_socket *endpoint = kzalloc(sizeof(*endpoint));
	struct socket *socket = endpoint ? socket_new(AF_UNIX, type, 0, ops) : NULL;

	if (!socket) {
		kfree(endpoint);
		return NULL;
	}
	endpoint->socket = socket;
	endpoint->name.family = AF_UNIX;
	endpoint->name.len = PATH_OFFSET;
	endpoint->peer_name = endpoint->name;
	list_init(&endpoint->link);
	list_init(&endpoint->senders);
	list_init(&endpoint->sender_link);
	datagram_init(&endpoint->queue);
	socket->data = endpoint;
	return socket;
}

/* As elsewhere, a raw Unix socket is one of datagrams. */
static int check_type(int *type)
{
	if (*type == SOCK_RAW)
		*type = SOCK_DGRAM;
	return *type == SOCK_STREAM || *type == SOCK_DGRAM || *type == SOCK_SEQPACKET ? 0 : -ESOCKTNOSUPPORT;
}

long unix_create(int type, int protocol, struct socket **out)
{
	int error = check_type(&type);

	if (error)
		return error;
	if (protocol && protocol != AF_UNIX)
		return -EPROTONOSUPPORT;
	*out = unix_new((u16)type);
	return *out ? 0 : -ENOMEM;
}

long unix_pair(int type, struct socket *pair[2])
{
	struct connection *connection = NULL;
	int error = check_type(&type);

	if (error)
		return error;
	pair[0] = unix_new((u16)type);
	pair[1] = unix_new((u16)type);
	if (type == SOCK_STREAM)
		connection = connection_new();
	if (!pair[0] || !pair[1] || (type == SOCK_STREAM && !connection)) {
		kfree(connection);
		for (int i = 0; i < 2; i++)
			if (pair[i])
				socket_release(pair[i]);
		return -ENOMEM;
	}
	pair[0]->peer = pair[1]->peer = current_ucred();
	if (connection)
		connection_join(connection, pair[0], pair[1]);
	else
		unix_connect_both(unix_of(pair[0]), unix_of(pair[1]));
	return 0;
}

long unix_listen(struct socket *socket, u32 backlog)
{
	const struct unix_socket *endpoint = unix_of(socket);

	if (unix_connected(socket) || endpoint->name.len == PATH_OFFSET)
		return -EINVAL;
	socket->peer = current_ucred();
	return socket_listen(socket, backlog);
}

long unix_find_listener(const struct address *address, u16 type, struct socket **out)
{
	struct unix_socket *server;
	int error = unix_find(address, type, &server);

	if (!error && (!server->socket->listening || server->socket->shut & SHUT_RD))
		error = -ECONNREFUSED;
	if (!error)
		*out = server->socket;
	return error;
}

static long stream_listener(const struct address *address, struct socket **out)
{
	return unix_find_listener(address, SOCK_STREAM, out);
}

void unix_introduce(struct socket *socket, struct socket *embryo, struct socket *listener)
{
	struct unix_socket *endpoint = unix_of(socket), *other = unix_of(embryo), *server = unix_of(listener);

	other->name = server->name;
	other->peer_name = endpoint->name;
	endpoint->peer_name = server->name;
	embryo->peer = current_ucred();
	socket->peer = listener->peer;
	socket_enqueue(listener, embryo);
}

long unix_connectable(const struct socket *socket)
{
	return socket->listening ? -EINVAL : unix_connected(socket) ? -EISCONN : 0;
}

static long unix_stream_connect(struct socket *socket, const struct address *address, bool nonblock)
{
	struct socket *embryo, *listener;
	struct connection *connection;
	long error = unix_name_for_credentials(socket);

	if (error)
		return error;
	embryo = unix_new(SOCK_STREAM);
	connection = embryo ? connection_new() : NULL;
	error = connection ? socket_find_listener(socket, address, nonblock, &listener) : -ENOMEM;
	/* After the wait, in which another thread may have connected the socket. */
	if (!error)
		error = unix_connectable(socket);
	if (error) {
		kfree(connection);
		if (embryo)
			socket_release(embryo);
		return error;
	}
	connection_join(connection, socket, embryo);
	unix_introduce(socket, embryo, listener);
	/* A shutdown before the connect holds. */
	if (socket->shut)
		stream_shutdown(socket, socket->shut);
	return 0;
}

static long unix_stream_send(struct socket *socket, struct message *message)
{
	if (message->address && message->address->len)
		return socket->connection ? -EISCONN : -EOPNOTSUPP;
	return socket->connection ? stream_send(socket, message) : -ENOTCONN;
}

static long unix_stream_receive(struct socket *socket, struct message *message)
{
	return socket->connection ? stream_receive(socket, message) : -EINVAL;
}

/* Linux's sockets of this kind are ready for urgent writes whenever they are ready for writes. */
static unsigned unix_stream_poll(struct socket *socket, struct poll_table *table)
{
	unsigned ready = stream_poll(socket, table);

	return ready & POLLWRNORM ? ready | POLLWRBAND : ready;
}

static long unix_stream_shutdown(struct socket *socket, unsigned how)
{
	if (socket->connection) {
		stream_shutdown(socket, how);
		return 0;
	}
	socket->shut |= how;
	wake_up(&socket->room);
	wake_up(&socket->accepting);
	return 0;
}

void unix_release(struct socket *socket)
{
	struct unix_socket *endpoint = unix_of(socket), *sender, *next;

	list_del(&endpoint->link);
	if (endpoint->path) {
		endpoint->path->inode->data = NULL;
		dentry_put(endpoint->path);
	}
	stream_leave(socket, socket->aborted);
	unix_connect(endpoint, NULL);
	list_for_each_long_safe(sender, next, &endpoint->senders, sender_link) {
		/* Set `shut` before unix_connect(): there, the sender's polls choose their queues again by it. */
		if (socket->type == SOCK_SEQPACKET) {
			sender->socket->shut |= SHUT_RD | SHUT_WR;
			/* Unread datagrams are lost. */
			if (endpoint->queue.count || socket->aborted)
				sender->socket->error = ECONNRESET;
		}
		unix_connect(sender, NULL);
		sender->peer_gone = socket->type != SOCK_SEQPACKET;
		wake_up(&sender->queue.readable);       /* its next call reports that the peer is gone */
	}
	datagram_free(&endpoint->queue);
	kfree(endpoint);
	rights_socket_closed();
}

static void each_own_rights(const struct socket *socket, void (*show)(struct rights *, void *), void *argument)
{
	stream_each_rights(socket, show, argument);
	datagram_each_rights(&unix_of(socket)->queue, show, argument);
}

void unix_each_rights(struct socket *socket, void (*show)(struct rights *, void *), void *argument)
{
	struct socket *embryo;

	each_own_rights(socket, show, argument);
	list_for_each_window(embryo, &socket->pending, pending_link)
		each_own_rights(embryo, show, argument);
}

static u32 own_pages(const struct socket *socket)
{
	return stream_pages_held(socket) + datagram_pages_held(&unix_of(socket)->queue);
}

u32 unix_pages_held(const struct socket *socket)
{
	const struct socket *embryo;
	u32 pages = own_pages(socket) + socket->pending_count * SOCKET_BYTES / PAGE_SIZE;

	list_for_each_window(embryo, &socket->pending, pending_link) {
		pages += own_pages(embryo);
	}
	return pages;
}

static const struct socket_ops unix_stream_ops = {
	.bind = unix_bind, .connect = unix_stream_connect, .listen = unix_listen, .find_listener = stream_listener,
	.accept = socket_accept, .name = unix_name, .send = unix_stream_send, .receive = unix_stream_receive,
	.poll = unix_stream_poll, .shutdown = unix_stream_shutdown, .readable_bytes = stream_bytes,
	.pages_held = unix_pages_held, .fit = stream_fit, .release = unix_release,
};
